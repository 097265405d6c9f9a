import type { WorkspaceRow } from '../../contracts/index.ts'
import type { CancelSignal } from '../../core/kernel/index.ts'

/** Who asks whom, and how they came here. */
export interface Visit {
  readonly asker: WorkspaceRow
  readonly peer: WorkspaceRow
  /** Where the client reached us. */
  readonly origin: string
  /** Given when the client has gone, or may not be here any more. */
  readonly gone: CancelSignal
}
