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
  session.watch(new Set(['n://0']))
  session.watch(new Set(['n://1', 'n://2']))
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
  session.watch(new Set(uris))
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
  session.watch(new Set(['n://1', 'n://2']))
  await settle()
  expect(live()).toEqual([['n://1']])
  expect(heard.unsubscribed).toEqual([told])
})

it('does not ask for what was refused again when somebody subscribes to something else', async () => {
  const has = new Set(['n://1', 'n://3'])
  const { session, settle, heard, live, seen } = await notes({ has })
  session.watch(new Set(['n://1', 'n://2']))
  await settle()
  seen.asked.length = 0
  session.watch(new Set(['n://1', 'n://2', 'n://3']))
  await settle()
  expect([seen.asked, live()]).toEqual([[['n://1', 'n://3']], [['n://1', 'n://3']]])
  expect(heard.unsubscribed).toHaveLength(1)
})

it('asks for it again once somebody subscribes to it anew', async () => {
  const has = new Set(['n://1'])
  const { session, settle, live } = await notes({ has })
  session.watch(new Set(['n://1', 'n://2']))
  await settle()
  session.watch(new Set(['n://1']))
  has.add('n://2')
  session.watch(new Set(['n://1', 'n://2']))
  await settle()
  expect(live()).toEqual([['n://1', 'n://2']])
})

it('hears of the rest where an address is refused that was not before', async () => {
  const has = new Set(['n://1', 'n://2', 'n://3'])
  const { session, settle, breakOff, heard, live } = await notes({ has })
  session.watch(new Set(has))
  await settle()
  expect(live()).toEqual([['n://1', 'n://2', 'n://3']])
  has.delete('n://2')
  await breakOff()
  expect(live()).toEqual([['n://1', 'n://3']])
  expect(heard.unsubscribed).toEqual(['n://2: There is no n://2.'])
  expect([heard.changed, heard.updated]).toEqual([
    ['tools', 'resources'],
    ['n://1', 'n://3'],
  ])
})

it('takes the word of a server that says which address it refuses, also of one that it took before', async () => {
  const has = new Set(['n://1', 'n://2', 'n://3'])
  const { session, settle, heard, live, seen } = await notes({ has, isClear: true })
  session.watch(new Set(['n://1', 'n://2']))
  await settle()
  has.delete('n://1')
  seen.asked.length = 0
  session.watch(new Set(['n://1', 'n://2', 'n://3', 'n://4']))
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
    session.watch(new Set(uris))
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
  session.watch(new Set(numbered(100)))
  await settle()
  for (let minute = 0; minute < 10; minute++) {
    await clock.advance(60_000)
    await settle()
  }
  expect(live().map(uris => uris.toSorted())).toEqual([good.toSorted()])
  expect(heard.unsubscribed.filter(line => line.includes(': There is no'))).toHaveLength(97)
})

it('leaves out an address for a while that a server fails at with whatever code, and hears of all others', async () => {
  const has = new Set(['n://1', 'n://3'])
  const { session, settle, clock, live, heard, seen } = await notes({ has, code: -32_603 })
  session.watch(new Set(['n://1']))
  await settle()
  session.watch(new Set(['n://1', 'n://2']))
  await settle()
  session.watch(new Set(['n://1', 'n://2', 'n://3']))
  // Each failure may be one of a moment.
  for (let second = 0; second < 20; second++) {
    await settle()
    await clock.advance(1_000)
  }
  expect([live(), seen.isEverSilent]).toEqual([[['n://1', 'n://3']], false])
  expect(heard.unsubscribed).toEqual(['n://2: There is no n://2. It is asked again in a while.'])
  has.add('n://2')
  await clock.advance(60_000)
  await settle()
  expect(live()).toEqual([['n://1', 'n://2', 'n://3']])
})

it('hears of a new address at a server with room for one stream that failed at it for a moment', async () => {
  const has = new Set(['n://1'])
  const { session, pass, live } = await notes({ has, code: -32_603, room: 1 })
  session.watch(new Set(['n://1']))
  await pass(5)
  session.watch(new Set(['n://1', 'n://3']))
  await pass(3)
  has.add('n://3')
  await pass(150)
  expect(live()).toEqual([['n://1', 'n://3']])
})

it('says that a resource may have changed of which the server was slow to tell', async () => {
  const { session, settle, clock, heard } = await notes({ has: new Set(['n://1', 'n://2']) })
  session.watch(new Set(['n://1']))
  await settle()
  expect(heard.updated).toEqual([])
  session.watch(new Set(['n://1', 'n://2']))
  await clock.advance(3_000)
  await settle()
  expect(heard.updated).toEqual(['n://2'])
})

it('takes an acknowledgement that counts streams in its own way for the last one', async () => {
  let count = 0
  const names = () => ({ 'io.modelcontextprotocol/subscriptionId': ++count })
  const { session, settle, breakOff, heard } = await notes({ has: new Set(['n://1']), names })
  session.watch(new Set(['n://1']))
  await settle()
  await breakOff()
  expect(heard.updated).toEqual(['n://1'])
})

it('tries an address again that was refused along with one that had gone', async () => {
  const has = new Set(['n://1', 'n://2'])
  const { session, settle, breakOff, live } = await notes({ has })
  session.watch(new Set(['n://1']))
  await settle()
  has.delete('n://1')
  session.watch(new Set(['n://1', 'n://2']))
  await settle()
  await breakOff()
  expect(live()).toEqual([['n://2']])
})

it('asks two times of a server that refuses everything, and says once that it does not tell', async () => {
  const { session, settle, heard, seen, clock } = await notes({ has: new Set(), hasLists: false })
  heard.lines.length = 0
  session.watch(new Set(numbered(10)))
  await settle()
  await clock.advance(600_000)
  await settle()
  expect(seen.asked.map(uris => uris.length)).toEqual([10, 0])
  expect([heard.unsubscribed, session.listeningSince()]).toEqual([[], undefined])
})

it('finds out which address is refused by a server that has room for one stream', async () => {
  const { session, settle, heard, live, clock } = await notes({ has: new Set(['n://1', 'n://3']), room: 1 })
  session.watch(new Set(['n://1', 'n://2', 'n://3']))
  for (let second = 0; second < 60; second++) {
    await settle()
    await clock.advance(1_000)
  }
  expect(live()).toEqual([['n://1', 'n://3']])
  expect(heard.unsubscribed).toEqual(['n://2: There is no n://2.'])
})

it.each([
  ['some of them', () => ({ resourceSubscriptions: ['n://1'] }), ['n://2']],
  ['none', () => ({}), ['n://1', 'n://2']],
])('says of which addresses a server does not tell that agrees to %s', async (_, honours, left) => {
  const { session, settle, breakOff, heard } = await notes({ has: new Set(['n://1', 'n://2']), honours })
  session.watch(new Set(['n://1', 'n://2']))
  await settle()
  const told = left.map(uri => `${uri}: The server did not agree to tell of them.`)
  expect(heard.unsubscribed).toEqual(told)
  await breakOff()
  expect(heard.unsubscribed).toEqual(told)
})
