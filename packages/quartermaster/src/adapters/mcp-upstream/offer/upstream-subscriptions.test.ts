import { describe, expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import type { Session } from '../peer/session.ts'
import { createUpstreamSubscriptions, type SubscriptionConnection } from './upstream-subscriptions.ts'

/** A connection to a server that is awake or not, and what it was told to listen for. */
function hearing() {
  const wanted: string[][] = []
  const session = { watch: (uris: ReadonlySet<string>) => void wanted.push([...uris]) } as Session
  const server = { isAwake: true, starts: 0 }
  const connection: SubscriptionConnection = {
    session: () => (server.isAwake ? session : undefined),
    start: () => void server.starts++,
  }
  return { connection, session, server, wanted }
}

/** Everybody has the same connection, but for agents that are given one of their own. */
function stage() {
  const all = hearing()
  const own = new Map<string, SubscriptionConnection>()
  const left = new Set<SubscriptionConnection>()
  const notes: string[] = []
  const subscriptions = createUpstreamSubscriptions({
    connectionOf: agent => own.get(agent) ?? all.connection,
    isInUse: connection => !left.has(connection),
    note: text => void notes.push(text),
  })
  const add = (uri: string, onUpdated = () => {}) => subscriptions.add('ada', uri, onUpdated)
  const apply = () => subscriptions.apply(all.connection, all.session)
  const updated = (uri: string) => subscriptions.updated(all.connection, uri)
  const isWatched = () => subscriptions.isWatched(all.connection)
  return { subscriptions, add, apply, updated, isWatched, own, left, notes, ...all }
}

it('tell a server of each address once, however many want to hear of it', () => {
  const { add, wanted } = stage()
  const stops = ['a', 'a', 'b'].map(uri => add(uri, () => {}))
  expect(wanted).toEqual([['a'], ['a', 'b']])
  for (const stop of stops) stop()
  expect(wanted.slice(2)).toEqual([['b'], []])
})

it('reach whoever watches that address, and nobody else', () => {
  const { add, updated } = stage()
  const heard: string[] = []
  const stop = add('a', () => heard.push('first'))
  add('a', () => heard.push('second'))
  add('b', () => heard.push('other'))
  updated('a')
  stop()
  updated('a')
  updated('c')
  expect(heard).toEqual(['first', 'second', 'second'])
})

it('go on over a new session, where there are any', () => {
  const { add, apply, wanted } = stage()
  apply()
  expect(wanted).toEqual([])
  add('a', () => {})
  apply()
  expect(wanted).toEqual([['a'], ['a']])
})

it('may be stopped twice, also when the address is watched again', () => {
  const { add, wanted } = stage()
  const stop = add('a', () => {})
  stop()
  add('a', () => {})
  stop()
  expect(wanted).toEqual([['a'], [], ['a']])
})

it('wake a server that sleeps, and say that it is needed as long as anybody watches', () => {
  const { add, isWatched, server } = stage()
  expect(isWatched()).toBe(false)
  server.isAwake = false
  const stop = add('a', () => {})
  expect(server.starts).toBe(1)
  expect(isWatched()).toBe(true)
  stop()
  expect(isWatched()).toBe(false)
})

it('tell whoever waits that something may have changed, whenever they begin over a new session', () => {
  const { add, apply } = stage()
  const heard: string[] = []
  for (const uri of ['a', 'b']) add(uri, () => heard.push(uri))
  expect(heard).toEqual([])
  apply()
  expect(heard).toEqual(['a', 'b'])
})

describe('that are handed over', () => {
  function handedOver({ isAwake }: { isAwake: boolean }) {
    const [before, after] = [stage(), stage()]
    after.server.isAwake = isAwake
    const heard: string[] = []
    const stops = ['a', 'b'].map(uri => before.add(uri, () => heard.push(uri)))
    before.subscriptions.handOver(after.subscriptions)
    return { before, after, heard, stops }
  }

  it('go on at the next server, and ask nothing more of the one before', () => {
    const { before, after, heard } = handedOver({ isAwake: true })
    expect([before.isWatched(), after.isWatched()]).toEqual([false, true])
    expect(before.wanted).toEqual([['a'], ['a', 'b']])
    expect(after.wanted).toEqual([['a', 'b']])
    expect(heard.splice(0)).toEqual(['a', 'b'])
    before.updated('a')
    after.updated('b')
    expect(heard).toEqual(['b'])
  })

  it('wake one that sleeps, and tell once it is there', () => {
    const { after, heard } = handedOver({ isAwake: false })
    expect(after.server.starts).toBe(1)
    expect(heard).toEqual([])
    after.apply()
    expect(heard).toEqual(['a', 'b'])
  })

  it('are stopped where they are, however often they were handed over', () => {
    const { after, stops } = handedOver({ isAwake: true })
    const last = stage()
    after.subscriptions.handOver(last.subscriptions)
    for (const stop of [...stops, ...stops]) stop()
    expect(last.wanted).toEqual([['a', 'b'], ['b'], []])
    expect(after.wanted).toEqual([['a', 'b']])
    expect(last.isWatched()).toBe(false)
  })

  it('wake nobody where nobody waits', () => {
    const [before, after] = [stage(), stage()]
    after.server.isAwake = false
    before.subscriptions.handOver(after.subscriptions)
    expect(after.server.starts).toBe(0)
  })
})

describe('of an agent that is given a connection of its own', () => {
  function moved() {
    const desk = stage()
    const heard: string[] = []
    const add = (agent: string, uri = 'a') => desk.subscriptions.add(agent, uri, () => heard.push(agent))
    const stops = ['ada', 'bob'].map(agent => add(agent))
    add('ada', 'b')
    const own = hearing()
    desk.own.set('ada', own.connection)
    return { ...desk, own, give: desk.own, heard, stops }
  }

  it('go over to it, which is told once of each, and leave the others where they are', () => {
    const { subscriptions, connection, wanted, own, heard } = moved()
    wanted.length = 0
    subscriptions.settle()
    expect([wanted, own.wanted, heard.splice(0)]).toEqual([[['a']], [['a', 'b']], ['ada', 'ada']])
    subscriptions.updated(connection, 'a')
    expect(heard.splice(0)).toEqual(['bob'])
    subscriptions.updated(own.connection, 'a')
    expect(heard).toEqual(['ada'])
  })

  it('are heard once it is there, where it has to be started first', () => {
    const { subscriptions, own, heard } = moved()
    own.server.isAwake = false
    subscriptions.settle()
    expect([own.server.starts, heard.splice(0)]).toEqual([1, []])
    subscriptions.apply(own.connection, own.session)
    expect([own.wanted, heard]).toEqual([[['a', 'b']], ['ada', 'ada']])
  })

  it('ask nothing more of one that was left, whatever it still says', () => {
    const { subscriptions, connection, wanted, own, give, left, heard, stops } = moved()
    give.set('bob', own.connection)
    left.add(connection)
    wanted.length = 0
    subscriptions.settle()
    heard.length = 0
    subscriptions.updated(connection, 'a')
    for (const stop of stops) stop()
    expect([wanted, heard, subscriptions.isWatched(connection)]).toEqual([[], [], false])
  })

  it('stay as they are where nothing has changed for anybody', () => {
    const { subscriptions, wanted, own, heard } = moved()
    subscriptions.settle()
    for (const list of [wanted, own.wanted, heard]) list.length = 0
    subscriptions.settle()
    expect([wanted, own.wanted, heard]).toEqual([[], [], []])
  })

  it('wait where there is no room for it, and go over once there is', () => {
    const { subscriptions, own, give, heard, notes } = moved()
    const full: Pick<typeof give, 'get'> = {
      get() {
        throw new AppError('RATE_LIMITED', 'Wait for one to be done.')
      },
    }
    const { get } = give
    Object.assign(give, full)
    subscriptions.settle()
    expect(notes).toContain('[ada] Nothing is heard of changes at "a": Wait for one to be done.')
    Object.assign(give, { get })
    subscriptions.settle()
    expect(own.wanted).toEqual([['a', 'b']])
    expect(heard).toContain('ada')
  })
})

it('go on to everybody else where somebody fails at what it hears, and say so to people', () => {
  const { add, apply, updated, notes } = stage()
  const heard: string[] = []
  add('a', () => {
    throw new Error('The client is gone.')
  })
  add('a', () => heard.push('second'))
  apply()
  updated('a')
  expect(heard).toEqual(['second', 'second'])
  expect(notes).toContain('A subscriber could not be notified of a change: The client is gone.')
})
