import type { Client, Connection, CustomTypesConfig } from 'pg'
import type { SqlRow, SqlValue, Statement } from '../storage-sql/index.ts'
import { connectionConfig, type DatabaseAddress } from './database-address.ts'
import { isStatementFault } from './errors.ts'

/** One connection, for one thing at a time. */
export interface Link {
  /** Runs the steps in one round trip. Throws when the connection was lost over it. */
  run(steps: readonly Step[]): Promise<FlightEnd>
  read(statement: Statement & { readonly name?: string }): Promise<readonly SqlRow[]>
  /** How long the server works on one statement at most from now on. */
  limit(statementMs: number): Promise<void>
  /** Has the server tell what is told on this channel. */
  listen(channel: string, onTold: (text: string) => void): Promise<void>
  isLost(): boolean
  /** Calls back once when the connection is lost, or let go of. */
  onLost(listener: () => void): void
  /** Cuts it, whatever runs on it. */
  destroy(): void
  /** Whether the process stays alive for it. */
  hold(isBusy: boolean): void
  /** Lets go of it, in good order when nothing runs on it. */
  close(): Promise<void>
}

const CONNECT_MS = 10_000
/** A network that swallows everything gives no error; past the server's own limit we have to notice. */
const SILENCE_MS = 10_000

const GOODBYE_MS = 1_000

