import { expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { createCapabilityServers, MOST_CAPABILITY_SERVERS } from './capability-servers.ts'

const config = UpstreamConfig.parse({ command: 'server' })

function stage() {
  const guests = createCapabilityServers()
  const ask = (name: string, agent = 'ada', key = 'printing') => guests.ask({ name, key, agent, config })
  const prefixes = async (before: Record<string, string[] | undefined> = {}) => {
    const settled = await guests.settled(async name => (name in before ? before[name] : []))
    return Object.fromEntries([...settled].map(([name, { prefix }]) => [name, prefix]))
  }
  return { guests, ask, prefixes }
}

it('takes a server in once, whoever asks for it', async () => {
  const { ask, prefixes } = stage()
  expect([ask('one'), ask('one'), ask('one', 'bob')]).toEqual(['changed', 'same', 'same'])
  expect(await prefixes()).toEqual({ one: 'printing' })
})

it('gives the names of the capability to the first of its servers, and their own to the others', async () => {
  const { ask, prefixes } = stage()
  ask('one', 'ada')
  ask('two', 'bob')
  ask('other', 'bob', 'scanning')
  expect(await prefixes()).toEqual({ one: 'printing', two: 'two', other: 'scanning' })
})

it('lets go of a server when its capability names another for every agent that had it, and that one gets the names', async () => {
  const { guests, ask, prefixes } = stage()
  ask('one', 'ada')
  ask('one', 'bob')
  ask('two', 'ada')
  expect([guests.age(), guests.age(), guests.age()]).toEqual([false, false, false])
  expect(ask('two', 'bob')).toBe('changed')
  expect(guests.age()).toBe(true)
  expect(await prefixes()).toEqual({ two: 'printing' })
})

it.each([['one-first', ['ada', 'bob']] as const, ['two-first', ['bob', 'ada']] as const])(
  'gives the names to one that is in the place of several, whichever agent has it first: %s',
  async (_, agents) => {
    const { guests, ask, prefixes } = stage()
    ask('one', 'ada')
    ask('two', 'bob')
    expect(await prefixes()).toEqual({ one: 'printing', two: 'two' })
    for (const agent of agents) ask('three', agent)
    expect(await prefixes()).toMatchObject({ three: 'three' })
    expect([guests.age(), guests.age()]).toEqual([false, true])
    expect(await prefixes()).toEqual({ three: 'printing' })
  },
)

it('lets go of a server as soon as every agent that had it has lost its capability', async () => {
  const { guests, ask, prefixes } = stage()
  ask('one', 'ada')
  ask('one', 'bob')
  ask('other', 'ada', 'scanning')
  const left = [guests.leave('ada', 'printing'), guests.leave('ada', 'printing'), guests.leave('eve')]
  expect(left).toEqual([false, false, false])
  expect(await prefixes()).toEqual({ one: 'printing', other: 'scanning' })
  expect(guests.leave('bob')).toBe(true)
  expect(await prefixes()).toEqual({ other: 'scanning' })
})

it('leaves everybody else the names that they have when a server is let go of, and the next one gets those that are free', async () => {
  const { guests, ask, prefixes } = stage()
  ask('one', 'ada')
  ask('two', 'bob')
  expect(await prefixes()).toEqual({ one: 'printing', two: 'two' })
  guests.leave('ada')
  expect(await prefixes()).toEqual({ two: 'two' })
  ask('three', 'eve')
  expect(await prefixes()).toEqual({ two: 'two', three: 'printing' })
})

it('has everybody called as before a restart, whoever is asked for first', async () => {
  const { ask, prefixes } = stage()
  ask('two', 'bob')
  ask('one', 'ada')
  expect(await prefixes({ one: ['printing_read'], two: ['two_read'] })).toEqual({ two: 'two', one: 'printing' })
})

it('gives to nobody new what another was called before a restart', async () => {
  const { ask, prefixes } = stage()
  ask('three', 'eve')
  ask('one', 'ada')
  expect(await prefixes({ one: ['printing_read'] })).toEqual({ three: 'three', one: 'printing' })
})

it('has those called as before, too, that are asked for while it is read what others were called', async () => {
  const { guests, ask } = stage()
  ask('other', 'eve', 'scanning')
  const before: Record<string, string[]> = { one: ['printing_read'], two: ['two_read'] }
  const settled = await guests.settled(async name => {
    if (name === 'other') {
      ask('two', 'bob')
      ask('one', 'ada')
    }
    return before[name] ?? []
  })
  const prefixes = Object.fromEntries([...settled].map(([name, { prefix }]) => [name, prefix]))
  expect(prefixes).toEqual({ other: 'scanning', two: 'two', one: 'printing' })
})

it('decides on the names of none of which it cannot be told what it was called', async () => {
  const { ask, prefixes } = stage()
  ask('one', 'ada')
  ask('two', 'bob')
  expect(await prefixes({ one: undefined, two: undefined })).toEqual({ one: 'one', two: 'two' })
  expect(await prefixes({ one: undefined })).toEqual({ one: 'one', two: 'printing' })
  expect(await prefixes({ one: ['one_read'] })).toEqual({ one: 'one', two: 'printing' })
})

it('gives the names to one in the place of another also where that is lost with its capability', async () => {
  const { guests, ask, prefixes } = stage()
  ask('one', 'ada')
  ask('one', 'bob')
  expect(await prefixes()).toEqual({ one: 'printing' })
  ask('two', 'ada')
  expect(await prefixes()).toEqual({ one: 'printing', two: 'two' })
  expect(guests.leave('bob', 'printing')).toBe(true)
  expect(await prefixes()).toEqual({ two: 'printing' })
})

it('lets go at once also of the one that an agent had before, when it loses the capability', async () => {
  const { guests, ask, prefixes } = stage()
  ask('one', 'ada')
  ask('two', 'ada')
  expect(guests.leave('ada', 'printing')).toBe(true)
  expect(await prefixes()).toEqual({})
})

it('knows the servers that a capability names, also those that an agent had before', () => {
  const { guests, ask } = stage()
  ask('one', 'ada')
  ask('two', 'ada')
  ask('other', 'ada', 'scanning')
  expect(guests.namedBy('printing')).toEqual(['one', 'two'])
})

it('keeps servers that one agent has in turn, and has nothing read anew for that more than once', async () => {
  const { guests, ask, prefixes } = stage()
  const news: string[] = []
  for (let reading = 0; reading < 10; reading++) {
    news.push(ask('one'), ask('two'))
    expect(guests.age()).toBe(false)
  }
  expect(await prefixes()).toEqual({ one: 'printing', two: 'two' })
  expect(news.filter(one => one === 'changed')).toHaveLength(3)
})

it('has room for so many and no more', () => {
  const { ask } = stage()
  for (let index = 0; index < MOST_CAPABILITY_SERVERS; index++) expect(ask(`s${index}`, `a${index}`)).toBe('changed')
  expect(ask('one-too-many')).toBe('full')
  expect(ask('s0', 'a0')).toBe('same')
})
