import { AppError, type LentFiles, toAppError } from '../../contracts/index.ts'
import type { Clock, Random } from '../../core/kernel/index.ts'
import { isPassing, notBack } from './errors.ts'

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

/** The one connection that everything goes over, found again when it is lost. */
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

/** A gateway's token, renewed for as long as a connection needs it. */
interface Lease {
  readonly gateway: Gateway
  /** Something is open under it until the answer is called. */
  hold(): () => void
  /** Nothing new comes. It is given back when nothing is open under it any more. */
  retire(): void
  /** Gives it back now, whatever is open. */
  giveBack(): Promise<void>
}

interface LeaseDeps {
  readonly clock: Clock
  readonly gateway: Gateway
  /** It is over: its time has passed, or the gateway does not know it any more. */
  onOver(): void
  /** It was given back or has expired: nothing is left to renew. */
  onDone(): void
}

function createLease({ clock, gateway, onOver, onDone }: LeaseDeps): Lease {
  const { goodForMs } = gateway
  let goodUntil = clock.now() + goodForMs
  let open = 0
  let isRetired = false
  let isDone = false
  let cancel = extendIn(goodForMs / 3)

  function extendIn(ms: number) {
    return clock.after(ms, () => void extend())
  }

  async function extend(): Promise<void> {
    const askedAt = clock.now()
    try {
      await gateway.extend()
      goodUntil = askedAt + goodForMs
      if (!isDone) cancel = extendIn(goodForMs / 3)
    } catch (error) {
      if (isDone) return
      // Calls run under it, so one question that got lost is no reason to let it run out.
      if (isUnknown(error) || clock.now() >= goodUntil) return end()
      cancel = extendIn(Math.min(goodForMs / 15, goodUntil - clock.now()))
    }
  }

  function end(): void {
    done()
    onOver()
  }

  function done(): void {
    isDone = true
    cancel()
    onDone()
  }

  async function giveBack(): Promise<void> {
    if (isDone) return
    done()
    await gateway.giveBack()
  }

  function giveBackIfUnused(): void {
    // One that cannot be given back ends by itself.
    if (isRetired && open === 0) giveBack().catch(() => {})
  }

  return {
    gateway,
    hold() {
      open++
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        open--
        giveBackIfUnused()
      }
    },
    retire() {
      isRetired = true
      giveBackIfUnused()
    },
    giveBack,
  }
}

function isUnknown(error: unknown): boolean {
  return toAppError(error).code === 'NAME_UNKNOWN'
}

/** An `up` that lets us in. */
export interface Gateway {
  /** Its MCP endpoint. */
  readonly url: string
  readonly token: string
  /** How long the token is good unless it is extended. */
  readonly goodForMs: number
  /** How files of the agent are handed in there; absent where they cannot be. */
  readonly files?: (LentFiles & { readonly url: string }) | undefined
  extend(): Promise<void>
  /** Gives the token back. */
  giveBack(): Promise<void>
}

/** Waits before the next try: longer each time, and never two bridges at the same moment. */
export type Pause = (tries: number) => Promise<void>

const FIRST_MS = 50
const LONGEST_MS = 1_000

/** A pause ends early when the signal aborts. */
export function createPause(deps: { clock: Clock; random: Random; signal: AbortSignal }): Pause {
  const { clock, random, signal } = deps
  return tries =>
    new Promise(resolve => {
      const ms = Math.min(FIRST_MS * 2 ** tries, LONGEST_MS) * (0.5 + random())
      const cancel = clock.after(ms, go)
      function go() {
        cancel()
        signal.removeEventListener('abort', go)
        resolve()
      }
      if (signal.aborted) go()
      else signal.addEventListener('abort', go, { once: true })
    })
}
