import { ROWS, type Table } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import { type ChangedRows, mergeNews, type NewsListener, type StoreNews } from '../../core/store/index.ts'
import type { Connect } from './connector.ts'
import { closed } from './errors.ts'
import type { Link } from './link.ts'

/** The connection on which news are heard. */
interface NewsLine extends StoreNews {
  /** Resolves when news are heard for the first time. */
  open(): Promise<void>
  /** Connections that were lost and replaced. */
  restarts(): number
  close(): Promise<void>
}

interface NewsLineOptions {
  readonly connect: Connect
  /** The name under which all who share the schema tell and hear. */
  readonly channel: string
  /** Who this is: what it tells itself it knows. */
  readonly self: string
  readonly log: Log
  /** How long the first connection is waited for. */
  readonly patienceMs: number
  /** How often it is asked whether the server is still there; a network that swallows everything gives no sign. */
  readonly lookEveryMs?: number
}

const LOOK_EVERY_MS = 10_000
const STATEMENT_MS = 2_000

/** A connection of its own, because one that commits or reads is busy when another node notifies. */
export function createNewsLine(options: NewsLineOptions): NewsLine {
  const { connect, channel, self, log, patienceMs, lookEveryMs = LOOK_EVERY_MS } = options
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

  function hear(text: string): void {
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
        await fresh.listen(channel, hear)
      },
    })
    if (isClosed) return connected.link.close()
    link = connected.link
    link.hold(false)
    link.onLost(() => onLost(connected.link))
    look(connected.link)
  }

  /** An answer that does not come ends the connection by itself. */
  function look(on: Link): void {
    timer = setTimeout(() => {
      on.read({ sql: 'select 1', parameters: [] }).then(
        () => link === on && look(on),
        () => on.destroy(),
      )
    }, lookEveryMs).unref()
  }

  function onLost(lost: Link): void {
    if (link !== lost) return
    link = undefined
    clearTimeout(timer)
    if (isClosed) return
    log.warn('News from other processes are not heard; looking at the store instead')
    tell(listener => listener.lost?.())
    void comeBack()
  }

  async function comeBack(): Promise<void> {
    try {
      await establish(() => !isClosed)
    } catch {
      // Only when it is closed: else it is tried for ever.
      return
    }
    if (!link) return
    restarts++
    log.info('News from other processes are heard again')
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

/** News as they go over the wire: who sends them, and the rows. It has ids and nothing else of what is in rows. */
interface SentNews {
  readonly by: string
  readonly rows: readonly ChangedRows[]
}

/** PostgreSQL takes less than 8,000 bytes. */
const MOST_BYTES = 7_500
/** Beyond this many, checking everything is faster than checking each. */
const MOST_IDS = 100

/** The text of news, or nothing where there are none. Of too many rows it says no more than which tables they are in. */
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

/** Reads news. Tables that this version does not know are left out; what cannot be read is about anything. */
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
