import type { Caller, OperationRow, Settings } from '../../../contracts/index.ts'
import {
  type NewsListener,
  type Nodes,
  type Sealer,
  type SharedTime,
  type Store,
  type StoreNews,
} from '../../store/index.ts'

/** The open store, and the sealer of the arguments in it. */
export interface Storage {
  readonly store: Store
  readonly sealer: Sealer
  /** For a store that other processes may use too: notifications of their commits, their list, and the common time. */
  readonly shared?:
    | {
        readonly news: StoreNews
        readonly nodes: Pick<Nodes, 'isAlone' | 'self'>
        readonly time?: SharedTime | undefined
      }
    | undefined
}

/** A store that is opened on first use. */
export interface StorageAccess {
  /** Opens the store, once. Throws `STORE_LOCKED` when another process owns the data folder. */
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

/** Where the caller of an operation waits for it. */
type Awaited = 'here' | 'elsewhere' | 'nowhere'

/** How long an allowed operation is left to the process where its caller waits: only that process can report progress. */
export const OTHER_PROCESS_MS = 5_000

/** Finds out where the caller of an operation waits. `isHeld` tells whether a caller waits in this process. */
export function awaitedIn({ storage, isHeld }: { storage: StorageAccess; isHeld(id: string): boolean }) {
  return ({ id, awaitedUntil }: Pick<OperationRow, 'id' | 'awaitedUntil'>, now: number): Awaited => {
    if (isHeld(id)) return 'here'
    const { shared } = storage.current() ?? {}
    const mayBeElsewhere = shared !== undefined && !shared.nodes.isAlone()
    return mayBeElsewhere && awaitedUntil !== null && awaitedUntil > now ? 'elsewhere' : 'nowhere'
  }
}

export type WhereAwaited = ReturnType<typeof awaitedIn>

/** The columns of an operation that its next transition depends on. */
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
 * When an operation expires. Its age is measured from its first run, or from a person's decision to run it: the wait for that
 * decision is not included.
 */
export function expiryOf(
  { expiresAt, startedAt, createdAt }: Pick<OperationRow, 'expiresAt' | 'startedAt' | 'createdAt'>,
  { retryMaxAgeMinutes }: Pick<Settings, 'retryMaxAgeMinutes'>,
): number {
  return expiresAt ?? (startedAt ?? createdAt) + retryMaxAgeMinutes * 60_000
}

/** A day, the unit of all retention settings. */
export const DAY_MS = 24 * 3_600_000

/** How long an ended operation is kept: a task for its `ttlMs`, any other by the setting. */
export function endTerms(
  now: number,
  { ttlMs }: Pick<OperationRow, 'ttlMs'>,
  { operationDays }: Pick<Settings, 'operationDays'>,
): { readonly now: number; readonly keepMs: number } {
  return { now, keepMs: ttlMs ?? operationDays * DAY_MS }
}

/** The guard that refuses a commit that begins a run when a grant that allows the run is gone. */
export const GRANT_GUARD = 'grant.live'

/** The caller, as columns of a row. */
export interface CallerColumns {
  readonly organisation: string
  readonly workspace: string
  readonly callerKind: Caller['kind']
  readonly callerName: string
}

export function callerColumns({ organisation, workspace, kind: callerKind, name: callerName }: Caller): CallerColumns {
  return { organisation, workspace, callerKind, callerName }
}

/** The caller columns of another row. */
export function callerColumnsOf({ organisation, workspace, callerKind, callerName }: CallerColumns): CallerColumns {
  return { organisation, workspace, callerKind, callerName }
}

export function callerOf({ organisation, workspace, callerKind: kind, callerName: name }: CallerColumns): Caller {
  return { kind, organisation, name, workspace }
}
