import { AppError, type LentFiles, toAppError } from '../../contracts/index.ts'
import type { Clock, Random } from '../../core/kernel/index.ts'
import { isPassing, notBack } from './errors.ts'

export interface FindOptions {
  readonly signal: AbortSignal
  /** When the last gateway was lost; absent when there was none. */
  readonly lostAt?: number
}

export interface LinkDeps {
  readonly clock: Clock
  readonly random: Random
  /** Tries once. Permanent failures are reported at once; temporary ones are retried for a while. */
  find(options: FindOptions): Promise<Gateway>
  readonly command: string
  tell(text: string): void
}

/** The connection to the current gateway, found again when it is lost. */
export interface Link {
  /** The current gateway. Requests wait for one up to a limit, then fail with the command to start it. */
  gateway(): Promise<Gateway>
  /** Runs work under a gateway's token, which is kept valid for that long even if the gateway is lost meanwhile. */
  during<T>(gateway: Gateway, work: () => Promise<T>): Promise<T>
  /** Marks a gateway as lost, or as refusing its token. Open requests on it may still finish. */
  lose(gateway: Gateway): void
  /** The last failure, if there never was a gateway. */
  failure(): AppError | undefined
  close(): Promise<void>
}

/** Hold time before the first connection: clients wait 30 s or less for a server that starts. */
const FIRST_HOLD_MS = 15_000
/** Hold time during a restart. The SDKs time out after 60 s, and our error says more. */
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
  /** The current gateway and lost ones with open requests. */
  const leases = new Map<Gateway, Lease>()

  function adopt(gateway: Gateway): Gateway {
    if (closing.signal.aborted) {
      // Found too late; a token that is not returned expires.
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
    // A lost connection says nothing about the others, on which calls may run for minutes.
    leases.get(gateway)?.retire()
    if (!closing.signal.aborted) tell('The connection is lost; looking for Quartermaster.')
  }

  /** Retries for as long as any request waits. */
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

  /** Each request has its own hold time. */
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
      // A failed return of one token must not keep the others.
      await Promise.allSettled([...leases.values()].map(lease => lease.giveBack()))
    },
  }
}

interface LeaseDeps {
  readonly clock: Clock
  readonly gateway: Gateway
  /** The token expired, or the gateway does not know it any more. */
  onOver(): void
  /** The token was returned or has expired: nothing is left to renew. */
  onDone(): void
}

type Lease = ReturnType<typeof createLease>

/** Renews a gateway's token for as long as a connection needs it. */
function createLease({ clock, gateway, onOver, onDone }: LeaseDeps) {
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
      // Calls run under the token, so a single lost renewal must not let it expire.
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
    // A token that cannot be returned expires.
    if (isRetired && open === 0) giveBack().catch(() => {})
  }

  return {
    /** Keeps the token until the returned function is called. */
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
    /** Accepts nothing new; the token is returned when nothing uses it any more. */
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

/** A running `up` that accepted the agent. */
export interface Gateway {
  readonly url: string
  readonly token: string
  /** Lifetime of the token unless it is extended. */
  readonly goodForMs: number
  /** How files of the agent are uploaded; absent where they cannot be. */
  readonly files?: (LentFiles & { readonly url: string }) | undefined
  extend(): Promise<void>
  giveBack(): Promise<void>
}

/** Waits before the next attempt: exponential with jitter, so that bridges do not retry together. */
export type Pause = (tries: number) => Promise<void>

const FIRST_MS = 50
const LONGEST_MS = 1_000

/** Pauses end early when the signal aborts. */
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
