import { describe, expect, it } from 'vitest'
import type { ProbeVerdict } from '../../../core/catalogue/index.ts'
import type { Session } from '../peer/session.ts'
import type { Connection } from './connection.ts'
import type { ConnectionState } from './connection-state-machine.ts'
import { createConnections, MOST_AGENTS } from './connections.ts'

function stage({ isSeparate = false, withCredentials = [] as string[], metAs = '' } = {}) {
  const states = new Map<string, ConnectionState['kind']>()
  /** Agents that wait to be told of changes on theirs. */
  const watched = new Set<string>()
  /** Agents that wait for theirs to come up. */
  const awaiting = new Set<string>()
  const stopped: string[] = []
  const restarted: string[] = []
  const left: string[] = []
  const started: string[] = []
  const displaced: string[] = []
  /** What they have under way. */
  const busy = new Map<string, number>()
  const errors = new Map<string, ReturnType<Connection['lastError']>>()
  /** What is found on those that were made first, and later. */
  const found: (() => Promise<ProbeVerdict>)[] = []
  const names = new Map<Connection, string>()
  const create = (agent = 'main') => {
    states.set(agent, 'up')
    const state = () => ({ kind: states.get(agent) ?? 'up', reason: '', since: 0 })
    const connection: Partial<Connection> = {
      state,
      session: () => (states.get(agent) === 'up' ? ({} as Session) : undefined),
      busy: () => busy.get(agent) ?? 0,
      start: () => void started.push(agent),
      async drain() {
        left.push(agent)
        if (busy.has(agent)) await new Promise(() => {})
      },
      hasWaiters: () => awaiting.has(agent),
      lastError: () => errors.get(agent),
      stop: async () => void stopped.push(agent),
      restart: async () => void restarted.push(agent),
      probe: async () => found.shift()?.() ?? { up: true },
    }
    names.set(connection as Connection, agent)
    return connection as Connection
  }
  const seen = { stopped, restarted, left, started }
  const options = {
    upstream: 'desk',
    isSeparate,
    hasCredentials: (agent: string) => withCredentials.includes(agent),
    isConnectedAs: (agent: string) => agent === metAs,
    hasSubscribers: (connection: Connection) => watched.has(names.get(connection) ?? ''),
    onEvicted: (connection: Connection) => void displaced.push(names.get(connection) ?? ''),
    onCreated() {},
    create,
  }
  const connections = createConnections(options)
  return { connections, states, awaiting, watched, busy, displaced, ...seen, seen, errors, found }
}

const fill = ({ connections }: ReturnType<typeof stage>) => {
  for (let index = 0; index < MOST_AGENTS; index++) connections.forCalls(`agent${index}`)
}
it('are at most 64 beside the main one: whoever comes then is refused', () => {
  const desk = stage({ isSeparate: true })
  fill(desk)
  expect(() => desk.connections.forCalls('late')).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }))
  expect(desk.connections.forCalls('agent0')).toBeDefined()
})

it('make room by those that sleep, then by those that cannot be reached', () => {
  const desk = stage({ isSeparate: true })
  fill(desk)
  desk.states.set('agent3', 'waiting')
  desk.states.set('agent7', 'idle')
  desk.connections.forCalls('late')
  expect(desk.stopped).toEqual(['agent7'])
  desk.connections.forCalls('later')
  expect(desk.stopped).toEqual(['agent7', 'agent3'])
  expect(desk.connections.all()).toHaveLength(MOST_AGENTS + 1)
})
describe('where all are taken by agents that are subscribed', () => {
  function watchedByAll() {
    const desk = stage({ isSeparate: true })
    for (let index = 0; index < MOST_AGENTS; index++) {
      desk.connections.forSubscriptions(`agent${index}`)
      desk.watched.add(`agent${index}`)
    }
    return desk
  }

  it('a call gets the place of one that cannot be reached', () => {
    const { connections, states, stopped, displaced } = watchedByAll()
    states.set('agent9', 'needsLogin')
    expect(connections.forCalls('late')).toBe(connections.own('late'))
    expect([stopped, displaced]).toEqual([['agent9'], ['agent9']])
  })

  it('a call gets the place of the one that was not called for the longest, and none on which a call is under way', () => {
    const { connections, busy, awaiting, displaced } = watchedByAll()
    for (let index = 0; index < MOST_AGENTS; index++) if (index !== 5) connections.forCalls(`agent${index}`)
    connections.forCalls('late')
    busy.set('agent0', 1)
    awaiting.add('agent1')
    connections.forCalls('later')
    expect(displaced).toEqual(['agent5', 'agent2'])
  })
})
it('are exchanged for the agent that has signed in or out, and for nobody else', () => {
  const { connections, seen, busy } = stage({ isSeparate: true })
  const [ada, bob, { main }] = [connections.forCalls('ada'), connections.forCalls('bob'), connections]
  busy.set('ada', 1)
  connections.onLoginChanged('ada')
  expect(seen).toMatchObject({ left: ['ada'], stopped: [], started: [] })
  expect(connections.forCalls('bob')).toBe(bob)
  expect(connections.main).toBe(main)
  expect(connections.forCalls('ada')).not.toBe(ada)
  // What is under way on the one before counts.
  busy.set('ada', 2)
  expect(connections.busy()).toBe(4)
})
it.each(['drain', 'stop'] as const)('are made no more after the end (%s)', async end => {
  const { connections, seen } = stage({ isSeparate: true })
  connections.forCalls('ada')
  await connections[end]('It was removed.')
  expect(seen[end === 'drain' ? 'left' : 'stopped']).toEqual(['main', 'ada'])
  expect(connections.forCalls('bob')).toBe(connections.forCalls('bob'))
  expect(seen.stopped.at(-1)).toBe('bob')
  connections.onLoginChanged(undefined)
  expect(seen.started).toEqual([])
})
