import { describe, expect, it } from 'vitest'
import { RpcError, SendFailure } from '../peer/channel.ts'
import { listingStage as stage } from '../testing/listing-fixture.ts'

const FOREVER = new AbortController().signal

it('lists a server every now and then, also after a listing that took too long', async () => {
  const { clock, server, session, lister, notes } = stage()
  await lister.take(session, FOREVER)
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
  const { clock, server, session, lister, taken, notes } = stage()
  await lister.take(session, FOREVER)
  server.fails = error
  lister.relistSoon()
  await clock.advance(1_000)
  expect(server.lists).toBeGreaterThan(1)
  server.fails = undefined
  await clock.advance(10_000)
  expect(notes).not.toEqual([])
  expect(taken.every(tools => Array.isArray(tools))).toBe(true)
  server.fails = error
  lister.relistSoon()
  await clock.advance(120_000)
  expect(taken.at(-1)).toBeUndefined()
  server.fails = undefined
  await clock.advance(60_000)
  expect(taken.at(-1)).toEqual([])
})

it.each([true, false])(
  'finds out soon what has changed in one that tells of it and cannot list it for a moment (whole: %s)',
  async isWhole => {
    const { clock, server, session, lister, taken } = stage({ listChanged: true })
    server.isWhole = isWhole
    await lister.take(session, FOREVER)
    server.fails = new RpcError({ code: -32_603, message: 'Busy.' })
    lister.relistSoon()
    await clock.advance(2_000)
    server.fails = undefined
    const before = server.lists
    await clock.advance(15_000)
    expect(server.lists).toBe(before + 1)
    expect(taken.at(-1)).toEqual([])
    // What is over is not counted with what comes later.
    await clock.advance(40_000)
    server.fails = new SendFailure('HTTP 500', { wasSent: 'maybe' })
    lister.relistSoon()
    await clock.advance(2_000)
    expect(taken.at(-1)).toEqual([])
  },
)

it('writes nothing down of what one lists that another has taken the place of meanwhile', async () => {
  const { clock, server, session, lister, written } = stage()
  await lister.take(session, FOREVER)
  server.isReplaced = true
  lister.relistSoon()
  await clock.advance(10_000)
  expect([server.lists, written]).toEqual([2, ['definitions', 'facts']])
})
it('lists one that tells of changes every minute too, but for as long as it is heard without a break, and lists all', async () => {
  const { clock, server, session, lister } = stage({ listChanged: true })
  const listsIn = async (minutes: number) => {
    const before = server.lists
    await clock.advance(minutes * 60_000 + 1_000)
    return server.lists - before
  }
  await lister.take(session, FOREVER)
  expect([await listsIn(9), await listsIn(1)]).toEqual([0, 1])
  server.listeningSince = undefined
  expect(await listsIn(3)).toBe(3)
  server.listeningSince = clock.now()
  expect([await listsIn(1), await listsIn(8)]).toEqual([1, 0])
  server.isWhole = false
  lister.relistSoon()
  expect(await listsIn(3)).toBe(4)
})

it('writes nothing more down of a server that is gone, and compares what is opened to finish with it', async () => {
  const { clock, server, session, lister, written, compared } = stage()
  await lister.take(session, FOREVER)
  expect(written).toEqual(['definitions', 'facts'])
  lister.stop()
  lister.relistSoon()
  await clock.advance(600_000)
  expect(server.lists).toBe(1)
  await lister.take(session, FOREVER)
  expect(compared).toEqual(['definitions'])
  expect(written).toHaveLength(2)
})
it('looks together at what is told in quick succession on the connection of an agent, one look at a time', async () => {
  const { clock, server, lister, own, compared, notes } = stage()
  const tell = () => {
    for (let notice = 0; notice < 1_000; notice++) lister.compareAgain(own)
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
describe('what comes in while a connection is being opened', () => {
  /** It is told of something again and again from when it is asked what it has, for as long as its opening takes. */
  async function opened({ isOwn, times = 1 }: { isOwn: boolean; times?: number }) {
    const desk = stage({ listChanged: true })
    const { clock, server, session, lister, own } = desk
    const again = () => (isOwn ? lister.compareAgain(own) : lister.relistSoon())
    server.isUp = false
    server.onList = again
    await (isOwn ? lister.compare(own, session, FOREVER) : lister.take(session, FOREVER))
    server.onList = () => {}
    for (let time = 1; time < times; time++) {
      await clock.advance(10)
      again()
    }
    // Nobody is there to be asked until it is up.
    await clock.advance(1_000)
    const looks = () => (isOwn ? desk.compared.length : server.lists)
    expect(looks()).toBe(1)
    server.isUp = true
    lister.onUp(isOwn ? own : undefined)
    return { ...desk, again, looks }
  }

  it.each([true, false])("is looked at once it is up (an agent's own: %s)", async isOwn => {
    const { clock, looks } = await opened({ isOwn })
    await clock.advance(200)
    expect(looks()).toBe(2)
    await clock.advance(50_000)
    expect(looks()).toBe(2)
  })
  it.each([true, false])("is in what it lists where that was asked for later (an agent's own: %s)", async isOwn => {
    const { clock, server, session, lister, own, compared } = stage({ listChanged: true })
    server.isUp = false
    if (isOwn) lister.compareAgain(own)
    else lister.relistSoon()
    await clock.advance(1_000)
    await (isOwn ? lister.compare(own, session, FOREVER) : lister.take(session, FOREVER))
    server.isUp = true
    lister.onUp(isOwn ? own : undefined)
    await clock.advance(50_000)
    expect(isOwn ? compared.length : server.lists).toBe(1)
  })
})

describe('an agent’s own connection', () => {
  it('is compared every now and then, while it is there', async () => {
    const { clock, server, session, lister, own, compared } = stage()
    await lister.compare(own, session, FOREVER)
    await clock.advance(180_000)
    expect(compared).toHaveLength(4)
    server.isUp = false
    await clock.advance(600_000)
    expect(compared).toHaveLength(4)
    await lister.compare(own, session, FOREVER)
    server.isUp = true
    await clock.advance(60_000)
    expect(compared).toHaveLength(6)
  })
  it('is compared again soon where that failed, though the server tells', async () => {
    const { clock, server, session, lister, own, compared, notes } = stage({ listChanged: true })
    await lister.compare(own, session, FOREVER)
    server.fails = new Error('Out of order.')
    lister.compareAgain(own)
    await clock.advance(10_000)
    expect([compared.length, notes.length]).toEqual([2, 1])
    server.fails = undefined
    await clock.advance(15_000)
    expect(compared).toHaveLength(3)
    await clock.advance(300_000)
    expect(compared).toHaveLength(3)
  })
})
