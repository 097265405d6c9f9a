import type { Progress } from '../../../contracts/index.ts'
import type { Log } from '../../kernel/index.ts'

export type LogLevel = keyof Log

/** Receives what happens during a call: progress and log lines for the client that waits now. */
export interface CallListeners {
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** What the tool writes to its log, for a client that wants to see it. */
  readonly onLog?: ((level: LogLevel, message: string, fields?: Record<string, unknown>) => void) | undefined
  /** Whether it went away before it got its answer. */
  readonly isGone?: (() => boolean) | undefined
}
