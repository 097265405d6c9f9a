import { expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { createCapabilityServers } from './capability-servers.ts'

const config = UpstreamConfig.parse({ command: 'server' })

function stage() {
  const guests = createCapabilityServers()
  const ask = (name: string, agent = 'ada', key = 'printing') => guests.register({ name, key, agent, config })
  const prefixes = async (before: Record<string, string[] | undefined> = {}) => {
    const settled = await guests.settled(async name => (name in before ? before[name] : []))
    return Object.fromEntries([...settled].map(([name, { prefix }]) => [name, prefix]))
  }
  return { guests, ask, prefixes }
}

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
it('gives to nobody new what another was called before a restart', async () => {
  const { ask, prefixes } = stage()
  ask('three', 'eve')
  ask('one', 'ada')
  expect(await prefixes({ one: ['printing_read'] })).toEqual({ three: 'three', one: 'printing' })
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
