import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { SendFailure } from '../peer/channel.ts'
import { createRequestAttribution } from '../peer/request-attribution.ts'
import type { Session } from '../peer/session.ts'
import { untilAborted } from '../testing/until-aborted.ts'
import { createHealthPing } from './health-ping.ts'

/** A server at work, whose ear the test opens and closes. */
function stage({ callMs = 30_000 } = {}) {
  const clock = createFakeClock()
  const server = {
    answers: true as boolean | Error,
    workingSince: clock.now() as number | undefined,
    givenMs: 0,
    heardAt: clock.now(),
    pings: 0,
    pids: [1] as readonly number[],
    onPing: async () => {},
  }
  const { asked, owedAt } = createRequestAttribution(clock)
  const session: Partial<Session> = {
    ended: new Promise(() => {}),
    pids: () => server.pids,
    workingSince: () => server.workingSince,
    givenMs: () => server.givenMs,
    isAtRest: () => server.workingSince === undefined,
    heardAt: () => server.heardAt,
    owedAt,
    async ping(signal) {
      server.pings++
      if (server.answers instanceof Error) throw server.answers
      if (!server.answers) await untilAborted(signal)
      await server.onPing()
      server.heardAt = clock.now()
    },
  }
  const hangs: { reason: string; afterMs: number }[] = []
  const begunAt = clock.now()
  const watch = createHealthPing({
    clock,
    callMs: () => callMs,
    current: () => (hangs.length === 0 ? (session as Session) : undefined),
    later: (ms, task) => void clock.after(ms, task),
    onHang: (_, { reason }) => void hangs.push({ reason, afterMs: clock.now() - begunAt }),
  })
  const attend = () => watch.attend(session as Session)
  /** Whatever `meanwhile` does happens while it is under suspicion. */
  async function suspect(ms: number, meanwhile = async () => {}): Promise<void> {
    const known = watch.suspect(session as Session)
    await meanwhile()
    await clock.advance(ms)
    await known
  }
  const attendNow = () => watch.attendNow(session as Session)
  return { clock, server, hangs, asked, attend, attendNow, suspect }
}

it('leaves a server alone that is slow at its work, and answers meanwhile', async () => {
  const { clock, server, hangs, attend } = stage()
  attend()
  await clock.advance(3_600_000)
  expect(hangs).toEqual([])
  expect(server.pings).toBeGreaterThan(100)
})

it('knows within seconds that a server hangs which has answered at work before', async () => {
  const { clock, server, hangs, attend } = stage()
  attend()
  await clock.advance(10_000)
  server.answers = false
  await clock.advance(10_000)
  const reason =
    'It runs, but did not answer while it was at work. If it works in one thread, give its calls time with "timeoutMs" in its entry.'
  expect(hangs).toEqual([{ reason, afterMs: 17_250 }])
})

it('leaves one that has answered at work the time that its owner has given to what is under way', async () => {
  const { clock, server, hangs, attend, attendNow } = stage()
  attend()
  await clock.advance(9_250)
  // What it does now keeps it from listening.
  Object.assign(server, { answers: false, givenMs: 60_000 })
  await clock.advance(4_000)
  // Others go to it all the same, and have their turn when it is done.
  expect(attendNow()).toBe(true)
  await clock.advance(55_999)
  expect(hangs).toEqual([])
  await clock.advance(1)
  expect(hangs).toMatchObject([{ reason: 'It runs, but does not answer any more.' }])
})

it('knows within seconds that it hangs when what was given time is over, or was given up', async () => {
  const { clock, server, hangs, attend } = stage()
  attend()
  await clock.advance(9_250)
  Object.assign(server, { answers: false, givenMs: 600_000 })
  await clock.advance(20_000)
  expect(hangs).toEqual([])
  server.givenMs = 0
  await clock.advance(10_000)
  expect(hangs).toHaveLength(1)
})

it('does not end one that may be at work on what was given up, and has nothing else to do', async () => {
  const { clock, server, hangs, attend } = stage()
  attend()
  await clock.advance(9_250)
  Object.assign(server, { answers: false, givenMs: 600_000 })
  await clock.advance(20_000)
  Object.assign(server, { workingSince: undefined, givenMs: 0 })
  await clock.advance(600_000)
  expect(hangs).toEqual([])
})

it('has calls wait that come while one is asked anew because the time of others is over', async () => {
  const { clock, server, hangs, attend, attendNow } = stage()
  attend()
  await clock.advance(9_250)
  Object.assign(server, { answers: false, givenMs: 600_000 })
  await clock.advance(20_000)
  expect(attendNow()).toBe(true)
  server.givenMs = 0
  await clock.advance(5_000)
  expect(attendNow()).toBe(false)
  await clock.advance(5_000)
  expect(hangs).toHaveLength(1)
})

it('does not end one over a call that runs out of its time while it is at work on what has more', async () => {
  const { clock, server, hangs, attend, suspect } = stage()
  attend()
  await clock.advance(9_250)
  Object.assign(server, { answers: false, givenMs: 60_000 })
  await suspect(55_000, async () => {
    await clock.advance(54_000)
    server.answers = true
    server.heardAt = clock.now()
  })
  expect(hangs).toEqual([])
})

it.each([
  [30_000, 30_000],
  [300_000, 300_000],
  [1_000, 8_000],
])(
  'has more patience with one never heard at work: of calls that take %i ms at most, %i ms',
  async (callMs, hangMs) => {
    const { clock, server, hangs, attend } = stage({ callMs })
    server.answers = false
    attend()
    await clock.advance(hangMs - 1)
    expect(hangs).toEqual([])
    await clock.advance(1)
    expect(hangs).toHaveLength(1)
  },
)

