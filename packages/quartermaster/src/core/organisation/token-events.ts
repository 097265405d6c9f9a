import { type TokenRow } from '../../contracts/index.ts'
import { type Cancel, type Clock } from '../kernel/index.ts'
import { type Store, type StoreNews } from '../store/index.ts'

/** Keeps what is remembered of tokens in step with what other processes do to them. */
interface TokenNews {
  /** Reads them all. */
  readAll(): Promise<void>
  /** Something was changed here: what is being read meanwhile may be older. */
  changedHere(): void
  /** Reads this token again where the cached one may be old; nothing to wait for where it is not. */
  fresh(hash: string): Promise<void> | undefined
  /** Whether what is remembered counts. */
  isFresh(): boolean
}

interface TokenNewsDeps {
  readonly store: Store
  readonly clock: Clock
  /** Absent where no other process changes tokens. */
  readonly news: StoreNews | undefined
  /** Remembers a row as it is in the store. */
  take(row: TokenRow): void
  /** Forgets what is not there any more: of this hash, or all but these. */
  forget(which: { readonly hash: string } | { readonly allBut: ReadonlySet<string> }): void
}

const PAGE = 1_000
/** What could not be read is read again then; until it is, nothing that is remembered counts. */
const PAUSE_MS = 1_000
/** More changes here than that while reading: then it is read once more, later. */
const MOST_READS = 5

export function createTokenNews({ store, clock, news, take, forget }: TokenNewsDeps): TokenNews {
  let changes = 0
  let isBehind = false
  /** Changes that were told and are not read yet. */
  let unread = 0
  let losses = 0
  let reading: Promise<void> = Promise.resolve()
  let cancelTimer: Cancel = () => {}

  /** What was changed here while it was read may be newer than what was read. */
  async function unchanged<T>(read: () => Promise<T>): Promise<T> {
    for (let reads = 0; ; reads++) {
      const before = changes
      const found = await read()
      if (before === changes) return found
      if (reads === MOST_READS) throw new Error('Tokens change all the time.')
    }
  }

  /** One after the other, so that what was read first is not remembered last. */
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
      // It is tried again, and nothing that is remembered counts until then.
    })
  }

  async function readAll(): Promise<void> {
    const before = losses
    const rows = await unchanged(() => allTokens(store))
    for (const row of rows) take(row)
    forget({ allBut: new Set(rows.map(({ hash }) => hash)) })
    // What changed since it was lost once more was perhaps not read.
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

  /** What is told of does not count until it is read. */
  function heardOf(ids: readonly string[]): void {
    unread++
    inTurn(() => readSome(ids))
      .catch(() => {
        // Everything is read again, and nothing that is remembered counts until then.
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
      else if (ids) heardOf(ids)
    },
    lost() {
      losses++
      isBehind = true
    },
    back: catchUp,
  })

  return {
    readAll: () => inTurn(readAll),
    changedHere: () => void changes++,
    fresh: hash => (isFresh() ? undefined : readOne(hash)),
    isFresh,
  }
}

async function allTokens(store: Store): Promise<readonly TokenRow[]> {
  const all: TokenRow[] = []
  for (let after: readonly (string | number)[] | undefined; ; ) {
    const query = { order: { by: ['id' as const] }, limit: PAGE }
    const rows = await store.find('tokens', after ? { ...query, after } : query)
    all.push(...rows)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return all
    after = [last.id]
  }
}

/** Notices when something is over by its time, with one timer for all of it. */
interface ExpiryWatch {
  /** Tells of it at that time; a later word about the same id replaces this one. */
  expect(id: string, expiresAt: number): void
  /** It has ended otherwise, or has no end any more. */
  forget(id: string): void
}

interface ExpiryWatchDeps {
  readonly clock: Clock
  /** Called once for each that is over. */
  onExpired(id: string): void
}

/**
 * A timer stands still while the machine sleeps and the clock does not, so it is never set for longer: what ended during
 * a night is told of within a minute of the morning. It also keeps every wait far below the longest that a timer can do.
 */
const LOOK_EVERY_MS = 60_000

export function createExpiryWatch({ clock, onExpired }: ExpiryWatchDeps): ExpiryWatch {
  const ends = new Map<string, number>()
  let lookAt = Number.POSITIVE_INFINITY
  let cancel = () => {}

  function lookBy(time: number): void {
    const at = Math.min(time, clock.now() + LOOK_EVERY_MS)
    if (at >= lookAt) return
    cancel()
    lookAt = at
    cancel = clock.after(Math.max(0, at - clock.now()), look)
  }

  function look(): void {
    lookAt = Number.POSITIVE_INFINITY
    const now = clock.now()
    for (const [id, end] of [...ends]) {
      if (end > now) lookBy(end)
      else if (ends.delete(id)) onExpired(id)
    }
  }

  return {
    expect(id, expiresAt) {
      ends.set(id, expiresAt)
      lookBy(expiresAt)
    },
    forget: id => void ends.delete(id),
  }
}
