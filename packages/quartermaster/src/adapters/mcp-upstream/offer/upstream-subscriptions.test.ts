import { expect, it } from 'vitest'
import type { Session } from '../session/session.ts'
import { createUpstreamSubscriptions } from './upstream-subscriptions.ts'

function stage() {
  const wanted: string[][] = []
  const session = { watch: (uris: ReadonlySet<string>) => void wanted.push([...uris]) } as Session
  const server = { isAwake: true, starts: 0 }
  const main = { session: () => (server.isAwake ? session : undefined), start: () => void server.starts++ }
  return { subscriptions: createUpstreamSubscriptions(() => main), session, server, wanted }
}

it('tell a server of each address once, however many want to hear of it', () => {
  const { subscriptions, wanted } = stage()
  const stops = ['a', 'a', 'b'].map(uri => subscriptions.add(uri, () => {}))
  expect(wanted).toEqual([['a'], ['a', 'b']])
  for (const stop of stops) stop()
  expect(wanted.slice(2)).toEqual([['b'], []])
})

it('reach whoever watches that address, and nobody else', () => {
  const { subscriptions } = stage()
  const heard: string[] = []
  const stop = subscriptions.add('a', () => heard.push('first'))
  subscriptions.add('a', () => heard.push('second'))
  subscriptions.add('b', () => heard.push('other'))
  subscriptions.updated('a')
  stop()
  subscriptions.updated('a')
  subscriptions.updated('c')
  expect(heard).toEqual(['first', 'second', 'second'])
})

it('go on over a new session, where there are any', () => {
  const { subscriptions, session, wanted } = stage()
  subscriptions.apply(session)
  expect(wanted).toEqual([])
  subscriptions.add('a', () => {})
  subscriptions.apply(session)
  expect(wanted).toEqual([['a'], ['a']])
})

it('may be stopped twice, also when the address is watched again', () => {
  const { subscriptions, wanted } = stage()
  const stop = subscriptions.add('a', () => {})
  stop()
  subscriptions.add('a', () => {})
  stop()
  expect(wanted).toEqual([['a'], [], ['a']])
})

it('wake a server that sleeps, and say that it is needed as long as anybody watches', () => {
  const { subscriptions, server } = stage()
  expect(subscriptions.isWatched()).toBe(false)
  server.isAwake = false
  const stop = subscriptions.add('a', () => {})
  expect(server.starts).toBe(1)
  expect(subscriptions.isWatched()).toBe(true)
  stop()
  expect(subscriptions.isWatched()).toBe(false)
})
