import { expect, it } from 'vitest'
import { type NotesWays, notes, numbered } from '../testing/notes-program.ts'

const FAILS = -32_603

it('takes the stream from nobody to ask again for an address that the server fails at', async () => {
  const good = numbered(8)
  const { session, settle, pass, heard, seen } = await notes({ has: new Set(good), code: FAILS })
  session.subscribeTo(new Set(good))
  await settle()
  session.subscribeTo(new Set([...good, 'n://bad']))
  const { deaf } = await pass(1_800)
  expect([good.filter(deaf), seen.isEverSilent, heard.changed]).toEqual([[], false, []])
  // It does tell, and of the address people are told once.
  expect([heard.lines, heard.unsubscribed]).toEqual([
    [],
    ['n://bad: There is no n://bad. It is asked again in a while.'],
  ])
  // After 60, 180, 420, 900 and 1,860 s it is asked again, each time with one more stream to see that there is room.
  expect(seen.asked.length).toBeLessThan(15)
})

it.each([[200, 5]])(
  'hears of %i addresses within seconds beside %i that the server fails at',
  async (goodOnes, badOnes) => {
    const all = numbered(goodOnes + badOnes)
    const bad = new Set(Array.from({ length: badOnes }, (_, at) => `n://${(at + 1) * Math.floor(goodOnes / badOnes)}`))
    const has = new Set(all.filter(uri => !bad.has(uri)))
    const { session, pass, heard, seen, live } = await notes({ has, code: FAILS })
    session.subscribeTo(new Set(all))
    await pass(2)
    expect(new Set(live().flat())).toEqual(has)
    const { deaf } = await pass(1_800)
    expect([[...has].filter(deaf), seen.isEverSilent, heard.lines]).toEqual([[], false, []])
  },
)
it('keeps the stream that it has through a bad moment of a server with room for two', async () => {
  let isIll = false
  const { session, pass, live, heard, seen } = await notes({ has: new Set(numbered(3)), isIll: () => isIll })
  session.subscribeTo(new Set(['n://1']))
  await pass(1)
  isIll = true
  session.subscribeTo(new Set(['n://1', 'n://2']))
  const { deaf } = await pass(20)
  expect([deaf('n://1'), seen.isEverSilent]).toEqual([0, false])
  isIll = false
  await pass(20)
  expect([live(), heard.unsubscribed, heard.lines]).toEqual([[['n://1', 'n://2']], [], []])
})
it.each([-32_603, -32_602])(
  'hears of everything at a server with room for one stream that says so with %i',
  async roomCode => {
    const has = new Set(numbered(20))
    const { session, pass, live, heard } = await notes({ has, room: 1, roomCode })
    session.subscribeTo(new Set(['n://1']))
    await pass(10)
    expect(live()).toEqual([['n://1']])
    session.subscribeTo(new Set([...has, 'n://bad']))
    await pass(120)
    expect(live().map(uris => new Set(uris))).toEqual([has])
    expect(heard.unsubscribed).toEqual(['n://bad: There is no n://bad.'])
  },
)

it.each([FAILS, -32_602])(
  'finds an address that it refuses with %i at a server that ends each stream with the next',
  async code => {
    const has = new Set(numbered(20))
    const { session, pass, live, seen } = await notes({ has, code, endsEarlier: true })
    session.subscribeTo(new Set([...has, 'n://bad']))
    await pass(10)
    expect(live().map(uris => new Set(uris))).toEqual([has])
    expect(seen.asked.length).toBeLessThan(40)
  },
)
it('asks once for everything that was wanted while it waited', async () => {
  const uris = numbered(300)
  const { session, settle, clock, live, seen } = await notes({ has: new Set(uris), acknowledgesMs: 50 })
  for (const at of uris.keys()) {
    session.subscribeTo(new Set(uris.slice(0, at + 1)))
    await clock.advance(1)
    await settle()
  }
  await clock.advance(50)
  await settle()
  expect(live()).toEqual([uris])
  expect(seen.asked.length).toBeLessThan(10)
})

it('waits for a moment only where a server never acknowledges', async () => {
  const { session, pass, live } = await notes({ has: new Set(numbered(3)), acknowledgesMs: Infinity })
  session.subscribeTo(new Set(['n://1']))
  session.subscribeTo(new Set(['n://1', 'n://2']))
  await pass(6)
  expect(live()).toEqual([['n://1', 'n://2']])
})
it('asks on where everything is refused for a while by one that has told of changes', async () => {
  const has = new Set(['n://1', 'n://2', 'n://3'])
  let isOld = false
  const { session, settle, pass, live } = await notes({ has, isIll: () => isOld, illCode: -32_601 })
  session.subscribeTo(new Set(['n://1', 'n://2']))
  await settle()
  // One that is gone, and then a new one while nothing is taken.
  has.delete('n://1')
  session.subscribeTo(new Set(['n://1', 'n://2', 'n://4']))
  await pass(5)
  isOld = true
  session.subscribeTo(new Set(['n://2', 'n://3']))
  await pass(20)
  isOld = false
  await pass(60)
  expect(live()).toEqual([['n://2', 'n://3']])
})
it('blames the address that is gone, and not the one that is asked for beside it', async () => {
  const has = new Set(['n://1', 'n://2', 'n://3'])
  const { session, settle, pass, live, heard } = await notes({ has })
  for (const uris of [['n://1'], ['n://1', 'n://2']]) {
    session.subscribeTo(new Set(uris))
    await settle()
  }
  has.delete('n://1')
  session.subscribeTo(new Set(['n://1', 'n://2', 'n://3']))
  await pass(2)
  expect(live()).toEqual([['n://2', 'n://3']])
  expect(heard.unsubscribed).toEqual(['n://1: There is no n://1.'])
})

it.each<[string, Partial<NotesWays>]>([
  ['fails at every third stream', { isIll: asked => asked % 3 === 0 }],
  ['fails at every address', { code: FAILS }],
  ['fails at every address, with room for one stream', { code: FAILS, room: 1 }],
  ['never acknowledges', { acknowledgesMs: Infinity }],
  ['tells of ten notes on all streams together', { has: new Set(numbered(300)), mostNotes: 10 }],
])('asks a server that %s a few hundred times a minute at most', async (_, ways) => {
  const { session, settle, pass, clock, seen } = await notes({ has: new Set(), ...ways })
  const perMinute: number[] = []
  const count = () => void perMinute.push(seen.asked.splice(0).length)
  session.subscribeTo(new Set(numbered(300)))
  for (let minute = 0; minute < 30; minute++) {
    await pass(60)
    count()
  }
  expect(Math.max(...perMinute)).toBeLessThan(350)
  expect(Math.max(...perMinute.slice(15))).toBeLessThan(250)
  // However many come and go.
  for (let time = 0; time < 600; time++) {
    session.subscribeTo(new Set(numbered(1 + (time % 2))))
    await clock.advance(100)
    await settle()
  }
  count()
  expect(perMinute.at(-1)).toBeLessThan(1_300)
})
