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
      async leave() {
        left.push(agent)
        if (busy.has(agent)) await new Promise(() => {})
      },
      isAwaited: () => awaiting.has(agent),
      lastError: () => errors.get(agent),
      stop: async () => void stopped.push(agent),
      restart: async () => void restarted.push(agent),
      look: async () => found.shift()?.() ?? { up: true },
    }
    names.set(connection as Connection, agent)
    return connection as Connection
  }
  const seen = { stopped, restarted, left, started }
  const options = {
    upstream: 'desk',
    isSeparate,
    hasCredentials: (agent: string) => withCredentials.includes(agent),
    isMetAs: (agent: string) => agent === metAs,
    isWatched: (connection: Connection) => watched.has(names.get(connection) ?? ''),
    onDisplaced: (connection: Connection) => void displaced.push(names.get(connection) ?? ''),
    onMade() {},
    create,
  }
  const connections = createConnections(options)
  return { connections, states, awaiting, watched, busy, displaced, ...seen, seen, errors, found }
}

const fill = ({ connections }: ReturnType<typeof stage>) => {
  for (let index = 0; index < MOST_AGENTS; index++) connections.of(`agent${index}`)
}

it('are one for all agents, but for those with credentials of their own', () => {
  const { connections } = stage({ withCredentials: ['ada'] })
  expect(connections.of('bob')).toBe(connections.main)
  expect(connections.of('ada')).not.toBe(connections.main)
  expect(connections.of('ada')).toBe(connections.of('ada'))
})

it('are let go of, when all are restarted, by those that have no credentials any more', async () => {
  const withCredentials = ['ada', 'bob']
  const { connections, stopped, restarted } = stage({ withCredentials })
  for (const agent of withCredentials) connections.of(agent)
  withCredentials.shift()
  await connections.restart()
  expect({ stopped, restarted }).toEqual({ stopped: ['ada'], restarted: ['main', 'bob'] })
  expect(connections.of('ada')).toBe(connections.main)
})

it('can be looked at without being made', () => {
  const { connections } = stage({ isSeparate: true })
  expect(connections.own('ada')).toBeUndefined()
  expect(connections.all()).toHaveLength(1)
  const made = connections.of('ada')
  expect(connections.own('ada')).toBe(made)
})

it('are one for each agent from the moment on they are separated', () => {
  const { connections } = stage()
  connections.separate('crowded')
  expect(connections.isSeparate()).toBe(true)
  expect(connections.of('bob')).not.toBe(connections.of('cy'))
  expect(connections.all()).toHaveLength(3)
})

it('are at most 64 beside the main one: whoever comes then is refused', () => {
  const desk = stage({ isSeparate: true })
  fill(desk)
  expect(() => desk.connections.of('late')).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }))
  expect(desk.connections.of('agent0')).toBeDefined()
})

it('make room by those that sleep, then by those that cannot be reached', () => {
  const desk = stage({ isSeparate: true })
  fill(desk)
  desk.states.set('agent3', 'waiting')
  desk.states.set('agent7', 'idle')
  desk.connections.of('late')
  expect(desk.stopped).toEqual(['agent7'])
  desk.connections.of('later')
  expect(desk.stopped).toEqual(['agent7', 'agent3'])
  expect(desk.connections.all()).toHaveLength(MOST_AGENTS + 1)
})

it('make no room by one that somebody waits for', () => {
  const desk = stage({ isSeparate: true })
  fill(desk)
  desk.states.set('agent3', 'waiting')
  desk.awaiting.add('agent3')
  expect(() => desk.connections.of('late')).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }))
  desk.states.set('agent7', 'waiting')
  desk.connections.of('late')
  expect(desk.stopped).toEqual(['agent7'])
})

it('make no room by one on which somebody waits to be told of changes, where there is another', () => {
  const desk = stage({ isSeparate: true })
  fill(desk)
  for (const agent of ['agent3', 'agent7']) desk.states.set(agent, 'idle')
  desk.watched.add('agent3')
  desk.connections.of('late')
  expect(desk.stopped).toEqual(['agent7'])
  expect(() => desk.connections.toHear('later')).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }))
})

describe('where all are taken by agents that are subscribed', () => {
  function watchedByAll() {
    const desk = stage({ isSeparate: true })
    for (let index = 0; index < MOST_AGENTS; index++) {
      desk.connections.toHear(`agent${index}`)
      desk.watched.add(`agent${index}`)
    }
    return desk
  }

  it('a call gets the place of one that cannot be reached', () => {
    const { connections, states, stopped, displaced } = watchedByAll()
    states.set('agent9', 'needsLogin')
    expect(connections.of('late')).toBe(connections.own('late'))
    expect([stopped, displaced]).toEqual([['agent9'], ['agent9']])
  })

  it('a call gets the place of the one that was not called for the longest, and none on which a call is under way', () => {
    const { connections, busy, awaiting, displaced } = watchedByAll()
    for (let index = 0; index < MOST_AGENTS; index++) if (index !== 5) connections.of(`agent${index}`)
    connections.of('late')
    busy.set('agent0', 1)
    awaiting.add('agent1')
    connections.of('later')
    expect(displaced).toEqual(['agent5', 'agent2'])
  })

  it('a call waits where calls are under way on all of them', () => {
    const { connections, busy } = watchedByAll()
    for (let index = 0; index < MOST_AGENTS; index++) busy.set(`agent${index}`, 1)
    expect(() => connections.of('late')).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }))
  })

  it('one more that is subscribed takes the place of nobody', () => {
    const { connections, states, stopped } = watchedByAll()
    states.set('agent9', 'needsLogin')
    expect(() => connections.toHear('late')).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }))
    expect(stopped).toEqual([])
  })
})

