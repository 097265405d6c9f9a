import type { Clock } from '../../../core/kernel/index.ts'
import { forPeople, type Trouble } from '../peer/channel.ts'

/** A request that failed because of its server. An error reported by a tool is no failure. */
export interface Failure extends Trouble {
  /** `the tool "search"`. */
  readonly what: string
  /**
   * `broken`: no answer, or something that is no answer. `unreadable`: an answer that cannot be read. `busy`: the
   * server asks to be left alone for longer than there was time. `slow`: it timed out.
   */
  readonly kind: 'broken' | 'unreadable' | 'busy' | 'slow'
}

/** Consecutive failures at a server that answers otherwise. A success ends them. */
interface Failures {
  /**
   * Answers a function that records it, to call once the server is known to be there. It records nothing if a request
   * has succeeded since.
   */
  noting(failure: Failure): () => void
  answered(): void
  last(): { readonly message: string; readonly at: number; readonly isStanding: true } | undefined
  /** Why to restart, where that may help and was not tried since the last success. */
  reasonToRenew(): Trouble | undefined
  renewing(): void
  /** A person restarts it, whatever it was being restarted for. */
  restarted(): void
  /** Reconnected: earlier failures need not recur. The reason for the restart stays visible. */
  clear(): void
}

interface FailuresDeps {
  readonly clock: Clock
  /** The agent it belongs to, unless it is shared. */
  readonly agent?: string | undefined
  note(text: string): void
}

/**
 * Whether it says something about the whole server. A slow one is working, a busy one says so, and an unreadable answer
 * would be repeated.
 */
const IS_SIGN = { broken: true, unreadable: false, busy: false, slow: false } as const satisfies Record<
  Failure['kind'],
  boolean
>

/** One tool may be broken, or one moment bad: the server counts as broken after this many failures over this time. */
export const MOST_FAILED = 5
export const FAILING_MS = 30_000

interface Run {
  readonly count: number
  /** How many of them are signs, and when the first came. */
  readonly signs: number
  readonly since: number
  readonly last: Failure
  readonly at: number
}

export function createFailures({ clock, agent, note }: FailuresDeps): Failures {
  const whose = agent === undefined ? '' : ` for "${agent}"`
  let run: Run | undefined
  let successes = 0
  let isRenewed = false
  /** Why it was restarted, until a request succeeds or it reconnects for another reason. */
  let renewed: Run | undefined
  let isBeingRenewed = false

  function add(failure: Failure): void {
    const now = clock.now()
    const { count = 0, signs = 0, since = now } = run ?? {}
    const isSign = IS_SIGN[failure.kind]
    run = {
      count: count + 1,
      signs: signs + (isSign ? 1 : 0),
      since: signs > 0 ? since : now,
      last: failure,
      at: Math.round(now),
    }
    // The others would say the same.
    if (count === 0) note(textOf(run))
  }

  function textOf({ count, last: { what, ...trouble } }: Run): string {
    const again = isRenewed ? ', also after a restart' : ''
    const one = `${what} failed${whose}${again}`
    const several = `its last ${count} requests${whose} failed${again}, the last of them ${what}`
    return `It answers, but ${count === 1 ? one : several}: ${forPeople(trouble)}`
  }

  /** That it is back says nothing: it was there before, too. */
  function renewedText({ count, last: { what, ...trouble } }: Run): string {
    const why = `because its last ${count} requests${whose} failed, the last of them ${what}`
    return `It was restarted ${why}, and none has succeeded since: ${forPeople(trouble)}`
  }

  function last(): ReturnType<Failures['last']> {
    if (run) return { message: textOf(run), at: run.at, isStanding: true }
    return renewed && { message: renewedText(renewed), at: renewed.at, isStanding: true }
  }

  return {
    noting(failure) {
      const before = successes
      return () => {
        if (successes === before) add(failure)
      }
    },
    answered() {
      // This is on the path of every call.
      successes++
      run = undefined
      renewed = undefined
      isRenewed = false
    },
    last,
    reasonToRenew() {
      const isEnough = run && run.signs >= MOST_FAILED && clock.now() - run.since >= FAILING_MS
      if (!run || !isEnough || isRenewed || !IS_SIGN[run.last.kind]) return undefined
      const { count, last } = run
      // Models of all agents may read it, and the request may contain words of one of them.
      return {
        reason: `It was restarted because its last ${count} requests had failed: ${last.reason}`,
        said: last.said,
      }
    },
    renewing() {
      isRenewed = true
      isBeingRenewed = true
    },
    restarted() {
      isBeingRenewed = false
    },
    clear() {
      // From now on: it is newer than the fall.
      renewed = isBeingRenewed && run ? { ...run, at: Math.round(clock.now()) } : undefined
      run = undefined
      isBeingRenewed = false
    },
  }
}