it('learns early in a call that a server listens while it works', async () => {
  const { clock, server, hangs, attend } = stage()
  attend()
  await clock.advance(250)
  expect(server.pings).toBe(1)
  server.answers = false
  await clock.advance(8_000)
  expect(hangs).toMatchObject([{ afterMs: 8_250 }])
})

it('takes whatever it hears for a sign of life', async () => {
  const { clock, server, hangs, attend } = stage()
  server.answers = false
  attend()
  for (let second = 0; second < 60; second++) {
    await clock.advance(1_000)
    server.heardAt = clock.now()
  }
  expect(hangs).toEqual([])
  expect(server.pings).toBe(1)
})

it('does not believe that one answers at work which answers in turn', async () => {
  const { clock, server, hangs, attend } = stage()
  server.onPing = async () => {
    await new Promise<void>(resolve => void clock.after(2_000, resolve))
    // What it was at work at is done, and the next has come meanwhile.
    server.workingSince = clock.now()
  }
  attend()
  await clock.advance(5_000)
  expect(server.pings).toBe(1)
  server.answers = false
  await clock.advance(27_000)
  expect(hangs).toEqual([])
})

it('asks nothing of a server that has nothing to do, and again when it has', async () => {
  const { clock, server, attend } = stage()
  server.workingSince = undefined
  attend()
  await clock.advance(60_000)
  expect(server.pings).toBe(0)
  server.workingSince = clock.now()
  attend()
  await clock.advance(3_000)
  expect(server.pings).toBe(1)
})

it.each([
  ['that got lost', new SendFailure('It was reset.', { wasSent: 'maybe' })],
  ['that comes too often', new SendFailure('It is busy.', { wasSent: 'no', status: 429, retryAfterMs: 1_000 })],
])('ends no work because of a question %s', async (_, failure) => {
  const { clock, server, hangs, attend } = stage()
  server.answers = failure
  attend()
  await clock.advance(60_000)
  expect(hangs).toEqual([])
})

it('knows soon of one under suspicion that has nothing to do', async () => {
  const { server, hangs, suspect } = stage()
  server.workingSince = undefined
  server.answers = false
  await suspect(5_000)
  expect(hangs).toHaveLength(1)
})

it.each([
  new SendFailure('It was reset.', { wasSent: 'maybe' }),
  // A proxy's word, before a server that is gone.
  new SendFailure('It says 503.', { wasSent: 'maybe', status: 503, retryAfterMs: 1_000 }),
])('knows of one under suspicion that the way to it is broken: %s', async failure => {
  const { server, hangs, suspect } = stage()
  server.answers = failure
  await suspect(250)
  expect(hangs).toMatchObject([{ reason: 'The connection to it is broken.' }])
})

it('does not take one for hanging that waits for an answer of ours, and counts from that answer on', async () => {
  const { clock, server, hangs, asked, attend } = stage()
  attend()
  await clock.advance(10_000)
  // It does one thing at a time, and listens for nothing else meanwhile.
  const answer = asked()
  server.answers = false
  await clock.advance(600_000)
  expect(hangs).toEqual([])
  answer()
  await clock.advance(7_999)
  expect(hangs).toEqual([])
  await clock.advance(3_000)
  expect(hangs).toHaveLength(1)
})

it('does not end one under suspicion either that waits for an answer of ours', async () => {
  const { server, hangs, asked, suspect } = stage()
  asked()
  server.answers = false
  await suspect(60_000)
  expect(hangs).toEqual([])
})

it('does not hold against one that it asked us while it was asked', async () => {
  const { clock, server, hangs, asked, suspect } = stage()
  server.workingSince = undefined
  server.answers = false
  await suspect(3_000, async () => {
    await clock.advance(2_000)
    asked()()
  })
  expect(hangs).toEqual([])
})

it('has calls wait while it is found out whether a program hangs, and no longer', async () => {
  const { clock, server, attend, attendNow, suspect } = stage()
  attend()
  await clock.advance(10)
  server.workingSince = undefined
  server.answers = false
  await suspect(4_000, async () => {
    expect(attendNow()).toBe(false)
    server.heardAt = clock.now() + 1
    await clock.advance(1_000)
  })
  expect(attendNow()).toBe(true)
})

it('has calls wait too where one that listens while it works is asked why it is silent', async () => {
  const { clock, server, attend, attendNow } = stage()
  attend()
  await clock.advance(500)
  server.answers = false
  await clock.advance(2_000)
  expect(attendNow()).toBe(true)
  await clock.advance(1_000)
  expect(attendNow()).toBe(false)
})

it('has calls wait until the last of several questions is settled', async () => {
  const { clock, server, hangs, attend, attendNow, suspect } = stage()
  attend()
  await clock.advance(500)
  server.answers = false
  await suspect(4_500, async () => {
    await clock.advance(500)
    // That settles the first; the next is asked when it has been silent again for a while.
    server.heardAt = clock.now()
  })
  expect(hangs).toEqual([])
  expect(attendNow()).toBe(false)
  await clock.advance(3_500)
  expect(hangs).toHaveLength(1)
})

it.each([
  ['may be deaf at its work', {}, false],
  ['waits for an answer of ours', { workingSince: undefined }, true],
  ['is far away', { workingSince: undefined, pids: [] }, false],
])('has no call wait for what is found out of one that %s', async (_, state, isOwed) => {
  const { clock, server, asked, attend, attendNow, suspect } = stage()
  attend()
  await clock.advance(10)
  Object.assign(server, { answers: false, ...state })
  if (isOwed) asked()
  await suspect(30_000, async () => expect(attendNow()).toBe(true))
})
