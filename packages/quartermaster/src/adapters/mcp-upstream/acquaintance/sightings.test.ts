import { expect, it } from 'vitest'
import { UpstreamConfig } from '../../../contracts/index.ts'
import { otherNamesIn } from '../../../core/upstreams/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { SendFailure } from '../session/channel.ts'
import { RpcError } from '../session/rpc-error.ts'
import { factsOf, listedSession } from '../testing/bare-session.ts'
import { untilAborted } from '../testing/until-aborted.ts'
import { createSightings } from './sightings.ts'

const FOREVER = new AbortController().signal

/** A server that is listed, as slowly as the test wants. */
function stage(tools = {}) {
  const clock = createFakeClock()
  const server = {
    lists: 0,
    isSlow: false,
    fails: undefined as Error | undefined,
    isWhole: true,
    listeningSince: clock.now() as number | undefined,
    /** While it answers somebody puts another one in its place. */
    isReplaced: false,
  }
  const listed = listedSession(async (_kind, _cursor, signal) => {
    server.lists++
    if (server.fails) throw server.fails
    if (server.isReplaced) current = { ...session }
    return server.isSlow ? untilAborted(signal) : { tools: [] }
  })
  const listeningSince = () => server.listeningSince
  const session = { ...listed, facts: factsOf({ capabilities: { tools } }), listeningSince }
  let current = session
  const written: string[] = []
  const taken: unknown[] = []
  const store = { fails: undefined as Error | undefined }
  const compared: string[] = []
  const notes: string[] = []
  const own = { session: () => session }
  const config = UpstreamConfig.parse({ command: 'server' })
  const sightings = createSightings({
    clock,
    verdicts: {
      async see() {
        if (store.fails) throw store.fails
        written.push('definitions')
        return false
      },
    },
    own: {
      async took(_session, { tools }) {
        taken.push(tools)
        return server.isWhole
      },
      async compare(_session, signal) {
        compared.push('definitions')
        if (server.isSlow) await untilAborted(signal)
        return true
      },
    },
    acquaintance: {
      era: () => undefined,
      turnedOut() {},
      isMet: () => false,
      since: () => 0,
      recall: async () => {},
      remember: () => void written.push('facts'),
    },
    config: () => config,
    main: () => ({ session: () => current, suspect: async () => {} }),
    connectionOf: agent => (agent === 'ada' ? own : undefined),
    otherTools: async () => otherNamesIn([]),
    note: text => void notes.push(text),
  })
  return { clock, server, session, sightings, written, taken, store, compared, notes }
}

it('lists a server every now and then, also after a listing that took too long', async () => {
  const { clock, server, session, sightings, notes } = stage()
  await sightings.take(session, FOREVER)
  await clock.advance(180_000)
  expect(server.lists).toBe(4)
  server.isSlow = true
  await clock.advance(120_000)
  expect(notes).toContain('What it has could not be listed again: It took too long.')
  server.isSlow = false
  const before = server.lists
  await clock.advance(3_600_000)
  expect(server.lists - before).toBeGreaterThan(30)
})

it.each([
  ['refuses', new RpcError({ code: -32_603, message: 'Busy.' })],
  ['breaks off', new SendFailure('HTTP 500', { wasSent: 'maybe' })],
])('holds it against a server that it %s to list again only when that lasts', async (_what, error) => {
  const { clock, server, session, sightings, taken, notes } = stage()
  await sightings.take(session, FOREVER)
  server.fails = error
  sightings.again()
  await clock.advance(1_000)
  expect(server.lists).toBeGreaterThan(1)
  server.fails = undefined
  await clock.advance(10_000)
  expect(notes).not.toEqual([])
  expect(taken.every(tools => Array.isArray(tools))).toBe(true)
  server.fails = error
  sightings.again()
  await clock.advance(120_000)
  expect(taken.at(-1)).toBeUndefined()
  server.fails = undefined
  await clock.advance(60_000)
  expect(taken.at(-1)).toEqual([])
})

