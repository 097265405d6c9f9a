import { describe, expect, it } from 'vitest'
import { createListeners } from '../../core/kernel/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createStartQueue } from './start-queue.ts'

interface Server {
  announce(): void
  start(): void
  isStarting(): boolean
  isUnseen(): boolean
  readonly isRemote: boolean
  /** Its start comes to an end, in whatever way. */
  settle(): void
}

/** A queue for two programs and three servers by HTTP at a time, and servers that tell what becomes of them. */
function situation() {
  const clock = createFakeClock()
  const states = createListeners({ onError: error => expect.unreachable(String(error)) })
  const queue = createStartQueue({ clock, most: 2, mostRemote: 3, onState: states.add })
  const announced: string[] = []
  const started: string[] = []

  function server(name: string, { isLazy = false, isRemote = false, isUnseen = false } = {}): Server {
    let isStarting = false
    const move = (to: boolean) => {
      isStarting = to
      states.notify()
    }
    return {
      announce: () => void announced.push(name),
      start() {
        if (isLazy) return
        started.push(name)
        move(true)
      },
      isStarting: () => isStarting,
      isUnseen: () => isUnseen,
      isRemote,
      settle: () => move(false),
    }
  }

  function add(...names: readonly string[]): Server[] {
    const servers = names.map(name => server(name))
    for (const one of servers) queue.add(one)
    return servers
  }

  return { clock, queue, add, server, announced, started }
}

describe('servers that are to be started', () => {
  it('are started a few at a time, in their order, the next when one is up or has failed', () => {
    const { queue, add, started } = situation()
    queue.open()
    const [a, b] = add('a', 'b', 'c', 'd')
    expect(started).toEqual(['a', 'b'])
    b?.settle()
    expect(started).toEqual(['a', 'b', 'c'])
    a?.settle()
    expect(started).toEqual(['a', 'b', 'c', 'd'])
  })
  it('do not wait for those that are reached by HTTP, however many of these never answer', async () => {
    const { clock, queue, add, server, started } = situation()
    queue.open()
    for (const name of ['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'h7']) queue.add(server(name, { isRemote: true }))
    add('a', 'b')
    expect(started).toEqual(['h1', 'h2', 'h3', 'a', 'b'])
    await clock.advance(500)
    expect(started.slice(5)).toEqual(['h4', 'h5', 'h6'])
  })

  it('are started first where somebody has seen them before', () => {
    const { queue, add, server, started } = situation()
    add('first')
    for (const name of ['new', 'newer']) queue.add(server(name, { isUnseen: true }))
    add('a')
    queue.open()
    expect(started).toEqual(['first', 'a'])
  })
})
