import type { Client, CustomTypesConfig } from 'pg'
import type { SqlRow, Statement } from '../storage-sql/index.ts'
import { connectionConfig, type DatabaseAddress } from './database-address.ts'
import { isStatementFault } from './errors.ts'
import { createFlight, createPreparedNames, type FlightEnd, type Step } from './flight.ts'

/** One connection. Whoever uses it does one thing at a time. */
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
/** A network that swallows everything gives no error; past the server's own limit somebody has to notice. */
const SILENCE_MS = 10_000

const GOODBYE_MS = 1_000

/** Connects. Until it is limited a statement may take as long as it takes. */
export async function openLink(address: DatabaseAddress): Promise<Link> {
  // Loaded here, because whoever keeps to a file has no use for it.
  const { Client: PgClient } = await import('pg')
  const client = new PgClient({
    ...connectionConfig(address),
    connectionTimeoutMillis: CONNECT_MS,
    types: PARSERS,
  })
  let isLost = false
  client.on('error', () => {
    // Whoever waits for an answer is told by it; whoever comes next finds another connection.
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
