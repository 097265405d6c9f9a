import { describe, expect, it } from 'vitest'
import { SendFailure } from '../peer/channel.ts'
import { listingStage } from '../testing/listing-fixture.ts'

const FOREVER = new AbortController().signal

const busy = (retryAfterMs: number) => new SendFailure('HTTP 429', { wasSent: 'no', status: 429, retryAfterMs })

/** A server that tells of changes, listed once by the connection that all share or by an agent's own. */
async function listed(isOwn: boolean) {
  const desk = listingStage({ listChanged: true })
  const { clock, server, session, lister, own, compared } = desk
  await (isOwn ? lister.compare(own, session, FOREVER) : lister.take(session, FOREVER))
  const looks = () => (isOwn ? compared.length : server.lists)
  const again = () => (isOwn ? lister.compareAgain(own) : lister.relistSoon())
  /** How long it takes until it is asked again, so many times in a row. */
  const pauses = async (times: number) => {
    const taken: number[] = []
    while (taken.length < times) {
      const [before, from] = [looks(), clock.now()]
      while (looks() === before) await clock.advance(500)
      taken.push(clock.now() - from)
    }
    return taken
  }
  return { ...desk, looks, again, pauses }
}

describe.each([
  ['that all share', false],
  ['of an agent', true],
])('a server that tells of a change, on the connection %s', (_whose, isOwn) => {
  it.each([
    { asks: 0, waits: 1_000 },
    { asks: 3_000, waits: 3_000 },
    { asks: 3_600_000, waits: 60_000 },
  ])('is asked again when it says, where it is busy ($asks)', async ({ asks, waits }) => {
    const { clock, server, again, looks, pauses } = await listed(isOwn)
    server.fails = busy(asks)
    again()
    await clock.advance(100)
    expect(looks()).toBe(2)
    server.fails = undefined
    const [pause = 0] = await pauses(1)
    expect(pause).toBeGreaterThanOrEqual(waits - 100)
    expect(pause).toBeLessThanOrEqual(waits + 500)
    await clock.advance(300_000)
    expect(looks()).toBe(3)
  })

  it('is asked ever more seldom where that goes on, and as soon as before when it was over', async () => {
    const { clock, server, again, pauses } = await listed(isOwn)
    server.fails = busy(1_000)
    again()
    await clock.advance(100)
    const grown = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]
    expect(await pauses(grown.length)).toEqual(grown)
    server.fails = undefined
    await pauses(1)
    server.fails = busy(1_000)
    again()
    await clock.advance(100)
    expect(await pauses(2)).toEqual([1_000, 2_000])
  })

  it('is asked again before long where its list takes too long, and seldom where each does', async () => {
    const { clock, server, again, looks, pauses } = await listed(isOwn)
    server.isSlow = true
    again()
    await clock.advance(100)
    const startMs = 30_000
    const [first = 0] = await pauses(1)
    expect(first - startMs).toBeLessThanOrEqual(15_500)
    const before = looks()
    await clock.advance(3_600_000)
    expect(looks() - before).toBeLessThanOrEqual(60)
  })
})
