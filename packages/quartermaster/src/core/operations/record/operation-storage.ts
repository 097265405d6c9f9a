import { AppError, type CallAnswer, type Caller, type OperationRow, type Settings } from '../../../contracts/index.ts'
import {
  type NewsListener,
  type Nodes,
  type Sealer,
  type SharedTime,
  type Store,
  type StoreNews,
} from '../../store/index.ts'

/** The store, and what makes arguments unreadable in it. */
export interface Storage {
  readonly store: Store
  readonly sealer: Sealer
  /** Of a store that other processes may work on at the same time: they, news of what they do, and the time they go by. */
  readonly shared?:
    | {
        readonly news: StoreNews
        readonly nodes: Pick<Nodes, 'isAlone' | 'self'>
        readonly time?: SharedTime | undefined
      }
    | undefined
}

/** The way to a store that is opened when something first has to be written. */
export interface StorageAccess {
  /** Opens it, once. Throws `STORE_LOCKED` when another process owns the data folder. */
  open(): Promise<Storage>
  /** The store, if it is open. */
  current(): Storage | undefined
}

/** The same store, with a listener for changes by other processes from when it is opened. */
export function observeStorage(
  access: StorageAccess,
  listener: () => NewsListener,
): StorageAccess & { stopObserving(): void } {
  let observed: Storage | undefined
  let stopObserving = () => {}

  function observe(storage: Storage): Storage {
    if (observed === undefined) {
      observed = storage
      stopObserving = storage.shared?.news.listen(listener()) ?? stopObserving
    }
    return storage
  }

  return {
    open: () => (observed ? access.open() : access.open().then(observe)),
    current: () => access.current(),
    stopObserving: () => stopObserving(),
  }
}

interface Done {
  readonly name: string
  readonly effects: readonly { readonly name: string }[]
}

/** What a caller gets whose call was done by an earlier run, of which nothing but its effects is known. */
export function alreadyDone({ name, effects }: Done, operationId: string): CallAnswer {
  const names = effects.map(effect => `"${effect.name}"`).join(', ')
  const text = `"${name}" is done. A run of it was cut off; that all it leaves behind is there was verified: ${names}.`
  return { operationId, result: { content: [{ type: 'text', text }] } }
}

/** Where the caller of an operation waits for it. */
type Awaited = 'here' | 'elsewhere' | 'nowhere'

interface AwaitedDeps {
  readonly storage: StorageAccess
  /** Whether a caller waits for it in this process. */
  isHeld(id: string): boolean
}

/** How long what is allowed is left to another process, where its caller waits: that can tell it how far it has come. */
export const OTHER_PROCESS_MS = 5_000

/** Who waits for an operation; in another process only where there is one. */
export function awaitedIn({ storage, isHeld }: AwaitedDeps) {
  return ({ id, awaitedUntil }: Pick<OperationRow, 'id' | 'awaitedUntil'>, now: number): Awaited => {
    if (isHeld(id)) return 'here'
    const { shared } = storage.current() ?? {}
    const mayBeElsewhere = shared !== undefined && !shared.nodes.isAlone()
    return mayBeElsewhere && awaitedUntil !== null && awaitedUntil > now ? 'elsewhere' : 'nowhere'
  }
}

export type WhereAwaited = ReturnType<typeof awaitedIn>

/** As much of an operation as it takes to go on from where it stands. */
export type OperationSnapshot = Pick<
  OperationRow,
  | 'id'
  | 'tool'
  | 'organisation'
  | 'workspace'
  | 'callerKind'
  | 'callerName'
  | 'state'
  | 'fence'
  | 'attempts'
  | 'createdAt'
  | 'startedAt'
  | 'expiresAt'
  | 'outcome'
  | 'sealedEffects'
>

/**
 * When an operation expires, whatever it waits for. Its age is measured from its first run, or from a person's decision to run
 * it: the wait for that decision is not included.
 */
export function expiryOf(
  { expiresAt, startedAt, createdAt }: Pick<OperationRow, 'expiresAt' | 'startedAt' | 'createdAt'>,
  { retryMaxAgeMinutes }: Pick<Settings, 'retryMaxAgeMinutes'>,
): number {
  return expiresAt ?? (startedAt ?? createdAt) + retryMaxAgeMinutes * 60_000
}

/** Replaces a hidden value. */
const MASK = '•••'

/** The names of the arguments without their values. Deeper names could be data themselves, so they are not shown. */
export function maskArguments(argumentsJson: string): Record<string, string> {
  return maskValues(JSON.parse(argumentsJson))
}

/** The same of any object. */
export function maskValues(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(Object.keys(value).map(name => [name, MASK]))
}

/** A day, the unit of all retention settings. */
export const DAY_MS = 24 * 3_600_000

/** When an operation ends, and how long it is kept from then on: a task as long as it said, all else as the owner says. */
export function endTerms(
  now: number,
  { ttlMs }: Pick<OperationRow, 'ttlMs'>,
  { operationDays }: Pick<Settings, 'operationDays'>,
): { readonly now: number; readonly keepMs: number } {
  return { now, keepMs: ttlMs ?? operationDays * DAY_MS }
}

/** What a commit that begins a run is refused by, when a grant that the run is allowed by is not there any more. */
export const GRANT_GUARD = 'grant.live'

/** On whose behalf something was done, as every row about it says. */
export interface CallerColumns {
  readonly organisation: string
  readonly workspace: string
  readonly callerKind: Caller['kind']
  readonly callerName: string
}

/** The columns that say whose a row is. */
export function callerColumns({ organisation, workspace, kind: callerKind, name: callerName }: Caller): CallerColumns {
  return { organisation, workspace, callerKind, callerName }
}

/** The same, of another row. */
export function callerColumnsOf({ organisation, workspace, callerKind, callerName }: CallerColumns): CallerColumns {
  return { organisation, workspace, callerKind, callerName }
}

/** Whose row it is. */
export function callerOf({ organisation, workspace, callerKind: kind, callerName: name }: CallerColumns): Caller {
  return { kind, organisation, name, workspace }
}

/** `1700000000000.op_9fGk`: the time and id of a page's last row. */
export function cursorAt(time: number, id: string): string {
  return `${time}.${id}`
}

/** Where the next page begins, for a query that is ordered by time and id. */
export function pageStart(cursor: string | undefined): { after?: readonly [number, string] } {
  if (cursor === undefined) return {}
  const [, time, id] = CURSOR.exec(cursor) ?? []
  if (time === undefined || id === undefined) {
    throw new AppError('INPUT_INVALID', 'The cursor is not one that a page gave. Begin without one.')
  }
  return { after: [Number(time), id] }
}

const CURSOR = /^(\d{1,16})\.([\w-]{1,128})$/
