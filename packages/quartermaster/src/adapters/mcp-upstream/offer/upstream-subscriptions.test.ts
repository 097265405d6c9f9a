import { describe, expect, it } from 'vitest'
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

it('tell whoever waits that something may have changed, whenever they begin over a new session', () => {
  const { subscriptions, session } = stage()
  const heard: string[] = []
  for (const uri of ['a', 'b']) subscriptions.add(uri, () => heard.push(uri))
  expect(heard).toEqual([])
  subscriptions.apply(session)
  expect(heard).toEqual(['a', 'b'])
})

describe('that are handed over', () => {
  function handedOver({ isAwake }: { isAwake: boolean }) {
    const [before, after] = [stage(), stage()]
    after.server.isAwake = isAwake
    const heard: string[] = []
    const stops = ['a', 'b'].map(uri => before.subscriptions.add(uri, () => heard.push(uri)))
    before.subscriptions.handOver(after.subscriptions)
    return { before, after, heard, stops }
  }

  it('go on at the next server, and ask nothing more of the one before', () => {
    const { before, after, heard } = handedOver({ isAwake: true })
    expect([before.subscriptions.isWatched(), after.subscriptions.isWatched()]).toEqual([false, true])
    expect(before.wanted).toEqual([['a'], ['a', 'b']])
    expect(after.wanted).toEqual([['a', 'b']])
    expect(heard.splice(0)).toEqual(['a', 'b'])
    before.subscriptions.updated('a')
    after.subscriptions.updated('b')
    expect(heard).toEqual(['b'])
  })

  it('wake one that sleeps, and tell once it is there', () => {
    const { after, heard } = handedOver({ isAwake: false })
    expect(after.server.starts).toBe(1)
    expect(heard).toEqual([])
    after.subscriptions.apply(after.session)
    expect(heard).toEqual(['a', 'b'])
  })

  it('are stopped where they are, however often they were handed over', () => {
    const { after, stops } = handedOver({ isAwake: true })
    const last = stage()
    after.subscriptions.handOver(last.subscriptions)
    for (const stop of [...stops, ...stops]) stop()
    expect(last.wanted).toEqual([['a', 'b'], ['b'], []])
    expect(after.wanted).toEqual([['a', 'b']])
    expect(last.subscriptions.isWatched()).toBe(false)
  })

  it('wake nobody where nobody waits', () => {
    const [before, after] = [stage(), stage()]
    after.server.isAwake = false
    before.subscriptions.handOver(after.subscriptions)
    expect(after.server.starts).toBe(0)
  })
})
