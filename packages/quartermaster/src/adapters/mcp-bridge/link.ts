import { type AppError, toAppError } from '../../contracts/index.ts'
import type { Clock, Random } from '../../core/kernel/index.ts'
import { isPassing } from './errors.ts'
import { createPause } from './pause.ts'

/** An `up` that lets us in. */
export interface Gateway {
  /** Its MCP endpoint. */
  readonly url: string
  readonly token: string
  /** How long the token is good unless it is extended. */
  readonly goodForMs: number
  extend(): Promise<void>
  /** Gives the token back. */
  giveBack(): Promise<void>
}

export interface FindOptions {
  readonly signal: AbortSignal
  /** When the last one was lost; absent when there was none. */
  readonly lostAt?: number
}

export interface LinkDeps {
  readonly clock: Clock
  readonly random: Random
  /** Looks once. A failure that will not pass by itself is told at once, others are tried again for a while. */
  find(options: FindOptions): Promise<Gateway>
  tell(text: string): void
}

/** The one connection that everything goes over, found anew when it is lost. */
export interface Link {
  /** The gateway of now; waits for one, but not for ever. */
  gateway(): Promise<Gateway>
  /** This one is gone, or does not let us in any more. */
  lose(gateway: Gateway): void
  /** Why there is none and never was. */
  failure(): AppError | undefined
  close(): Promise<void>
}

/** How long a request waits for a gateway; clients give up after 30 s or more. */
const PATIENCE_MS = 15_000

export function createLink({ clock, random, find, tell }: LinkDeps): Link {
  const closing = new AbortController()
  const pause = createPause({ clock, random, signal: closing.signal })
  let current: Gateway | undefined
  let seeking: Promise<Gateway> | undefined
  let lostAt: number | undefined
  let failure: AppError | undefined
  let cancelExtending = () => {}

  function adopt(gateway: Gateway): Gateway {
    // Found too late to be of use; one that cannot be given back ends by itself.
    if (closing.signal.aborted) void gateway.giveBack().catch(() => {})
    current = gateway
    if (lostAt !== undefined) tell('Connected again.')
    lostAt = undefined
    failure = undefined
    keep(gateway)
    return gateway
  }

  function keep(gateway: Gateway): void {
    cancelExtending = clock.after(gateway.goodForMs / 3, () => {
      gateway.extend().then(
        () => current === gateway && keep(gateway),
        () => lose(gateway),
      )
    })
  }

  function lose(gateway: Gateway): void {
    if (gateway !== current) return
    current = undefined
    lostAt = clock.now()
    cancelExtending()
    if (!closing.signal.aborted) tell('The connection is lost; looking for Quartermaster.')
  }

  async function seek(): Promise<Gateway> {
    const until = clock.now() + PATIENCE_MS
    for (let tries = 0; ; tries++) {
      try {
        return adopt(await find({ signal: closing.signal, ...(lostAt === undefined ? {} : { lostAt }) }))
      } catch (error) {
        if (!isPassing(error) || closing.signal.aborted || clock.now() >= until) throw failed(error)
      }
      await pause(tries)
    }
  }

  function failed(error: unknown): AppError {
    const seen = toAppError(error)
    if (!closing.signal.aborted && failure?.message !== seen.message) tell(seen.message)
    failure = seen
    return seen
  }

  return {
    async gateway() {
      if (current) return current
      seeking ??= seek().finally(() => {
        seeking = undefined
      })
      return seeking
    },
    lose,
    failure: () => (current || lostAt !== undefined ? undefined : failure),
    async close() {
      closing.abort()
      cancelExtending()
      const last = current
      current = undefined
      await last?.giveBack()
    },
  }
}