it('are one for all again once the login of all is another one, where nobody was let in without', () => {
  const { connections } = stage()
  connections.separate('refused')
  connections.exchange('ada')
  expect(connections.isSeparate()).toBe(true)
  connections.exchange(undefined)
  expect(connections.of('bob')).toBe(connections.main)
})

it('stay one for each agent whatever becomes of logins, where clients were in the way of each other', () => {
  const { connections } = stage()
  for (const why of ['refused', 'crowded'] as const) connections.separate(why)
  connections.exchange(undefined)
  expect(connections.isSeparate()).toBe(true)
})

it('tell what went wrong last, and before that what is not over', () => {
  const { connections, errors } = stage({ isSeparate: true })
  for (const agent of ['ada', 'bob']) connections.of(agent)
  expect(connections.lastError()).toBeUndefined()
  for (const [agent, at] of [
    ['main', 1],
    ['ada', 3],
    ['bob', 2],
  ] as const)
    errors.set(agent, { message: agent, at })
  expect(connections.lastError()?.message).toBe('ada')
  errors.set('main', { message: 'main', at: 1, isStanding: true })
  expect(connections.lastError()?.message).toBe('main')
})

it('are restarted and stopped all together', async () => {
  const { connections, stopped, restarted } = stage({ isSeparate: true })
  connections.of('ada')
  await connections.restart()
  await connections.stop('It was removed.')
  expect(restarted).toEqual(['main', 'ada'])
  expect(stopped).toEqual(['main', 'ada'])
})

it('are exchanged for the agent that has signed in or out, and for nobody else', () => {
  const { connections, seen, busy } = stage({ isSeparate: true })
  const [ada, bob, { main }] = [connections.of('ada'), connections.of('bob'), connections]
  busy.set('ada', 1)
  connections.exchange('ada')
  expect(seen).toMatchObject({ left: ['ada'], stopped: [], started: [] })
  expect(connections.of('bob')).toBe(bob)
  expect(connections.main).toBe(main)
  expect(connections.of('ada')).not.toBe(ada)
  // What is under way on the one before counts.
  busy.set('ada', 2)
  expect(connections.busy()).toBe(4)
})

it('are exchanged all when the login of all is another one, and that by which the server is known is started', () => {
  const { connections, seen } = stage({ isSeparate: true })
  const { main } = connections
  connections.of('ada')
  connections.exchange(undefined)
  expect(seen).toEqual({ left: ['ada', 'main'], stopped: [], restarted: [], started: ['main'] })
  expect(connections.main).not.toBe(main)
  expect(connections.all()).toHaveLength(1)
})

it.each([
  ['ended', async () => ({ up: false, reason: 'Somebody has signed in.' }) as const],
  ['gave no answer', () => Promise.reject(new Error('It did not answer.'))],
])(
  'say of the server what the one says that has its place by now, where the one that was looked at %s',
  async (_, end) => {
    const { connections, found } = stage()
    found.push(end)
    const looking = connections.look(new AbortController().signal)
    connections.exchange(undefined)
    expect(await looking).toEqual({ up: true })
  },
)

it('are exchanged with the one by which the server is known where that is not let in', () => {
  const { connections, states, seen } = stage()
  states.set('main', 'needsLogin')
  connections.exchange('ada')
  expect(seen).toMatchObject({ left: ['main'], started: ['main'] })
})

it('are exchanged with the one by which the server is known where that was opened in the name of the agent', () => {
  const { connections, seen } = stage({ metAs: 'ada' })
  const { main } = connections
  connections.exchange('bob')
  expect(connections.main).toBe(main)
  connections.exchange('ada')
  expect(connections.main).not.toBe(main)
  expect(seen).toMatchObject({ left: ['main'], started: ['main'], stopped: [] })
})

it('end also what was left when they are restarted, and are all named until then', async () => {
  const { connections, seen, busy } = stage({ isSeparate: true })
  const [ada, { main }] = [connections.of('ada'), connections]
  for (const agent of ['ada', 'main']) busy.set(agent, 1)
  connections.exchange(undefined)
  expect(connections.withLeft()).toEqual([connections.main, ada, main])
  expect(connections.all()).toEqual([connections.main])
  await connections.restart()
  expect(seen).toMatchObject({ stopped: ['ada', 'main'], restarted: ['main'] })
})

it('count each of those that are left once', () => {
  const { connections, busy } = stage()
  busy.set('main', 2)
  void connections.leave('It was removed.')
  expect([connections.busy(), connections.withLeft().length]).toEqual([2, 1])
})

it.each(['leave', 'stop'] as const)('are made no more after the end (%s)', async end => {
  const { connections, seen } = stage({ isSeparate: true })
  connections.of('ada')
  await connections[end]('It was removed.')
  expect(seen[end === 'leave' ? 'left' : 'stopped']).toEqual(['main', 'ada'])
  expect(connections.of('bob')).toBe(connections.of('bob'))
  expect(seen.stopped.at(-1)).toBe('bob')
  connections.exchange(undefined)
  expect(seen.started).toEqual([])
})
