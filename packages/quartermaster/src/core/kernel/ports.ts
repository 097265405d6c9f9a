/** Cancels what was scheduled. */
export type Cancel = () => void

/** Time, as the core knows it. */
export interface Clock {
  /**
   * Epoch milliseconds that never run backwards, so that intervals survive a corrected wall clock. Only where several machines
   * go by one clock, and this one's is found to be ahead, do they.
   */
  now(): number
  /** Runs `task` once after `ms`. Never keeps the process alive by itself. */
  after(ms: number, task: () => void): Cancel
  /** Resolves after other work had its turn on the event loop. */
  breathe(): Promise<void>
}

/** A clock that can go by the time of another one. */
export interface FollowingClock extends Clock {
  /** Shows this time from now on, also if that is earlier. */
  setTo(time: number): void
  /** Has `ask` called when the machine's time has jumped. It is not believed unless nobody calls `setTo` within a moment. */
  onDoubt(ask: () => void): void
}

/** Makes identifiers nobody can guess. */
export interface Ids {
  next(prefix: string): string
  /** A credential: 256 random bits. */
  secret(prefix: string): string
}

/** A number in [0, 1), for jitter. */
export type Random = () => number

/** SHA-256 as lower-case hex. Synchronous: WebCrypto costs twenty times as much for small inputs. */
export type Digest = (text: string) => string

/** Where diagnostic lines go. Fields are facts for programs; never a secret. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}
