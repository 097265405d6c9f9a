import type { Connection } from 'pg'
import type { SqlValue } from '../storage-sql/index.ts'

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

export interface Flight {
  submit(connection: Connection): void
  readonly ended: Promise<FlightEnd>
}

/** Names of statements that a connection has prepared. */
export interface PreparedNames {
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
export function createFlight(steps: readonly Step[], names: PreparedNames): Flight {
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
export function createPreparedNames(): PreparedNames & { confirmed(): void } {
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
