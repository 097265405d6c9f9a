import { type TokenRow } from '../../contracts/index.ts'
import { type Cancel, type Clock } from '../kernel/index.ts'
import { allRows, type Store, type StoreNews } from '../store/index.ts'

interface TokenNewsDeps {
  readonly store: Store
  readonly clock: Clock
  /** Absent if no other process changes tokens. */
  readonly news: StoreNews | undefined
  /** Caches a row as stored. */
  take(row: TokenRow): void
  /** Evicts tokens: of this hash, or all except these. */
  forget(which: { readonly hash: string } | { readonly allBut: ReadonlySet<string> }): void
}

const PAGE = 1_000
/** Retry interval of failed reads; until one succeeds the cache is not valid. */
const PAUSE_MS = 1_000
/** If more changes than this happen here during a read, it is repeated later. */
const MOST_READS = 5

/** Keeps cached tokens in step with changes of other processes. */
export function createTokenNews({ store, clock, news, take, forget }: TokenNewsDeps) {
  let changes = 0
  let isBehind = false
  /** Reported changes that are not read yet. */
  let unread = 0
  let losses = 0
  let reading: Promise<void> = Promise.resolve()
  let cancelTimer: Cancel = () => {}

  /** Changes made here during a read may be newer than what was read. */
  async function unchanged<T>(read: () => Promise<T>): Promise<T> {
    for (let reads = 0; ; reads++) {
      const before = changes
      const found = await read()
      if (before === changes) return found
      if (reads === MOST_READS) throw new Error('Tokens change all the time.')
    }
  }

  /** Reads are serialized, so that an older one never overwrites a newer one. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const turn = reading.then(work)
    reading = turn.catch(fallBehind)
    return turn
  }

  function fallBehind(): void {
    isBehind = true
    cancelTimer()
    cancelTimer = clock.after(PAUSE_MS, catchUp)
  }

  function catchUp(): void {
    isBehind = true
    inTurn(readAll).catch(() => {
      // It is retried, and the cache is not valid until then.
    })
  }

  async function readAll(): Promise<void> {
    const before = losses
    const rows = await unchanged(() => allRows(store, 'tokens', {}))
    for (const row of rows) take(row)
    forget({ allBut: new Set(rows.map(({ hash }) => hash)) })
    // Changes during another disconnection may not have been read.
    if (before === losses) isBehind = false
  }

  async function readSome(ids: readonly string[]): Promise<void> {
    const rows = await unchanged(() => store.find('tokens', { where: { id: { in: ids } }, limit: PAGE }))
    for (const row of rows) take(row)
  }

  async function readOne(hash: string): Promise<void> {
    const [row] = await unchanged(() => store.find('tokens', { where: { hash }, limit: 1 }))
    if (row) take(row)
    else forget({ hash })
  }

  /** A changed token is not valid until it is reloaded. */
  function reload(ids: readonly string[]): void {
    unread++
    inTurn(() => readSome(ids))
      .catch(() => {
        // Everything is reloaded, and the cache is not valid until then.
      })
      .finally(() => {
        unread--
      })
  }

  const isFresh = () => !news || (news.isConnected() && !isBehind && unread === 0)

  news?.listen({
    changed(rows) {
      const ids = rows.find(({ table }) => table === 'tokens')?.ids
      if (ids === 'any') catchUp()
      else if (ids) reload(ids)
    },
    lost() {
      losses++
      isBehind = true
    },
    back: catchUp,
  })

  return {
    readAll: () => inTurn(readAll),
    /** Reports a change made here: a concurrent read may be older. */
    changedHere: () => void changes++,
    /** Reloads this token if the cached one may be outdated; returns nothing to await otherwise. */
    fresh: (hash: string) => (isFresh() ? undefined : readOne(hash)),
    isFresh,
  }
}

interface ExpiryWatchDeps {
  readonly clock: Clock
  /** Called once per expired id. */
  onExpired(id: string): void
}

/**
 * A timer stops while the machine sleeps and the clock does not, so it is never set for longer: what expired overnight is reported
 * within a minute of waking. It also keeps every delay far below a timer's maximum.
 */
const CHECK_EVERY_MS = 60_000

/** Reports expiries, with one timer for all of them. */
export function createExpiryWatch({ clock, onExpired }: ExpiryWatchDeps) {
  const ends = new Map<string, number>()
  let checkAt = Number.POSITIVE_INFINITY
  let cancel = () => {}

  function checkBy(time: number): void {
    const at = Math.min(time, clock.now() + CHECK_EVERY_MS)
    if (at >= checkAt) return
    cancel()
    checkAt = at
    cancel = clock.after(Math.max(0, at - clock.now()), check)
  }

  function check(): void {
    checkAt = Number.POSITIVE_INFINITY
    const now = clock.now()
    for (const [id, end] of [...ends]) {
      if (end > now) checkBy(end)
      else if (ends.delete(id)) onExpired(id)
    }
  }

  return {
    /** Reports at that time; a later call with the same id replaces it. */
    expect(id: string, expiresAt: number): void {
      ends.set(id, expiresAt)
      checkBy(expiresAt)
    },
    forget: (id: string) => void ends.delete(id),
  }
}
