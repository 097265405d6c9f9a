import type { API, ApiAnswer, ApiOperation, ApiRequest, Skill, WorkspaceRow } from '../../contracts/index.ts'
import type { CancelSignal, Clock } from '../kernel/index.ts'
import type { Store } from '../store/index.ts'
import type { Organisation } from './organisation.ts'
import type { Visitor } from './visitors.ts'

/** What is known of a request besides who asks and what. */
export interface DeskContext {
  /** Where the client reached us: `http://127.0.0.1:7420`. */
  readonly origin: string
  /** Given when the client has gone, or may not be here any more. Whoever waits listens to it; listening costs those who do not. */
  readonly gone?: CancelSignal | undefined
  /** The last event that a client had that comes back. */
  readonly lastEventId?: string | undefined
}

/** What the desk works with. */
export interface DeskDeps {
  readonly organisation: Organisation
  readonly store: Store
  readonly clock: Clock
  /** What an agent of the folder can do; `undefined` for whoever is none. */
  skillsOf(place: Pick<WorkspaceRow, 'organisation' | 'workspace'>): readonly Skill[] | undefined
  readonly version: string
}

/** How each of these operations is answered. */
export type Handlers<O extends ApiOperation = ApiOperation> = {
  readonly [K in O]: (visitor: VisitorOf<K>, request: ApiRequest<K>, context: DeskContext) => Promise<ApiAnswer<K>>
}

/** Who gets so far as to be answered. */
type VisitorOf<K extends ApiOperation> = (typeof API)[K]['who'][number] extends infer W
  ? W extends 'anyone'
    ? undefined
    : Extract<Visitor, { kind: W }>
  : never
