import type { Json } from '../../contracts/index.ts'

/** What one look at a dependency found. */
export type ProbeVerdict =
  | { up: true; reason?: string }
  /**
   * `recovering`: it is being started or restarted, so it is worth waiting for, as long as recovering may last. `pending`:
   * nothing went wrong with it, so what was found last still holds, however long it takes. `final`: only a person can bring it
   * back, so nobody waits for it.
   */
  | { up: false; reason: string; recovering?: boolean; pending?: boolean; final?: boolean }

export interface ProbeContext {
  /** Aborts at the probe's deadline; pass it on, so that nothing lingers. */
  readonly signal: AbortSignal
  /** Whether a secret of this name is there. Its text is nobody's business here. */
  hasSecret(name: string): boolean
  /** Whether a call or a person wants to know, and not only the watcher: then it may be worth more than a look. */
  readonly isRequested?: boolean
  /** Whether calls wait for it to come back: then it need not be left alone for as long as otherwise. */
  readonly isAwaited?: boolean
}

/** Looks whether a dependency works. Throwing means "could not tell", which is not the same as "down". */
export type ProbeFunction = (context: ProbeContext) => ProbeVerdict | boolean | Promise<ProbeVerdict | boolean>

/** A probe that says what it looks at, so that it can be shown and recognised after a reload. */
export interface Probe {
  readonly describe: { readonly kind: string; readonly [key: string]: Json }
  readonly run: ProbeFunction
}

/** A dependency as its author writes it. */
export interface DependencyDefinition {
  name: string
  /** For people; made from the name when absent. */
  title?: string
  probe: Probe | ProbeFunction
  /** Dependencies without which looking is pointless. */
  dependsOn?: readonly string[]
  /** How long one probe may take. */
  timeoutMs?: number
  /** How long it may be gone before its tools are. */
  recoveringMs?: number
  /** How often the watcher looks. */
  watchIntervalMs?: number
  /** What a person does when it is down: "Start it with `docker compose up db`." */
  mend?: string
  /** Calls back when a look would find something new; it is then looked at once. Returns how to stop. */
  onChange?(listener: () => void): () => void
  /** Whether anybody has it set up. While nobody has, it is neither looked at nor shown. */
  isUsed?(): boolean
}