it.each([true, false])(
  'finds out soon what has changed in one that tells of it and cannot list it for a moment (whole: %s)',
  async isWhole => {
    const { clock, server, session, sightings, taken } = stage({ listChanged: true })
    server.isWhole = isWhole
    await sightings.take(session, FOREVER)
    server.fails = new RpcError({ code: -32_603, message: 'Busy.' })
    sightings.again()
    await clock.advance(2_000)
    server.fails = undefined
    const before = server.lists
    await clock.advance(15_000)
    expect(server.lists).toBe(before + 1)
    expect(taken.at(-1)).toEqual([])
    // What is over is not counted with what comes later.
    await clock.advance(40_000)
    server.fails = new SendFailure('HTTP 500', { wasSent: 'maybe' })
    sightings.again()
    await clock.advance(2_000)
    expect(taken.at(-1)).toEqual([])
  },
)

it('writes nothing down of what one lists that another has taken the place of meanwhile', async () => {
  const { clock, server, session, sightings, written } = stage()
  await sightings.take(session, FOREVER)
  server.isReplaced = true
  sightings.again()
  await clock.advance(10_000)
  expect([server.lists, written]).toEqual([2, ['definitions', 'facts']])
})

it('holds nothing against a server whose list takes too long, or that is busy', async () => {
  const { clock, server, session, sightings, taken } = stage()
  await sightings.take(session, FOREVER)
  server.isSlow = true
  await clock.advance(600_000)
  server.isSlow = false
  server.fails = new SendFailure('HTTP 429', { wasSent: 'no', status: 429, retryAfterMs: 5_000 })
  await clock.advance(600_000)
  expect(taken).toEqual([[]])
})

it('goes on when what it found could not be written down', async () => {
  const { clock, server, session, sightings, store } = stage()
  await sightings.take(session, FOREVER)
  server.fails = new SendFailure('HTTP 500', { wasSent: 'maybe' })
  store.fails = new Error('The database is locked.')
  await clock.advance(180_000)
  const before = server.lists
  await clock.advance(180_000)
  expect(server.lists).toBeGreaterThan(before)
})

it('lists one that tells of changes every minute too, but for as long as it is heard without a break, and lists all', async () => {
  const { clock, server, session, sightings } = stage({ listChanged: true })
  const listsIn = async (minutes: number) => {
    const before = server.lists
    await clock.advance(minutes * 60_000 + 1_000)
    return server.lists - before
  }
  await sightings.take(session, FOREVER)
  expect([await listsIn(9), await listsIn(1)]).toEqual([0, 1])
  server.listeningSince = undefined
  expect(await listsIn(3)).toBe(3)
  server.listeningSince = clock.now()
  expect([await listsIn(1), await listsIn(8)]).toEqual([1, 0])
  server.isWhole = false
  sightings.again()
  expect(await listsIn(3)).toBe(4)
})

it('writes nothing more down of a server that is gone, and compares what is opened to finish with it', async () => {
  const { clock, server, session, sightings, written, compared } = stage()
  await sightings.take(session, FOREVER)
  expect(written).toEqual(['definitions', 'facts'])
  sightings.stop()
  sightings.again()
  await clock.advance(600_000)
  expect(server.lists).toBe(1)
  await sightings.take(session, FOREVER)
  expect(compared).toEqual(['definitions'])
  expect(written).toHaveLength(2)
})

it('does not write down either what was being listed when it went', async () => {
  const { sightings, session, written, server } = stage()
  const taking = sightings.take(session, FOREVER)
  sightings.stop()
  await taking
  expect(server.lists).toBe(1)
  expect(written).toEqual([])
})

it('looks together at what is told in quick succession on the connection of an agent, one look at a time', async () => {
  const { clock, server, sightings, compared, notes } = stage()
  const tell = () => {
    for (let notice = 0; notice < 1_000; notice++) sightings.compareAgain('ada')
  }
  tell()
  await clock.advance(100)
  expect(compared).toHaveLength(1)
  server.isSlow = true
  for (let moment = 0; moment < 10; moment++) {
    tell()
    await clock.advance(1_000)
  }
  expect(compared).toHaveLength(2)
  await clock.advance(60_000)
  expect(notes).toContain('[ada] What it has could not be listed again: It took too long.')
})

it('leaves alone an agent without a connection of its own, and everybody once it is stopped', async () => {
  const { clock, sightings, compared } = stage()
  sightings.compareAgain('bob')
  sightings.compareAgain('ada')
  sightings.stop()
  await clock.advance(60_000)
  expect(compared).toEqual([])
})
