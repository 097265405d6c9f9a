import { type AppError, toAppError } from '../../contracts/index.ts'
import type { Clock, Random } from '../../core/kernel/index.ts'
import { isPassing } from './errors.ts'
import type { Gateway } from './gateway.ts'
import { createLease, type Lease } from './lease.ts'
import { createPause } from './pause.ts'

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
  /** Does something under a gateway's token, which stays good for that long even if the gateway is lost meanwhile. */
  during<T>(gateway: Gateway, work: () => Promise<T>): Promise<T>
  /** This one is gone, or does not let us in any more. Whatever is still open there may end by itself. */
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
  /** The present one, and lost ones under which something is still open. */
  const leases = new Map<Gateway, Lease>()

  function adopt(gateway: Gateway): Gateway {
    if (closing.signal.aborted) {
      // Found too late to be of use; one that cannot be given back ends by itself.
      gateway.giveBack().catch(() => {})
      return gateway
    }
    current = gateway
    if (lostAt !== undefined) tell('Connected again.')
    lostAt = undefined
    failure = undefined
    const onDone = () => void leases.delete(gateway)
    leases.set(gateway, createLease({ clock, gateway, onOver: () => lose(gateway), onDone }))
    return gateway
  }

  function lose(gateway: Gateway): void {
    if (gateway !== current) return
    current = undefined
    lostAt = clock.now()
    // One lost connection says nothing about the others, and calls may run on them for minutes.
    leases.get(gateway)?.retire()
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
    async during(gateway, work) {
      const release = leases.get(gateway)?.hold()
      try {
        return await work()
      } finally {
        release?.()
      }
    },
    lose,
    failure: () => (current || lostAt !== undefined ? undefined : failure),
    async close() {
      closing.abort()
      current = undefined
      // One that cannot be given back any more must not keep the others.
      await Promise.allSettled([...leases.values()].map(lease => lease.giveBack()))
    },
  }
}
