import type { CallContext } from '../../../core/catalogue/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { type Connection, createSlowStart } from '../connection/connection.ts'
import type { Failure } from '../connection/failures.ts'
import { sendWithRetry } from '../connection/send-with-retry.ts'
import type { Session } from '../peer/session.ts'

/** A connection that always has a session, and a server whose answers are written down beforehand. */
export function stage(...answers: unknown[]) {
  const clock = createFakeClock()
  const controller = new AbortController()
  const seen = {
    tries: [] as number[],
    suspected: 0,
    budgets: [] as number[],
    sessions: [] as Session[],
    noted: 0,
    failures: [] as Failure[],
  }
  const session = {} as Session
  const startedAt = clock.now()
  /** What it has to take, where that is not the one above. */
  const ways: Connection[] = []
  let suspecting: Promise<void> = Promise.resolve()
  let isSame = false
  let isAtHand = false
  const connection: Pick<
    Connection,
    | 'errorScope'
    | 'slowStart'
    | 'takeNow'
    | 'take'
    | 'verifyAlive'
    | 'session'
    | 'noteRejected'
    | 'noteFailure'
    | 'noteSuccess'
  > = {
    errorScope: { upstream: 's', agent: 'eve' },
    slowStart: createSlowStart(),
    noteRejected: () => void seen.noted++,
    noteFailure: async (_, failure) => void seen.failures.push(failure),
    noteSuccess() {},
    takeNow: () => (isAtHand ? session : undefined),
    session: () => (isSame ? session : undefined),
    async take({ budgetMs }) {
      seen.budgets.push(budgetMs)
      return session
    },
    verifyAlive() {
      seen.suspected++
      return suspecting
    },
  }

  async function work(given: Session, signal: AbortSignal): Promise<unknown> {
    seen.sessions.push(given)
    seen.tries.push(clock.now() - startedAt)
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    if (answer === 'hang')
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    if (typeof answer === 'number') {
      await new Promise<void>(resolve => void clock.after(answer, resolve))
      throw answers.shift()
    }
    if (answer === 'done in a second') await new Promise<void>(resolve => void clock.after(1_000, resolve))
    if (answer instanceof Error) throw answer
    return answer
  }

  function send({
    mayRepeat = false,
    mutates = false,
    budgetMs = 10_000,
    isCall = false,
    hasAsked = (): boolean => false,
    current = () => ways.at(0) ?? (connection as Connection),
    // A server that may end before the others has its own.
    signal = controller.signal,
  } = {}): Promise<unknown> {
    const subject = { upstream: 's', what: 'the tool "t"' }
    const options = {
      ...subject,
      connection: current,
      clock,
      budgetMs,
      mayRepeat,
      mutates,
      hasAsked,
      call: isCall ? ({} as CallContext) : undefined,
    }
    const sent = sendWithRetry({ ...options, signal }, given => work(given, signal))
    // A caller that waits for its retry checks it only later.
    sent.catch(() => {})
    return sent
  }

  const neverKnown = () => {
    suspecting = new Promise(() => {})
  }
  const staysUp = () => {
    isSame = true
  }
  /** No call has to wait for its session. */
  const hasAtHand = () => {
    isAtHand = true
  }
  return { clock, send, seen, controller, neverKnown, staysUp, hasAtHand, ways, connection: connection as Connection }
}
