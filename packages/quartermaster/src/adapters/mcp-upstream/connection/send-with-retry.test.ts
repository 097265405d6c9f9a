import { expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { whileAdvancing } from '../../../testing/fake-clock.ts'
import { RpcError, SendFailure, UnreadableAnswer } from '../peer/channel.ts'
import { stage } from '../testing/retry-fixture.ts'

const NEVER_SENT = new SendFailure('It exited.', { wasSent: 'no' })
const MAYBE_SENT = new SendFailure('It exited.', { wasSent: 'maybe' })
const come = (retryAfterMs: number) =>
  new SendFailure('It is busy.', { wasSent: 'no', status: 429, retryAfterMs }) as unknown

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
it('sends nothing again that a server turns away while it answers everything else', async () => {
  const { send, seen, staysUp } = stage(new SendFailure('Sign in.', { wasSent: 'turnedAway', status: 401 }), 'done')
  staysUp()
  await expect(send({ mayRepeat: true })).rejects.toMatchObject({ code: 'UPSTREAM_ERROR', details: { status: 401 } })
  expect(seen).toMatchObject({ tries: [0], suspected: 1 })
})

it.each([
  [{ mayRepeat: false, mutates: true }, 'OUTCOME_UNKNOWN', 1],
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
it('has all its time to wait also when the server falls after it has been at work for long', async () => {
  const { send, seen, clock } = stage(20_000, MAYBE_SENT, 'done')
  const sent = send({ mayRepeat: true })
  await clock.advance(20_000)
  expect(await sent).toBe('done')
  expect(seen.budgets).toEqual([10_000, 10_000])
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
  [{ mayRepeat: true }, 'OUTPUT_INVALID', ''],
])('sends nothing again whose answer nobody can read: %o is %s', async (facts, code, end) => {
  const { send, seen } = stage(new UnreadableAnswer('It is no result.'))
  const message = `The tool "t" of "s" answered, and its answer is not taken: It is no result.${end}`
  await expect(send(facts)).rejects.toMatchObject({ code, message, details: { upstream: 's' } })
  expect(seen).toMatchObject({ tries: [0], suspected: 0 })
})

it('sends what was at work whenever the connection broke no fourth time, and says that it is this one', async () => {
  const { send, seen } = stage(MAYBE_SENT)
  const message =
    'The tool "t" of "s" is not sent again, because the connection broke 3 times at work on it: It exited.'
  await expect(send({ mayRepeat: true })).rejects.toMatchObject({
    code: 'UPSTREAM_ERROR',
    message,
    details: { upstream: 's' },
  })
  expect(seen.tries).toHaveLength(3)
  // What may be done all the same is not tried again by anybody either.
  await expect(send({ mayRepeat: true, mutates: true })).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    message: `${message} It may have done its work. Look before you call it again.`,
    details: { upstream: 's', because: 'UPSTREAM_ERROR' },
  })
})
it('answers all that were only there when the connection broke, however many they are and however little time there is to wait', async () => {
  const amount = 16
  const breaks = Array.from({ length: 2 * amount }, () => MAYBE_SENT)
  const { send, seen, clock } = stage(...breaks, 'done in a second')
  const sent = Promise.all(Array.from({ length: amount }, () => send({ mayRepeat: true, budgetMs: 2_000 })))
  expect(await whileAdvancing(clock, sent, 50)).toHaveLength(amount)
  // Alone at first, and then twice as many with every answer.
  const begun = seen.tries.slice(2 * amount).map(at => Math.floor(at / 1_000))
  expect([0, 1, 2, 3].map(second => begun.filter(at => at === second).length)).toEqual([1, 2, 8, 5])
})

it('blames the one that was alone when the connection broke once more, and answers the others', async () => {
  const breaks = Array.from({ length: 7 }, () => MAYBE_SENT)
  const { send } = stage(...breaks, 'done')
  const ends = await Promise.allSettled([1, 2, 3].map(() => send({ mayRepeat: true })))
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
})

it.each([
  ['every try', [MAYBE_SENT], 3],
  ['the first try alone', [MAYBE_SENT, NEVER_SENT], 5],
])(
  'knows nothing of what may be repeated and changes something, when a server may have seen %s',
  async (_, answers, tries) => {
    const { send, seen } = stage(...answers)
    await expect(send({ mayRepeat: true, mutates: true })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(seen.tries).toHaveLength(tries)
  },
)

it('knows that nothing was done where no try was ever sent', async () => {
  const { send } = stage(NEVER_SENT)
  const sent = send({ mayRepeat: true, mutates: true })
  await expect(sent).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
})
it('leaves a server alone for ever longer that is there and fails at it, and sends it again at once the first time', async () => {
  const { send, seen, staysUp, clock } = stage(new SendFailure('HTTP 502.', { status: 502, wasSent: 'maybe' }))
  staysUp()
  await expect(whileAdvancing(clock, send({ mayRepeat: true }), 50)).rejects.toMatchObject({
    code: 'DEPENDENCY_UNAVAILABLE',
  })
  expect(seen.tries).toEqual([0, 0, 100, 500, 1_500])
})
