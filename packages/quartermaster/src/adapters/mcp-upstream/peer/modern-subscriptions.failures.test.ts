import { expect, it } from 'vitest'
import { askingBeside, loseAll, telling } from '../testing/listening-fixture.ts'

it('asks again where it was refused for now, and says so once', async () => {
  const { clock, listening, streams, lines, updated } = telling()
  listening.acknowledged()
  listening.watch(new Set(['x://1']))
  listening.acknowledged()
  streams.at(-1)?.end()
  // Once for a moment, then for the address, and for the lists alone.
  for (const [ms, uris] of [
    [1_000, ['x://1']],
    [2_000, ['x://1']],
    [0, undefined],
    [4_000, ['x://1']],
    [0, undefined],
  ] as const) {
    await clock.advance(ms)
    expect(streams.at(-1)?.uris).toEqual(uris)
    streams.at(-1)?.refuse(-32_603)
  }
  await clock.advance(30_000)
  listening.acknowledged()
  expect([streams.length, lines, updated]).toEqual([8, ['It does not tell of changes: No.'], ['x://1']])
})

it('does not ask again where that is not known', async () => {
  const { clock, streams } = telling()
  streams.at(-1)?.refuse(-32_601)
  await clock.advance(600_000)
  expect(streams).toHaveLength(1)
})

it.each([-32_603, -32_602])('ends the one before where the server has no place for two (%i)', async code => {
  const { clock, listening, streams, open, updated } = telling()
  listening.acknowledged()
  listening.watch(new Set(['x://1']))
  const refuse = async (ms: number) => {
    streams.at(-1)?.refuse(code)
    await clock.advance(ms)
  }
  // One that only fails may do so for a moment.
  if (code === -32_603) await refuse(1_000)
  await refuse(0)
  expect(streams.map(({ uris }) => uris).slice(-2)).toEqual([['x://1'], undefined])
  expect(streams[0]?.signal.aborted).toBe(false)
  await refuse(0)
  expect(streams[0]?.signal.aborted).toBe(true)
  await clock.advance(2_000)
  expect(open().at(-1)).toEqual(['x://1'])
  listening.acknowledged()
  expect(updated).toEqual(['x://1'])
})

it('goes on without an address that the server refuses for good', async () => {
  const { clock, listening, streams } = telling()
  listening.acknowledged()
  listening.watch(new Set(['x://1']))
  listening.acknowledged()
  listening.watch(new Set(['x://1', 'x://bad']))
  streams.at(-1)?.refuse(-32_602)
  await clock.advance(20_000)
  // What it tells of was asked for once more: it may have been for that.
  expect(streams.slice(2).map(({ uris }) => uris)).toEqual([['x://1', 'x://bad'], ['x://1']])
  listening.acknowledged()
  await clock.advance(60_000)
  expect([streams.length, listening.since() !== undefined]).toEqual([4, true])
  // Also once the one that it has breaks.
  streams[3]?.end()
  await clock.advance(1_000)
  expect(streams.slice(4).map(({ uris }) => uris)).toEqual([['x://1']])
})

it('makes room where the server is not to be reached with a second stream for half a minute', async () => {
  const desk = telling()
  const { clock, listening, streams, updated } = desk
  listening.acknowledged()
  listening.watch(new Set(['x://1']))
  const isGivenUp = () => streams[0]?.signal.aborted === true
  await loseAll(desk, isGivenUp)
  await clock.advance(1_000)
  expect([isGivenUp(), streams.at(-1)?.uris]).toEqual([true, ['x://1']])
  listening.acknowledged()
  expect(updated).toEqual(['x://1'])
})

it('keeps the stream that it has for minutes where others are not let through, and there was room for two', async () => {
  const desk = await askingBeside()
  const begunAt = desk.clock.now()
  const isGivenUp = () => desk.streams[1]?.signal.aborted === true
  await loseAll(desk, () => isGivenUp() || desk.clock.now() - begunAt > 300_000)
  expect(isGivenUp()).toBe(false)
  await loseAll(desk, isGivenUp)
  expect(isGivenUp()).toBe(true)
})
it('asks no sooner than a second after everything was refused, however many come and go', async () => {
  const { clock, listening, streams } = telling()
  streams.at(-1)?.refuse(-32_601)
  await clock.advance(0)
  for (const uri of ['x://1', 'x://2', 'x://3']) listening.watch(new Set([uri]))
  await clock.advance(999)
  expect(streams).toHaveLength(1)
  await clock.advance(1)
  expect(streams.map(({ uris }) => uris)).toEqual([undefined, ['x://3']])
})

it('leaves a server alone for as long as it asks for, a minute at most', async () => {
  const { clock, listening, streams } = await askingBeside()
  streams.at(-1)?.lose(20_000)
  await clock.advance(10_000)
  listening.watch(new Set(['x://1', 'x://2', 'x://3']))
  await clock.advance(9_000)
  expect(streams).toHaveLength(3)
  await clock.advance(1_000)
  expect(streams).toHaveLength(4)
  streams.at(-1)?.lose(3_600_000)
  await clock.advance(60_000)
  expect(streams).toHaveLength(5)
})
it('asks again for what was put off though somebody has left another one meanwhile and come back', async () => {
  const { clock, listening, streams } = await askingBeside()
  streams.at(-1)?.refuse(-32_603, 'x://2')
  await clock.advance(1_000)
  listening.watch(new Set(['x://2']))
  listening.watch(new Set(['x://1', 'x://2']))
  await clock.advance(10_000)
  expect(streams.map(({ uris }) => uris).slice(3)).toEqual([undefined])
  await clock.advance(60_000)
  expect(streams.at(-1)?.uris).toEqual(['x://1', 'x://2'])
})

it('asks ever more seldom where it was never told of anything', async () => {
  const { clock, streams, lines } = telling()
  const askedIn = async (minutes: number) => {
    const before = streams.length
    for (let second = 0; second < 60 * minutes; second++) {
      streams.at(-1)?.refuse(-32_603)
      await clock.advance(1_000)
    }
    return streams.length - before
  }
  await askedIn(10)
  expect([await askedIn(30), lines]).toEqual([6, ['It does not tell of changes: No.']])
})