/** Connects. Until it is limited a statement may take as long as it takes. */
export async function openLink(address: DatabaseAddress): Promise<Link> {
  // Loaded here, because users of SQLite do not need it.
  const { Client: PgClient } = await import('pg')
  const client = new PgClient({
    ...connectionConfig(address),
    connectionTimeoutMillis: CONNECT_MS,
    types: PARSERS,
  })
  let isLost = false
  client.on('error', () => {
    // It fails the pending query; the next one gets another connection.
    isLost = true
  })
  client.on('end', () => {
    isLost = true
  })
  try {
    await client.connect()
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
  return linkOver(client as HeldClient, () => isLost)
}

/** The driver's types leave out that a client can let the process end. */
interface HeldClient extends Client {
  ref(): void
  unref(): void
}

function linkOver(client: HeldClient, isLost: () => boolean): Link {
  const names = createPreparedNames()
  client.connection.on('parseComplete', names.confirmed)
  const destroy = () => client.connection.stream.destroy()
  let silenceMs: number | undefined

  /** The limit is for each statement, so many of them may take longer: it is counted from the last sign of life. */
  async function watched<T>(work: Promise<T>): Promise<T> {
    if (silenceMs === undefined) return work
    const timer = setTimeout(destroy, silenceMs).unref()
    const onLife = () => void timer.refresh()
    client.connection.stream.on('data', onLife)
    try {
      return await work
    } finally {
      clearTimeout(timer)
      client.connection.stream.off('data', onLife)
    }
  }

  return {
    async run(steps) {
      const flight = createFlight(steps, names)
      client.query(flight)
      const end = await watched(flight.ended)
      if (end.error !== undefined && !isStatementFault(end.error)) throw end.error
      return end
    },
    async read({ sql, parameters, name }) {
      const values = [...parameters]
      const query = { text: sql, values, rowMode: 'array' as const, ...(name === undefined ? {} : { name }) }
      return (await watched(client.query(query))).rows as SqlRow[]
    },
    async limit(statementMs) {
      // One round trip. Bytes come in hex also where the server's own setting says otherwise.
      await client.query(`set statement_timeout = ${statementMs}; set bytea_output = 'hex'`)
      silenceMs = statementMs + SILENCE_MS
    },
    async listen(channel, onTold) {
      client.on('notification', ({ channel: on, payload = '' }) => {
        if (on === channel) onTold(payload)
      })
      await client.query(`listen "${channel}"`)
    },
    isLost,
    onLost(listener) {
      let isTold = isLost()
      const tell = () => {
        if (!isTold) listener()
        isTold = true
      }
      if (isTold) queueMicrotask(listener)
      client.on('error', tell).on('end', tell)
    },
    destroy,
    hold: isBusy => (isBusy ? client.ref() : client.unref()),
    async close() {
      // A network that swallows everything swallows a good-bye, too.
      const timer = setTimeout(destroy, GOODBYE_MS)
      await client.end()
      clearTimeout(timer)
    },
  }
}

/** `int8`, `int2`, `int4`, `float4`, `float8`: all ours fit into a number. Everything else but `bytea` is text. */
const NUMERIC = new Set([20, 21, 23, 700, 701])
const BYTEA = 17
const toText = (value: string) => value
// `\\x` and the bytes in hex, as every server since 9.0 writes them.
const toBytes = (value: string) => Buffer.from(value.slice(2), 'hex')
const PARSERS = {
  getTypeParser: (type: number) => (NUMERIC.has(type) ? Number : type === BYTEA ? toBytes : toText),
} as unknown as CustomTypesConfig

/** One statement of a flight. */
export interface Step {
  readonly sql: string
  readonly parameters: readonly SqlValue[]
  /** Under which it stays prepared on the connection; without one it is not. */
  readonly name?: string
}

/** What became of a step: its command as PostgreSQL names it with its rows, and the first value that it gave. */
export interface StepEnd {
  readonly tag: string
  readonly value: string | undefined
}

/** The ends of the steps in their order, up to the first that failed. What stands behind that one was not begun. */
export interface FlightEnd {
  readonly ends: readonly StepEnd[]
  readonly error?: unknown
}

interface Flight {
  submit(connection: Connection): void
  readonly ended: Promise<FlightEnd>
}

/** Names of statements that a connection has prepared. */
interface PreparedNames {
  has(name: string): boolean
  /** To be called in the order in which they are sent. */
  sent(name: string | undefined): void
  /** What was sent behind a failure is not prepared. */
  dropSent(): void
}

/**
 * Many statements in one round trip: the server does them one after the other, and nothing more after the first that fails.
 * The driver hands over its connection to whatever has `submit`, and tells it what comes back.
 */
function createFlight(steps: readonly Step[], names: PreparedNames): Flight {
  const ends: StepEnd[] = []
  let value: string | undefined
  let settle: (end: FlightEnd) => void = () => {}
  const ended = new Promise<FlightEnd>(resolve => {
    settle = resolve
  })
  const handlers = {
    handleDataRow({ fields }: { fields: readonly (string | null)[] }) {
      value ??= fields[0] ?? undefined
    },
    handleCommandComplete({ text }: { text: string }) {
      ends.push({ tag: text, value })
      value = undefined
    },
    handleEmptyQuery() {
      ends.push({ tag: '', value: undefined })
    },
    handleError(error: unknown) {
      names.dropSent()
      settle({ ends, error })
    },
    handleReadyForQuery: () => settle({ ends }),
    handleRowDescription() {},
    handlePortalSuspended() {},
  }
  return {
    ...handlers,
    ended,
    submit(connection: Connection) {
      connection.stream.cork()
      for (const step of steps) send(connection, step, names)
      connection.sync()
      connection.stream.uncork()
    },
  }
}

function send(connection: Connection, { sql, parameters, name }: Step, names: PreparedNames): void {
  const statement = name ?? ''
  if (name === undefined || !names.has(name)) {
    connection.parse({ name: statement, text: sql, types: [] }, true)
    names.sent(name)
  }
  connection.bind({ statement, values: parameters.map(toWire) }, true)
  connection.execute({}, true)
}

/** The driver sends a Buffer as it is, and everything else as text. */
function toWire(value: SqlValue): string | Buffer | null {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return typeof value === 'number' ? String(value) : value
}

/** Remembers what the connection has prepared: only what the server has confirmed. */
function createPreparedNames(): PreparedNames & { confirmed(): void } {
  const prepared = new Set<string>()
  let waiting: (string | undefined)[] = []
  return {
    has: name => prepared.has(name) || waiting.includes(name),
    sent: name => void waiting.push(name),
    dropSent: () => {
      waiting = []
    },
    confirmed() {
      const name = waiting.shift()
      if (name !== undefined) prepared.add(name)
    },
  }
}
