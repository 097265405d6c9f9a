import type { Client, Connection, CustomTypesConfig } from 'pg'
import type { SqlRow, SqlValue, Statement } from '../storage-sql/index.ts'
import { connectionConfig, type DatabaseAddress } from './database-address.ts'
import { isStatementFault } from './errors.ts'

/** One connection, used for one thing at a time. */
export interface Link {
  /** Runs the steps in one round trip. Throws when the connection is lost. */
  run(steps: readonly Step[]): Promise<FlightEnd>
  read(statement: Statement & { readonly name?: string }): Promise<readonly SqlRow[]>
  /** Limits the time of each statement on the server. */
  limit(statementMs: number): Promise<void>
  /** Subscribes to a notification channel. */
  listen(channel: string, onNotified: (text: string) => void): Promise<void>
  isLost(): boolean
  /** Calls back once when the connection is lost or closed. */
  onLost(listener: () => void): void
  /** Closes the socket, whatever runs on it. */
  destroy(): void
  /** Whether the connection keeps the process alive. */
  hold(isBusy: boolean): void
  /** Closes the connection in good order. */
  close(): Promise<void>
}

const CONNECT_MS = 10_000
/** A dead network gives no error, so silence past the server's own limit ends the connection. */
const SILENCE_MS = 10_000

const GOODBYE_MS = 1_000

/** Connects. Until `limit` is called, a statement may take any time. */
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
    // The pending query fails; the next one gets another connection.
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

/** The driver's types omit `ref` and `unref`. */
interface HeldClient extends Client {
  ref(): void
  unref(): void
}

function linkOver(client: HeldClient, isLost: () => boolean): Link {
  const names = createPreparedNames()
  client.connection.on('parseComplete', names.confirmed)
  const destroy = () => client.connection.stream.destroy()
  let silenceMs: number | undefined

  /** The server's limit is per statement, and a flight has many, so silence is measured from the last data. */
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
      // One round trip. `bytea_output` may be configured otherwise on the server.
      await client.query(`set statement_timeout = ${statementMs}; set bytea_output = 'hex'`)
      silenceMs = statementMs + SILENCE_MS
    },
    async listen(channel, onNotified) {
      client.on('notification', ({ channel: on, payload = '' }) => {
        if (on === channel) onNotified(payload)
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
      // A dead network does not answer the goodbye either.
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
// `\\x` and hex digits, as every server since 9.0 writes them.
const toBytes = (value: string) => Buffer.from(value.slice(2), 'hex')
const PARSERS = {
  getTypeParser: (type: number) => (NUMERIC.has(type) ? Number : type === BYTEA ? toBytes : toText),
} as unknown as CustomTypesConfig

export interface Step {
  readonly sql: string
  readonly parameters: readonly SqlValue[]
  /** The name under which it stays prepared on the connection, if any. */
  readonly name?: string
}

/** The result of a step: PostgreSQL's command tag, and the first value returned. */
export interface StepEnd {
  readonly tag: string
  readonly value: string | undefined
}

/** The results of the steps up to the first failure. The steps behind it did not run. */
export interface FlightEnd {
  readonly ends: readonly StepEnd[]
  readonly error?: unknown
}

interface Flight {
  submit(connection: Connection): void
  readonly ended: Promise<FlightEnd>
}

/** Statements that a connection has prepared. */
interface PreparedNames {
  has(name: string): boolean
  /** Call in sending order. */
  sent(name: string | undefined): void
  /** Statements sent behind a failure are not prepared. */
  dropSent(): void
}

/**
 * Sends many statements in one round trip. The server runs them in order and stops at the first failure. The driver passes its
 * connection to any object with `submit`, and reports the answers to it.
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

/** The driver sends a Buffer as bytes, and everything else as text. */
function toWire(value: SqlValue): string | Buffer | null {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return typeof value === 'number' ? String(value) : value
}

/** Counts a statement as prepared once the server has confirmed it. */
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
