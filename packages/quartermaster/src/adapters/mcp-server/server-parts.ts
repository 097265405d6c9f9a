import type { Exchanges, KeptResults, Readings } from '../../core/operations/index.ts'
import type { StateSigner } from './states.ts'
import type { Tasks } from './tasks.ts'
import type { ToolCalls } from './tool-calls.ts'
import type { Watches } from './watches.ts'

/** What every server of ours needs, whatever it is reached by. */
export interface ServerParts {
  readonly toolCalls: ToolCalls
  readonly tasks: Tasks
  readonly exchanges: Exchanges
  readonly results: KeptResults
  readonly readings: Readings
  readonly version: string
  readonly states: StateSigner
  readonly watches: Watches
}
