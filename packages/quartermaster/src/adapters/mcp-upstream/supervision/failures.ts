import type { Clock } from '../../../core/kernel/index.ts'
import { forPeople, type Trouble } from '../session/trouble.ts'

/** A request that has failed for good by what its server did, or did not do. What a tool says of itself is no failure. */
export interface Failure extends Trouble {
  /** `the tool "search"`. */
  readonly what: string
  /**
   * `broken`: it was answered with nothing, or with something that is no answer. `unreadable`: with one that cannot be taken.
   * `busy`: the server asks to be left alone for longer than there was time. `slow`: the time for it was over.
   */
  readonly kind: 'broken' | 'unreadable' | 'busy' | 'slow'
}

/** What failed, one after the other, at a server that answers otherwise. It is over when something succeeds. */
export interface Failures {
  /** Answers what notes it, once it is known that the server is there. It is not noted if something has succeeded since. */
  noting(failure: Failure): () => void
  /** A request has succeeded. */
  answered(): void
  last(): { readonly message: string; readonly at: number; readonly isStanding: true } | undefined
  /** Why it is to be started anew, where that may help and was not tried since something succeeded. */
  reasonToRenew(): Trouble | undefined
  /** It is started anew because of them. */
  renewing(): void
  /** A person has it started anew, whatever it was being started for. */
  restarted(): void
  /** The server was met anew: what failed before need not fail now. That it was started anew for that is told on. */
  clear(): void
}

export interface FailuresDeps {
  readonly clock: Clock
  /** Whose the connection is, unless it is for everybody. */
  readonly agent?: string | undefined
  note(text: string): void
}

/**
 * Whether it says something about the server as a whole. One that is slow is at work, one that is busy says so, and what cannot
 * be read would be answered just so again.
 */
const IS_SIGN = { broken: true, unreadable: false, busy: false, slow: false } as const satisfies Record<
  Failure['kind'],
  boolean
>

/** One tool may be broken, and one moment bad: so many have to fail, and over such a time, before all of it counts as broken. */
export const MOST_FAILED = 5
export const FAILING_MS = 30_000

interface Run {
  readonly count: number
  /** How many of them are signs, and when the first of these came. */
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
  /** What it was started anew for, until something succeeds or it is met for another reason. */
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
    // The others would tell the same.
    if (count === 0) note(textOf(run))
  }

  function textOf({ count, last: { what, ...trouble } }: Run): string {
    const again = isRenewed ? ', also after it was started anew' : ''
    const one = `${what} failed${whose}${again}`
    const several = `its last ${count} requests${whose} failed${again}, the last of them ${what}`
    return `It answers, but ${count === 1 ? one : several}: ${forPeople(trouble)}`
  }

  /** That it is there again says nothing: it was there before, too. */
  function renewedText({ count, last: { what, ...trouble } }: Run): string {
    const why = `because its last ${count} requests${whose} failed, the last of them ${what}`
    return `It was started anew ${why}, and none has succeeded since: ${forPeople(trouble)}`
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
      // On the way of every call.
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
      // Models of all agents may read it, and what was asked for may be in the words of one of them.
      return {
        reason: `It was started anew, for its last ${count} requests had failed: ${last.reason}`,
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
      // From now on: it is newer than its fall.
      renewed = isBeingRenewed && run ? { ...run, at: Math.round(clock.now()) } : undefined
      run = undefined
      isBeingRenewed = false
    },
  }
}
