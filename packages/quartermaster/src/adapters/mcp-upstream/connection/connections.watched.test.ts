import { expect, it } from 'vitest'
import { createUpstreamSubscriptions, type UpstreamSubscriptions } from '../offer/upstream-subscriptions.ts'
import type { Session } from '../peer/session.ts'
import type { Connection } from './connection.ts'
import type { ConnectionState } from './connection-state-machine.ts'
import { type Connections, createConnections, MOST_AGENTS } from './connections.ts'

/** Connections of agents, and who hears of changes on them. What happens to one of them is said by the test. */
function stage() {
  const states = new Map<string, ConnectionState['kind']>()
  const notes: string[] = []
  const heard: string[] = []
  const session = { watch() {} } as Partial<Session> as Session
  const create = (agent = 'main') => {
    states.set(agent, 'up')
    const connection: Partial<Connection> = {
      state: () => ({ kind: states.get(agent) ?? 'up', reason: '', since: 0 }),
      session: () => (states.get(agent) === 'up' ? session : undefined),
      busy: () => 0,
      isAwaited: () => false,
      start() {},
      stop: async () => {},
    }
    return connection as Connection
  }
  const connections: Connections = createConnections({
    upstream: 'desk',
    isSeparate: true,
    hasCredentials: () => false,
    isMetAs: () => false,
    isWatched: connection => subscriptions.isWatched(connection),
    onDisplaced: connection => subscriptions.displaced(connection),
    onMade: () => subscriptions.roomMade(),
    create,
  })
  const subscriptions: UpstreamSubscriptions = createUpstreamSubscriptions({
    connectionOf: connections.toHear,
    isInUse: connection => connections.all().some(one => one === connection),
    note: text => void notes.push(text),
  })
  const subscribe = (agent: string) => subscriptions.add(agent, 'x', () => heard.push(agent))
  const agents = Array.from({ length: MOST_AGENTS }, (_, index) => `agent${index}`)
  const becomes = (agent: string, kind: ConnectionState['kind']) => {
    states.set(agent, kind)
    subscriptions.roomMade()
  }
  const change = (agent: string) => {
    heard.length = 0
    const own = connections.own(agent)
    if (own) subscriptions.updated(own, 'x')
    return heard.splice(0)
  }
  return { connections, subscribe, agents, becomes, change, notes, states, settled: () => Promise.resolve() }
}

it('let a call in where all are subscribed and none can be reached, and tell people who hears nothing for that', () => {
  const { connections, subscribe, agents, states, notes } = stage()
  for (const agent of agents) {
    subscribe(agent)
    states.set(agent, 'needsLogin')
  }
  expect(connections.of('late')).toBe(connections.own('late'))
  expect(notes).toEqual([
    '[agent0] Nothing is heard of changes for now: a call of another agent needed the place of its connection.',
  ])
})

it('are heard of changes by whoever was subscribed without room, once a call has made it one of its own', async () => {
  const { connections, subscribe, agents, change, states, settled } = stage()
  for (const agent of agents) connections.of(agent)
  subscribe('late')
  states.set('agent3', 'idle')
  connections.of('late')
  await settled()
  expect(change('late')).toEqual(['late'])
})

it('are heard of changes by whoever was subscribed without room, once another one is of no more use', async () => {
  const { connections, subscribe, agents, becomes, change, settled } = stage()
  for (const agent of agents) connections.of(agent)
  for (const agent of ['late', 'later']) subscribe(agent)
  becomes('agent3', 'idle')
  await settled()
  expect([change('late'), connections.own('later')]).toEqual([['late'], undefined])
})

it('are heard of changes by whoever was subscribed without room, once another one is subscribed no more', async () => {
  const { subscribe, agents, states, change, settled } = stage()
  const stops = agents.map(subscribe)
  for (const agent of agents) states.set(agent, 'needsLogin')
  subscribe('late')
  stops[7]?.()
  await settled()
  expect(change('late')).toEqual(['late'])
})

it('are heard of changes again by whoever had to give its place to a call, once that one is of no more use', async () => {
  const { connections, subscribe, agents, becomes, change, settled } = stage()
  for (const agent of agents) subscribe(agent)
  connections.of('late')
  await settled()
  expect(connections.own('agent0')).toBeUndefined()
  becomes('late', 'idle')
  await settled()
  expect(change('agent0')).toEqual(['agent0'])
})

it('go on where somebody unsubscribes who had to give its place to a call', async () => {
  const { connections, subscribe, agents, becomes, settled } = stage()
  const stops = agents.map(subscribe)
  connections.of('late')
  stops[0]?.()
  becomes('late', 'idle')
  await settled()
  expect(connections.own('agent0')).toBeUndefined()
})
