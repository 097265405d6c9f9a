import type { Seat } from '../../core/agents/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Exchanges, KeptResults, Operations, Readings } from '../../core/operations/index.ts'
import type { BegunCalls } from './begun-calls.ts'
import type { EndNews } from './end-news.ts'
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
  /** What a client is told about its agent when it begins; never fails, and is asked once for each session. */
  instructionsFor?(seat: Seat): Promise<string>
  /** What the first lists of an agent wait for; `undefined` where there is nothing. */
  beforeList?(seat: Seat): Promise<void> | undefined
  readonly states: StateSigner
  readonly watches: Watches
  readonly endNews: EndNews
  readonly log: Log
  readonly operations: Pick<Operations, 'show' | 'list'>
  /** Calls that go on in a server of the SDK, where there are such. */
  readonly begun?: Pick<BegunCalls, 'take'>
  /** Told that a client has gone for good, by what its calls have named it; never fails. */
  clientGone?(client: string): Promise<void>
}
