import { describe, expect, it } from 'vitest'
import type { Session } from '../peer/session.ts'
import { createUpstreamSubscriptions, type SubscriptionConnection } from './upstream-subscriptions.ts'

/** A connection to a server that is awake or not, and what it was told to listen for. */
function hearing() {
  const wanted: string[][] = []
  const session = { subscribeTo: (uris: ReadonlySet<string>) => void wanted.push([...uris]) } as Session
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
  const apply = () => subscriptions.onConnected(all.connection, all.session)
  const updated = (uri: string) => subscriptions.onUpdated(all.connection, uri)
  const isWatched = () => subscriptions.hasSubscribers(all.connection)
  return { subscriptions, add, apply, updated, isWatched, own, left, notes, ...all }
}

it('go on over a new session, where there are any', () => {
  const { add, apply, wanted } = stage()
  apply()
  expect(wanted).toEqual([])
  add('a', () => {})
  apply()
  expect(wanted).toEqual([['a'], ['a']])
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
