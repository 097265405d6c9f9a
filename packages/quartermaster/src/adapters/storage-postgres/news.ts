import { ROWS, type Table } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import { type ChangedRows, mergeNews, type NewsListener, type StoreNews } from '../../core/store/index.ts'
import type { Connect } from './connector.ts'
import { closed } from './errors.ts'
import type { Link } from './link.ts'

/** The connection that receives notifications of other processes. */
interface NewsLine extends StoreNews {
  /** Resolves when notifications are received for the first time. */
  open(): Promise<void>
  restarts(): number
  close(): Promise<void>
}

interface NewsLineOptions {
  readonly connect: Connect
  /** The channel shared by all processes of the schema. */
  readonly channel: string
  /** The id of this process; its own notifications are ignored. */
  readonly self: string
  readonly log: Log
  /** How long to wait for the first connection. */
  readonly patienceMs: number
  /** How often to ping the server; a dead network gives no error. */
  readonly pingEveryMs?: number
}

const PING_EVERY_MS = 10_000
const STATEMENT_MS = 2_000

/** A separate connection: one that commits or reads is busy when another process notifies. */
export function createNewsLine(options: NewsLineOptions): NewsLine {
  const { connect, channel, self, log, patienceMs, pingEveryMs = PING_EVERY_MS } = options
  const listeners = new Set<NewsListener>()
  let link: Link | undefined
  let isClosed = false
  let restarts = 0
  let timer: NodeJS.Timeout | undefined

  function tell(work: (listener: NewsListener) => void): void {
    for (const listener of listeners) {
      try {
        work(listener)
      } catch (error) {
        log.error('a listener failed at a change of the store', { error: String(error) })
      }
    }
  }

  function receive(text: string): void {
    const news = decodeNews(text)
    if (!news) return tell(listener => listener.back())
    if (news.by !== self && news.rows.length > 0) tellRows(news.rows)
  }

  const tellRows = (rows: readonly ChangedRows[]) => tell(listener => listener.changed(rows))

  async function establish(mayGoOn: () => boolean): Promise<void> {
    const connected = await connect({
      isFirst: false,
      mayGoOn,
      async prepare({ link: fresh }) {
        await fresh.limit(STATEMENT_MS)
        await fresh.listen(channel, receive)
      },
    })
    if (isClosed) return connected.link.close()
    link = connected.link
    link.hold(false)
    link.onLost(() => onLost(connected.link))
    ping(connected.link)
  }

  /** A missing answer ends the connection by its own timeout. */
  function ping(on: Link): void {
    timer = setTimeout(() => {
      on.read({ sql: 'select 1', parameters: [] }).then(
        () => link === on && ping(on),
        () => on.destroy(),
      )
    }, pingEveryMs).unref()
  }

  function onLost(lost: Link): void {
    if (link !== lost) return
    link = undefined
    clearTimeout(timer)
    if (isClosed) return
    log.warn('Notifications of other processes are interrupted; reading the store instead')
    tell(listener => listener.lost?.())
    void reconnect()
  }

  async function reconnect(): Promise<void> {
    try {
      await establish(() => !isClosed)
    } catch {
      // Only after closing; otherwise it retries forever.
      return
    }
    if (!link) return
    restarts++
    log.info('Notifications of other processes are received again')
    tell(listener => listener.back())
  }

  return {
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    isConnected: () => link !== undefined && !link.isLost(),
    async open() {
      const until = performance.now() + patienceMs
      await establish(() => !isClosed && performance.now() < until)
      if (isClosed) throw closed()
    },
    restarts: () => restarts,
    async close() {
      isClosed = true
      clearTimeout(timer)
      await link?.close()
    },
  }
}

/** A notification: its sender and the changed rows. It carries ids only, no values. */
interface SentNews {
  readonly by: string
  readonly rows: readonly ChangedRows[]
}

/** PostgreSQL's limit is 8,000 bytes. */
const MOST_BYTES = 7_500
/** With more ids, checking everything is faster. */
const MOST_IDS = 100

/** Encodes a notification; `undefined` when nothing changed. With too many rows it names only the tables. */
export function encodeNews(by: string, news: readonly ChangedRows[]): string | undefined {
  if (news.length === 0) return undefined
  const rows = mergeNews(news).map(({ table, ids }) => ({ table, ids: ids.length > MOST_IDS ? ('any' as const) : ids }))
  const text = textOf(by, rows)
  return Buffer.byteLength(text) <= MOST_BYTES
    ? text
    : textOf(
        by,
        rows.map(({ table }) => ({ table, ids: 'any' })),
      )
}

function textOf(by: string, rows: readonly ChangedRows[]): string {
  return JSON.stringify([by, ...rows.map(({ table, ids }) => [table, ...(ids === 'any' ? [] : [ids])])])
}

/** Decodes a notification. Tables of a newer version are dropped; an unreadable text means that anything may have changed. */
export function decodeNews(text: string): SentNews | undefined {
  try {
    const [by, ...rows] = JSON.parse(text) as [unknown, ...(readonly [string, (readonly string[])?])[]]
    if (typeof by !== 'string') return undefined
    return {
      by,
      rows: rows
        .filter(([table]) => table in ROWS)
        .map(([table, ids]) => ({ table: table as Table, ids: ids ?? 'any' })),
    }
  } catch {
    // From another version, or foreign text on our channel: listeners check everything.
    return undefined
  }
}
