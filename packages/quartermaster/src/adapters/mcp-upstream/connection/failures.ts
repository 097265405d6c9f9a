import type { Clock } from '../../../core/kernel/index.ts'
import { type ErrorReport, forPeople } from '../peer/channel.ts'

/** A request that failed because of its server. An error reported by a tool is none. */
export interface Failure extends ErrorReport {
  /** `the tool "search"`. */
  readonly what: string
  /**
   * `broken`: no valid answer. `unreadable`: an answer that cannot be read. `busy`: the server asks to be left alone
   * for longer than there was time. `slow`: a timeout.
   */
  readonly kind: 'broken' | 'unreadable' | 'busy' | 'slow'
}

/** Consecutive failures of a server that answers pings. A success ends them. */
interface Failures {
  /**
   * Answers a function that records the failure, to call once the server is known to be there. It records nothing if
   * a request has succeeded since.
   */
  recorder(failure: Failure): () => void
  onSuccess(): void
  last(): { readonly message: string; readonly at: number; readonly isStanding: true } | undefined
  /** Why to restart the server, where that may help and was not tried since the last success. */
  reasonToRestart(): ErrorReport | undefined
  onRestart(): void
  onManualRestart(): void
  /** Earlier failures need not recur. The reason for the restart stays visible. */
  onConnected(): void
}

interface FailuresDeps {
  readonly clock: Clock
  readonly agent?: string | undefined
  note(text: string): void
}

/**
 * Whether a failure says something about the whole server. A slow one is working, a busy one says so, and an
 * unreadable answer would be repeated.
 */
const CONCERNS_SERVER = { broken: true, unreadable: false, busy: false, slow: false } as const satisfies Record<
  Failure['kind'],
  boolean
>

/** One tool may be broken, or one moment bad: the server counts as broken after this many failures over this time. */
export const MOST_FAILED = 5
export const FAILING_MS = 30_000

interface Run {
  readonly count: number
  /** Failures that concern the whole server, and when the first came. */
  readonly serverFailures: number
  readonly since: number
  readonly last: Failure
  readonly at: number
}

export function createFailures({ clock, agent, note }: FailuresDeps): Failures {
  const whose = agent === undefined ? '' : ` for "${agent}"`
  let run: Run | undefined
  let successes = 0
  let wasRestarted = false
  /** Why the server was restarted, until a request succeeds or it reconnects for another reason. */
  let restartCause: Run | undefined
  let isRestarting = false

  function add(failure: Failure): void {
    const now = clock.now()
    const { count = 0, serverFailures = 0, since = now } = run ?? {}
    const isSign = CONCERNS_SERVER[failure.kind]
    run = {
      count: count + 1,
      serverFailures: serverFailures + (isSign ? 1 : 0),
      since: serverFailures > 0 ? since : now,
      last: failure,
      at: Math.round(now),
    }
    if (count === 0) note(textOf(run))
  }

  function textOf({ count, last: { what, ...trouble } }: Run): string {
    const again = wasRestarted ? ', also after a restart' : ''
    const one = `${what} failed${whose}${again}`
    const several = `its last ${count} requests${whose} failed${again}, the last of them ${what}`
    return `It answers, but ${count === 1 ? one : several}: ${forPeople(trouble)}`
  }

  /** A reconnect proves nothing: the server was reachable before, too. */
  function restartText({ count, last: { what, ...trouble } }: Run): string {
    const why = `because its last ${count} requests${whose} failed, the last of them ${what}`
    return `It was restarted ${why}, and none has succeeded since: ${forPeople(trouble)}`
  }

  function last(): ReturnType<Failures['last']> {
    if (run) return { message: textOf(run), at: run.at, isStanding: true }
    return restartCause && { message: restartText(restartCause), at: restartCause.at, isStanding: true }
  }

  return {
    recorder(failure) {
      const before = successes
      return () => {
        if (successes === before) add(failure)
      }
    },
    onSuccess() {
      successes++
      run = undefined
      restartCause = undefined
      wasRestarted = false
    },
    last,
    reasonToRestart() {
      const isEnough = run && run.serverFailures >= MOST_FAILED && clock.now() - run.since >= FAILING_MS
      if (!run || !isEnough || wasRestarted || !CONCERNS_SERVER[run.last.kind]) return undefined
      const { count, last } = run
      // Models of all agents may read this, and the name of the request may come from one of them.
      return {
        reason: `It was restarted because its last ${count} requests had failed: ${last.reason}`,
        said: last.said,
      }
    },
    onRestart() {
      wasRestarted = true
      isRestarting = true
    },
    onManualRestart() {
      isRestarting = false
    },
    onConnected() {
      // Newer than the crash, so that it is shown instead.
      restartCause = isRestarting && run ? { ...run, at: Math.round(clock.now()) } : undefined
      run = undefined
      isRestarting = false
    },
  }
}
