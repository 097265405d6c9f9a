import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
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
  const { questionOpened, answerOwedAt } = createRequestAttribution(clock)
  const session: Partial<Session> = {
    ended: new Promise(() => {}),
    pids: () => server.pids,
    busySince: () => server.workingSince,
    ownerTimeoutMs: () => server.givenMs,
    isIdle: () => server.workingSince === undefined,
    lastHeardAt: () => server.heardAt,
    answerOwedAt,
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
  const attend = () => watch.watchBusy(session as Session)
  /** Whatever `meanwhile` does happens while it is under suspicion. */
  async function suspect(ms: number, meanwhile = async () => {}): Promise<void> {
    const known = watch.verifyAlive(session as Session)
    await meanwhile()
    await clock.advance(ms)
    await known
  }
  const attendNow = () => watch.tryWatchBusy(session as Session)
  return { clock, server, hangs, asked: questionOpened, attend, attendNow, suspect }
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
it.each([
  [30_000, 30_000],
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
it('knows soon of one under suspicion that has nothing to do', async () => {
  const { server, hangs, suspect } = stage()
  server.workingSince = undefined
  server.answers = false
  await suspect(5_000)
  expect(hangs).toHaveLength(1)
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
