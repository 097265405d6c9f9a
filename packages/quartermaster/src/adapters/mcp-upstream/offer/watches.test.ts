import { expect, it } from 'vitest'
import type { Session } from '../session/session.ts'
import { createWatches } from './watches.ts'

function stage() {
  const wanted: string[][] = []
  const session = { watch: (uris: ReadonlySet<string>) => void wanted.push([...uris]) } as Session
  const server = { isAwake: true, starts: 0 }
  const main = { session: () => (server.isAwake ? session : undefined), start: () => void server.starts++ }
  return { watches: createWatches(() => main), session, server, wanted }
}

it('tell a server of each address once, however many want to hear of it', () => {
  const { watches, wanted } = stage()
  const stops = ['a', 'a', 'b'].map(uri => watches.add(uri, () => {}))
  expect(wanted).toEqual([['a'], ['a', 'b']])
  for (const stop of stops) stop()
  expect(wanted.slice(2)).toEqual([['b'], []])
})

it('reach whoever watches that address, and nobody else', () => {
  const { watches } = stage()
  const heard: string[] = []
  const stop = watches.add('a', () => heard.push('first'))
  watches.add('a', () => heard.push('second'))
  watches.add('b', () => heard.push('other'))
  watches.updated('a')
  stop()
  watches.updated('a')
  watches.updated('c')
  expect(heard).toEqual(['first', 'second', 'second'])
})

it('go on over a new session, where there are any', () => {
  const { watches, session, wanted } = stage()
  watches.apply(session)
  expect(wanted).toEqual([])
  watches.add('a', () => {})
  watches.apply(session)
  expect(wanted).toEqual([['a'], ['a']])
})

it('may be stopped twice, also when the address is watched again', () => {
  const { watches, wanted } = stage()
  const stop = watches.add('a', () => {})
  stop()
  watches.add('a', () => {})
  stop()
  expect(wanted).toEqual([['a'], [], ['a']])
})

it('wake a server that sleeps, and say that it is needed as long as anybody watches', () => {
  const { watches, server } = stage()
  expect(watches.isWatched()).toBe(false)
  server.isAwake = false
  const stop = watches.add('a', () => {})
  expect(server.starts).toBe(1)
  expect(watches.isWatched()).toBe(true)
  stop()
  expect(watches.isWatched()).toBe(false)
})
