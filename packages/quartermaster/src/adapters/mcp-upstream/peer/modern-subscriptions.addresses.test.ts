import { expect, it } from 'vitest'
import { notes, numbered } from '../testing/notes-program.ts'

it.each([
  ['', undefined],
  [', by a server that says so in text', (id: unknown) => ({ 'io.modelcontextprotocol/subscriptionId': String(id) })],
  [', by a server that does not say which it means, after a moment', () => ({})],
  [
    ', by a server that names its streams as it likes, after a moment',
    () => ({ 'io.modelcontextprotocol/subscriptionId': 'a5-61' }),
  ],
])('takes no word about a stream that was given up for one about the next%s', async (_, names) => {
  const { session, settle, heard, live, clock } = await notes({
    has: new Set(['n://0', 'n://1']),
    ...(names && { names }),
  })
  session.subscribeTo(new Set(['n://0']))
  session.subscribeTo(new Set(['n://1', 'n://2']))
  await settle()
  await clock.advance(2_000)
  await settle()
  await clock.advance(2_000)
  await settle()
  expect(live()).toEqual([['n://1']])
  expect(heard.unsubscribed).toEqual(['n://2: There is no n://2.'])
  expect(session.listeningSince()).toBeDefined()
})

it('hears of all others where a server refuses some of many addresses, and says of which it does not', async () => {
  const uris = numbered(300)
  const bad = ['n://7', 'n://8', 'n://150', 'n://299']
  const has = new Set(uris.filter(uri => !bad.includes(uri)))
  const { session, settle, clock, heard, live, seen } = await notes({ has })
  session.subscribeTo(new Set(uris))
  await clock.advance(200)
  await settle()
  expect(live()).toEqual([[...has]])
  expect(heard.unsubscribed).toEqual(bad.map(uri => `${uri}: There is no ${uri}.`))
  expect(heard.lines).toEqual([])
  expect(seen.asked.length).toBeLessThan(60)
  // The stream of lists was there all the time, and one that tells of addresses later says that they may have changed.
  expect([seen.isEverSilent, heard.changed]).toEqual([false, []])
  expect(heard.updated.toSorted()).toEqual([...has].toSorted())
})

it.each([
  [-32_601, 'n://2: There is no n://2. It is asked again in a while.'],
  [-32_002, 'n://2: There is no n://2.'],
])('takes it for the address where a server refuses one with the code %i', async (code, told) => {
  const { session, settle, heard, live } = await notes({ has: new Set(['n://1']), code })
  session.subscribeTo(new Set(['n://1', 'n://2']))
  await settle()
  expect(live()).toEqual([['n://1']])
  expect(heard.unsubscribed).toEqual([told])
})
it('asks for it again once somebody subscribes to it anew', async () => {
  const has = new Set(['n://1'])
  const { session, settle, live } = await notes({ has })
  session.subscribeTo(new Set(['n://1', 'n://2']))
  await settle()
  session.subscribeTo(new Set(['n://1']))
  has.add('n://2')
  session.subscribeTo(new Set(['n://1', 'n://2']))
  await settle()
  expect(live()).toEqual([['n://1', 'n://2']])
})
it('takes the word of a server that says which address it refuses, also of one that it took before', async () => {
  const has = new Set(['n://1', 'n://2', 'n://3'])
  const { session, settle, heard, live, seen } = await notes({ has, isClear: true })
  session.subscribeTo(new Set(['n://1', 'n://2']))
  await settle()
  has.delete('n://1')
  seen.asked.length = 0
  session.subscribeTo(new Set(['n://1', 'n://2', 'n://3', 'n://4']))
  await settle()
  expect(live()).toEqual([['n://2', 'n://3']])
  expect(heard.unsubscribed).toEqual(['n://1: There is no n://1.', 'n://4: There is no n://4.'])
  expect(seen.asked).toHaveLength(3)
})

it.each([false, true])(
  'asks a server a hundred times in a row at most that refuses every address (clear: %s)',
  async isClear => {
    const uris = numbered(300)
    const { session, settle, heard, live, seen } = await notes({ has: new Set(), isClear })
    session.subscribeTo(new Set(uris))
    await settle()
    expect(live()).toEqual([[]])
    // And once for the lists alone, to see that it has room.
    expect(seen.asked.length).toBeLessThanOrEqual(101)
    expect(heard.unsubscribed.map(line => line.split(': ')[0]).toSorted()).toEqual(uris.toSorted())
    expect(heard.unsubscribed.at(-1)).toBe(
      'n://299: It was refused together with others, and 100 tries did not show which of them is meant. It is asked again in a while.',
    )
  },
)

it('hears of good addresses however many bad ones there are beside them, though it takes a while', async () => {
  const good = ['n://97', 'n://98', 'n://99']
  const { session, settle, clock, live, heard } = await notes({ has: new Set(good) })
  session.subscribeTo(new Set(numbered(100)))
  await settle()
  for (let minute = 0; minute < 10; minute++) {
    await clock.advance(60_000)
    await settle()
  }
  expect(live().map(uris => uris.toSorted())).toEqual([good.toSorted()])
  expect(heard.unsubscribed.filter(line => line.includes(': There is no'))).toHaveLength(97)
})
it('says that a resource may have changed of which the server was slow to tell', async () => {
  const { session, settle, clock, heard } = await notes({ has: new Set(['n://1', 'n://2']) })
  session.subscribeTo(new Set(['n://1']))
  await settle()
  expect(heard.updated).toEqual([])
  session.subscribeTo(new Set(['n://1', 'n://2']))
  await clock.advance(3_000)
  await settle()
  expect(heard.updated).toEqual(['n://2'])
})

it('takes an acknowledgement that counts streams in its own way for the last one', async () => {
  let count = 0
  const names = () => ({ 'io.modelcontextprotocol/subscriptionId': ++count })
  const { session, settle, breakOff, heard } = await notes({ has: new Set(['n://1']), names })
  session.subscribeTo(new Set(['n://1']))
  await settle()
  await breakOff()
  expect(heard.updated).toEqual(['n://1'])
})
it('asks two times of a server that refuses everything, and says once that it does not tell', async () => {
  const { session, settle, heard, seen, clock } = await notes({ has: new Set(), hasLists: false })
  heard.lines.length = 0
  session.subscribeTo(new Set(numbered(10)))
  await settle()
  await clock.advance(600_000)
  await settle()
  expect(seen.asked.map(uris => uris.length)).toEqual([10, 0])
  expect([heard.unsubscribed, session.listeningSince()]).toEqual([[], undefined])
})
it.each([
  ['some of them', () => ({ resourceSubscriptions: ['n://1'] }), ['n://2']],
  ['none', () => ({}), ['n://1', 'n://2']],
])('says of which addresses a server does not tell that agrees to %s', async (_, honours, left) => {
  const { session, settle, breakOff, heard } = await notes({ has: new Set(['n://1', 'n://2']), honours })
  session.subscribeTo(new Set(['n://1', 'n://2']))
  await settle()
  const told = left.map(uri => `${uri}: The server did not agree to tell of them.`)
  expect(heard.unsubscribed).toEqual(told)
  await breakOff()
  expect(heard.unsubscribed).toEqual(told)
})
