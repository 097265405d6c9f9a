import { expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import type { CallContext } from '../../../core/catalogue/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { SendFailure } from '../session/channel.ts'
import { RpcError } from '../session/rpc-error.ts'
import type { Session } from '../session/session.ts'
import { UnreadableAnswer } from '../session/unreadable-answer.ts'
import type { Connection } from './connection.ts'
import { pass } from './passage.ts'

const NEVER_SENT = new SendFailure('It exited.', { wasSent: 'no' })
const MAYBE_SENT = new SendFailure('It exited.', { wasSent: 'maybe' })
const come = (retryAfterMs: number) =>
  new SendFailure('It is busy.', { wasSent: 'no', status: 429, retryAfterMs }) as unknown

/** A connection that always has a session, and a server whose answers are written down beforehand. */
function stage(...answers: unknown[]) {
  const clock = createFakeClock()
  const controller = new AbortController()
  const seen = { tries: [] as number[], suspected: 0, budgets: [] as number[], sessions: [] as Session[], noted: 0 }
  const session = {} as Session
  const startedAt = clock.now()
  /** What it has to take, where that is not the one above. */
  const ways: Connection[] = []
  let suspecting: Promise<void> = Promise.resolve()
  let isSame = false
  const connection: Pick<
    Connection,
    'concerned' | 'takeNow' | 'take' | 'suspect' | 'session' | 'refused' | 'answered'
  > = {
    concerned: { upstream: 's', agent: 'eve' },
    refused: () => void seen.noted++,
    answered() {},
    takeNow: () => undefined,
    session: () => (isSame ? session : undefined),
    async take({ budgetMs }) {
      seen.budgets.push(budgetMs)
      return session
    },
    suspect() {
      seen.suspected++
      return suspecting
    },
  }

  async function work(given: Session): Promise<unknown> {
    seen.sessions.push(given)
    seen.tries.push(clock.now() - startedAt)
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    if (answer === 'hang')
      await new Promise((_, reject) =>
        controller.signal.addEventListener('abort', () => reject(controller.signal.reason)),
      )
    if (typeof answer === 'number') {
      await new Promise<void>(resolve => void clock.after(answer, resolve))
      throw answers.shift()
    }
    if (answer instanceof Error) throw answer
    return answer
  }

  function send({
    mayRepeat = false,
    mutates = false,
    budgetMs = 10_000,
    isCall = false,
    current = () => ways.at(0) ?? (connection as Connection),
  } = {}): Promise<unknown> {
    const subject = { upstream: 's', what: 'the tool "t"' }
    const options = {
      ...subject,
      connection: current,
      clock,
      budgetMs,
      mayRepeat,
      mutates,
      call: isCall ? ({} as CallContext) : undefined,
    }
    const sent = pass({ ...options, signal: controller.signal }, work)
    // Whoever waits for time to pass looks at it only later.
    sent.catch(() => {})
    return sent
  }

  const neverKnown = () => {
    suspecting = new Promise(() => {})
  }
  const staysUp = () => {
    isSame = true
  }
  return { clock, send, seen, controller, neverKnown, staysUp, ways }
}

it.each([
  [
    new SendFailure('The server answered with HTTP 502.', { wasSent: 'maybe', status: 502 }),
    '"s" did not say how the tool "t" ended: The server answered with HTTP 502. ',
  ],
  [MAYBE_SENT, 'The connection to "s" broke while the tool "t" was at work: It exited. '],
])('says what kept an end from being known: %s', async (failure, happened) => {
  const message = `${happened}It may have done its work. Look before you call it again.`
  const { send } = stage(failure)
  await expect(send()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', message })
})

it('sends again what was never sent, whatever it does', async () => {
  const { send, seen } = stage(NEVER_SENT, NEVER_SENT, 'done')
  expect(await send()).toBe('done')
  expect(seen).toMatchObject({ tries: [0, 0, 0], suspected: 2 })
})

it('sends again what may have been sent, if sending it twice is the same as once', async () => {
  const { send, seen } = stage(MAYBE_SENT, 'done')
  expect(await send({ mayRepeat: true })).toBe('done')
  expect(seen.tries).toHaveLength(2)
})

it('sends nothing else again that may have been sent: its outcome is unknown', async () => {
  const { send, seen } = stage(MAYBE_SENT, 'done')
  await expect(send()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { upstream: 's' } })
  expect(seen.tries).toHaveLength(1)
})

it.each([
  [
    { mayRepeat: true, mutates: false },
    { code: 'DEPENDENCY_UNAVAILABLE', details: { upstream: 's' } },
  ],
  [{ mayRepeat: true, mutates: true }, { code: 'OUTCOME_UNKNOWN' }],
  [{ mayRepeat: false, mutates: true }, { code: 'OUTCOME_UNKNOWN' }],
])('sends nothing again that would fail again, whatever it does: %j', async (facts, error) => {
  const failure = new SendFailure('It could not be given the answer.', { wasSent: 'maybe', isFinal: true })
  const { send, seen } = stage(failure, 'done')
  await expect(send(facts)).rejects.toMatchObject(error)
  expect(seen.tries).toHaveLength(1)
})

it('has a server suspected whose exchange broke, and says that the outcome is unknown without waiting for what is found', async () => {
  const { send, seen, neverKnown } = stage(MAYBE_SENT)
  neverKnown()
  await expect(send()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  expect(seen.suspected).toBe(1)
})

it('knows no outcome either when the second attempt may have been sent and the first was not', async () => {
  const { send, seen } = stage(NEVER_SENT, MAYBE_SENT, 'done')
  await expect(send()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  expect(seen.tries).toHaveLength(2)
})

it('waits as long as a busy server asks, and suspects nothing', async () => {
  const { send, seen, clock } = stage(come(3_000), 'done')
  const sent = send()
  await clock.advance(2_999)
  expect(seen.tries).toEqual([0])
  await clock.advance(1)
  expect(await sent).toBe('done')
  expect(seen).toMatchObject({ tries: [0, 3_000], suspected: 0 })
})

it('gives up at once when a busy server asks for more time than there is, and says how long it asked for', async () => {
  const { send, seen } = stage(come(60_000), 'done')
  await expect(send()).rejects.toMatchObject({
    code: 'DEPENDENCY_UNAVAILABLE',
    details: { upstream: 's', agent: 'eve', retryAfterMs: 60_000 },
  })
  expect(seen.tries).toEqual([0])
})

it('adds up the pauses a server asks for, and gives up when they are more than the budget', async () => {
  const { send, seen, clock } = stage(come(4_000))
  const sent = send()
  await clock.advance(10_000)
  await expect(sent).rejects.toMatchObject({ details: { retryAfterMs: 4_000 } })
  expect(seen.tries).toEqual([0, 4_000, 8_000])
})

it('tries five times, and no more, however fast they fail', async () => {
  const { send, seen } = stage(NEVER_SENT)
  await expect(send()).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
  expect(seen.tries).toHaveLength(5)
})

it.each([
  ['no', 'DEPENDENCY_UNAVAILABLE'],
  ['turnedAway', 'UPSTREAM_ERROR'],
] as const)(
  'sends what a server has turned away in a new session too no third time, whether it is sure that it was not seen: %s',
  async (wasSent, code) => {
    const lost = new SendFailure('The server answered with HTTP 404.', { wasSent, status: 404 })
    const { send, seen } = stage(lost, NEVER_SENT, lost, 'done')
    // Whoever says so is there, whatever it is that it cannot do.
    await expect(send({ mayRepeat: true })).rejects.toMatchObject({ code, details: { upstream: 's' } })
    expect(seen.tries).toHaveLength(3)
  },
)

it.each([400, 404])(
  'knows nothing of what changes something and ends every session that it is sent in, if it is the one that does: %i',
  async status => {
    const lost = new SendFailure('The server has forgotten the session.', { wasSent: 'no', status })
    const { send, seen } = stage(lost, NEVER_SENT, lost, 'done')
    await expect(send({ mutates: true })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(seen.tries).toHaveLength(3)
  },
)

it('sends nothing again that a server turns away while it answers everything else', async () => {
  const { send, seen, staysUp } = stage(new SendFailure('Sign in.', { wasSent: 'turnedAway', status: 401 }), 'done')
  staysUp()
  await expect(send({ mayRepeat: true })).rejects.toMatchObject({ code: 'UPSTREAM_ERROR', details: { status: 401 } })
  expect(seen).toMatchObject({ tries: [0], suspected: 1 })
})

it.each([
  [{ mayRepeat: false, mutates: true }, 'OUTCOME_UNKNOWN', 1],
  [{ mayRepeat: true, mutates: true }, 'OUTCOME_UNKNOWN', 2],
  [{ mayRepeat: true, mutates: false }, 'UPSTREAM_ERROR', 2],
])(
  'sends nothing again after a 404 by which nobody knows whether it was done, unless it may be repeated: %o',
  async (facts, code, tries) => {
    const { send, seen } = stage(new SendFailure('HTTP 404.', { wasSent: 'turnedAway', status: 404 }))
    await expect(send(facts)).rejects.toMatchObject({ code, message: expect.stringContaining('HTTP 404.') })
    expect(seen.tries).toHaveLength(tries)
  },
)

it.each([
  [404, { isCall: true }, 1],
  [404, { isCall: false }, 0],
  [403, { isCall: false }, 1],
])(
  'has people told of a %i, unless it is about a resource or a prompt that is not there: %o',
  async (status, facts, noted) => {
    for (const wasSent of ['turnedAway', 'refused'] as const) {
      const { send, seen, staysUp } = stage(new SendFailure('No.', { wasSent, status }))
      staysUp()
      await expect(send({ ...facts, mayRepeat: true })).rejects.toMatchObject({ code: 'UPSTREAM_ERROR' })
      expect(seen.noted).toBe(noted)
    }
  },
)

it('tries on when nobody knows whether it was taken in, if sending it twice is the same as once', async () => {
  const broken = new SendFailure('The server answered with HTTP 502.', { wasSent: 'maybe', status: 502 })
  const { send, seen } = stage(broken, broken, broken, broken, 'done')
  expect(await send({ mayRepeat: true })).toBe('done')
  expect(seen.tries).toHaveLength(5)
})

it('has less time for each attempt, and none without a budget', async () => {
  const { send, seen, clock } = stage(come(4_000), 'done')
  const sent = send()
  await clock.advance(4_000)
  await sent
  expect(seen.budgets).toEqual([10_000, 6_000])
  await send({ budgetMs: 0 })
  expect(seen.budgets.at(-1)).toBe(0)
})

it('has all its time to wait also when the server falls after it has been at work for long', async () => {
  const { send, seen, clock } = stage(20_000, MAYBE_SENT, 'done')
  const sent = send({ mayRepeat: true })
  await clock.advance(20_000)
  expect(await sent).toBe('done')
  expect(seen.budgets).toEqual([10_000, 10_000])
})

it('ends at once when it is cancelled while it waits for a busy server', async () => {
  const { send, seen, clock, controller } = stage(come(3_000), 'done')
  const sent = send()
  await clock.advance(1_000)
  const reason = new AppError('CANCELLED', 'The caller gave up.')
  controller.abort(reason)
  await expect(sent).rejects.toBe(reason)
  await clock.advance(10_000)
  expect(seen.tries).toHaveLength(1)
})

it('ends at once when it is cancelled while it is found out whether the server hangs', async () => {
  const { send, clock, controller, neverKnown } = stage(NEVER_SENT, 'done')
  neverKnown()
  const sent = send()
  await clock.advance(10)
  const reason = new AppError('CANCELLED', 'The caller gave up.')
  controller.abort(reason)
  await expect(sent).rejects.toBe(reason)
})

it('waits no longer than its budget until it is known whether the server hangs', async () => {
  const { send, seen, clock, neverKnown } = stage(NEVER_SENT, 'done')
  neverKnown()
  const sent = send({ budgetMs: 2_000 })
  await clock.advance(2_000)
  expect(await sent).toBe('done')
  expect(seen.budgets).toEqual([2_000, 0])
})

it('has a server suspected of hanging by a call that ran out of its time, and not by one that was cancelled', async () => {
  for (const [code, suspected] of [['DEADLINE_EXCEEDED', 1] as const, ['CANCELLED', 0] as const]) {
    const { send, seen, controller, clock } = stage('hang')
    const sent = send({ mayRepeat: true })
    await clock.advance(0)
    controller.abort(new AppError(code, 'It is over.'))
    await expect(sent).rejects.toMatchObject({ code })
    expect(seen.suspected).toBe(suspected)
  }
})

it('sends nothing again that was turned down, and has the server looked at', async () => {
  for (const mayRepeat of [true, false]) {
    const { send, seen, neverKnown } = stage(new SendFailure('It says 403.', { wasSent: 'refused', status: 403 }))
    neverKnown()
    await expect(send({ mayRepeat })).rejects.toMatchObject({
      code: 'UPSTREAM_ERROR',
      message: 'The tool "t" of "s" was refused: It says 403.',
      details: { upstream: 's' },
    })
    expect(seen).toMatchObject({ tries: [0], suspected: 1 })
  }
})

it('waits for a busy server also when it may have begun, if sending it twice is the same as once', async () => {
  const busy = new SendFailure('It says 503.', { wasSent: 'maybe', status: 503, retryAfterMs: 1_000 })
  const { send, seen, clock } = stage(busy, 'done')
  const sent = send({ mayRepeat: true })
  await clock.advance(1_000)
  expect(await sent).toBe('done')
  expect(seen.tries).toEqual([0, 1_000])
})

it('passes on what the server says, and sends nothing again that it has refused', async () => {
  const { send, seen } = stage(new RpcError({ code: -32_602, message: 'No such thing' }))
  await expect(send({ mayRepeat: true })).rejects.toMatchObject({
    code: 'UPSTREAM_ERROR',
    message: 'The tool "t" of "s" answered with an error: No such thing.',
    details: { code: -32_602 },
  })
  expect(seen).toMatchObject({ tries: [0], suspected: 0 })
})

it.each([
  [{ mutates: true }, 'OUTCOME_UNKNOWN', ' It may have done its work. Look before you call it again.'],
  [{ mutates: true, mayRepeat: true }, 'OUTCOME_UNKNOWN', ' It may have done its work. Look before you call it again.'],
  [{ mayRepeat: true }, 'OUTPUT_INVALID', ''],
])('sends nothing again whose answer nobody can read: %o is %s', async (facts, code, end) => {
  const { send, seen } = stage(new UnreadableAnswer('It is no result.'))
  const message = `The tool "t" of "s" answered, and its answer is not taken: It is no result.${end}`
  await expect(send(facts)).rejects.toMatchObject({ code, message, details: { upstream: 's' } })
  expect(seen).toMatchObject({ tries: [0], suspected: 0 })
})

it.each([
  ['every try', [MAYBE_SENT]],
  ['the first try alone', [MAYBE_SENT, NEVER_SENT]],
])(
  'knows nothing of what may be repeated and changes something, when a server may have seen %s',
  async (_, answers) => {
    const { send, seen } = stage(...answers)
    await expect(send({ mayRepeat: true, mutates: true })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(seen.tries).toHaveLength(5)
  },
)

it('knows that nothing was done where no try was ever sent', async () => {
  const { send } = stage(NEVER_SENT)
  const sent = send({ mayRepeat: true, mutates: true })
  await expect(sent).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
})

it.each([true, false])(
  'knows that it may be done also where there is no place for the next try: %s',
  async mayRepeat => {
    const { send } = stage(MAYBE_SENT)
    let isFull = false
    const taken = { takeNow: () => ({}) as Session, suspect: async () => {} } as unknown as Connection
    const current = () => {
      if (isFull) throw new AppError('RATE_LIMITED', '64 agents use it already.')
      isFull = true
      return taken
    }
    await expect(send({ mutates: true, mayRepeat, current })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  },
)

it('leaves a connection that is not for its agent any more once it is up, and takes the other', async () => {
  const { send, seen, ways } = stage('done')
  const [ownSession, sharedSession] = [{} as Session, {} as Session]
  const own = { takeNow: () => ownSession, take: async () => ownSession, answered() {} } as unknown as Connection
  const shared = {
    takeNow: () => undefined,
    async take() {
      ways.splice(0, 1, own)
      return sharedSession
    },
  } as unknown as Connection
  ways.push(shared)
  expect(await send()).toBe('done')
  expect(seen.sessions).toHaveLength(1)
  expect(seen.sessions[0]).toBe(ownSession)
})

it('leaves a connection that is given up while it waits for it, and takes the one that there is now', async () => {
  const { send, seen, ways } = stage('done')
  const over = new AppError('DEPENDENCY_UNAVAILABLE', '"upstream:s" cannot be reached: It was stopped.')
  const sharedSession = {} as Session
  const shared = {
    takeNow: () => sharedSession,
    take: async () => sharedSession,
    answered() {},
  } as unknown as Connection
  const own = {
    takeNow: () => undefined,
    async take() {
      ways.splice(0, 1, shared)
      throw over
    },
  } as unknown as Connection
  ways.push(own)
  expect(await send()).toBe('done')
  expect(seen.sessions).toEqual([sharedSession])
  ways.splice(0, 1, { takeNow: () => undefined, take: () => Promise.reject(over) } as unknown as Connection)
  await expect(send()).rejects.toBe(over)
})

it('has all its time again for another connection than the one that it waited for', async () => {
  const { clock, send, ways } = stage('done')
  const budgets: number[] = []
  const next = {
    takeNow: () => undefined,
    async take({ budgetMs }: { budgetMs: number }) {
      budgets.push(budgetMs)
      return {} as Session
    },
    answered() {},
  } as unknown as Connection
  const first = {
    takeNow: () => undefined,
    async take() {
      await new Promise<void>(resolve => void clock.after(12_000, resolve))
      ways.splice(0, 1, next)
      throw new AppError('DEPENDENCY_UNAVAILABLE', 'Its entry was changed.')
    },
  } as unknown as Connection
  ways.push(first)
  const sent = send()
  await clock.advance(12_000)
  expect(await sent).toBe('done')
  expect(budgets).toEqual([10_000])
})

it('knows nothing of what may have been done before it was refused', async () => {
  const refused = new SendFailure('HTTP 403.', { wasSent: 'refused', status: 403 })
  const { send } = stage(MAYBE_SENT, refused)
  await expect(send({ mayRepeat: true, mutates: true })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
})
