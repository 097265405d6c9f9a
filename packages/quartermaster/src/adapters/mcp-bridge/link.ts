import { AppError, toAppError } from '../../contracts/index.ts'
import type { Clock, Random } from '../../core/kernel/index.ts'
import { isPassing, notBack } from './errors.ts'
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
  /** What a person runs to start a gateway. */
  readonly command: string
  tell(text: string): void
}

/** The one connection that everything goes over, found anew when it is lost. */
export interface Link {
  /** The gateway of now. A request is held for as long as clients wait, and then told what to start. */
  gateway(): Promise<Gateway>
  /** Does something under a gateway's token, which stays good for that long even if the gateway is lost meanwhile. */
  during<T>(gateway: Gateway, work: () => Promise<T>): Promise<T>
  /** This one is gone, or does not let us in any more. Whatever is still open there may end by itself. */
  lose(gateway: Gateway): void
  /** Why there is none and never was. */
  failure(): AppError | undefined
  close(): Promise<void>
}

/** Before there ever was a gateway: clients wait 30 s or less for a server that starts. */
const FIRST_HOLD_MS = 15_000
/** Over a restart. The SDKs give a call 60 s, and our answer says more than their timeout. */
const HOLD_MS = 55_000

export function createLink({ clock, random, find, command, tell }: LinkDeps): Link {
  const closing = new AbortController()
  const pause = createPause({ clock, random, signal: closing.signal })
  let current: Gateway | undefined
  let seeking: Promise<Gateway> | undefined
  let lostAt: number | undefined
  let failure: AppError | undefined
  let lastFailure = new AppError('DEPENDENCY_UNAVAILABLE', 'Quartermaster does not answer.')
  let waiting = 0
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

  /** For as long as a request waits for it. */
  async function seek(): Promise<Gateway> {
    for (let tries = 0; ; tries++) {
      try {
        return adopt(await find({ signal: closing.signal, ...(lostAt === undefined ? {} : { lostAt }) }))
      } catch (error) {
        lastFailure = toAppError(error)
        if (!isPassing(error) || closing.signal.aborted || waiting === 0) throw failed(lastFailure)
      }
      await pause(tries)
    }
  }

  /** Each request is held for its own time. */
  function held(seeking: Promise<Gateway>): Promise<Gateway> {
    const heldMs = lostAt === undefined ? FIRST_HOLD_MS : HOLD_MS
    waiting++
    return new Promise<Gateway>((resolve, reject) => {
      const cancel = clock.after(heldMs, () => reject(failed(lastFailure, heldMs)))
      seeking.then(resolve, reject).finally(cancel)
    }).finally(() => waiting--)
  }

  function failed(seen: AppError, heldMs?: number): AppError {
    if (!closing.signal.aborted && failure?.message !== seen.message) tell(seen.message)
    failure = seen
    return heldMs === undefined ? seen : notBack(seen, { command, heldMs })
  }

  return {
    async gateway() {
      if (current) return current
      seeking ??= seek().finally(() => {
        seeking = undefined
      })
      return held(seeking)
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
