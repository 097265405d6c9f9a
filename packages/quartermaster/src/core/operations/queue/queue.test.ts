import { describe, expect, it } from 'vitest'
import type { NewRow } from '../../../contracts/index.ts'
import { createHub, DOWN, fakeService, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import { memoryStorage } from '../../../testing/memory-store.ts'
import { operation } from '../../../testing/store-contract/stage.ts'
import { insert } from '../../store/index.ts'

const MINUTE_MS = 60_000

/** A process that finds operations in its store which others left: of a tool that lacks something, and of one that does not. */
async function taskedWith(rows: (now: number) => readonly NewRow<'operations'>[]) {
  const storage = memoryStorage()
  const post = fakeService('post', DOWN)
  const tools = [
    simpleTool('send', { mutates: true, requires: ['post'] }),
    simpleTool('write', { mutates: true, idempotent: true, retry: 'replay' }),
  ]
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', tools)], dependencies: [post.dependency] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
  })
  await storage.store.commit(rows(Math.round(hub.clock.now())).map(row => insert('operations', row)))
  hub.work()
  for (let i = 0; i < 20; i++) await hub.clock.advance(1)
  return { hub, store: storage.store }
}

describe('a queue with much in it', () => {
  it('finds the one that can go on behind a thousand that wait for something that is missing', async () => {
    const { store } = await taskedWith(now => {
      const waiting = { state: 'queued', dueAt: null, expiresAt: now + MINUTE_MS } as const
      const many = Array.from({ length: 1_200 }, (_, i) => operation(`op_${i}`, { ...waiting, tool: 'send' }))
      return [...many, operation('other', { ...waiting, tool: 'write', expiresAt: now + 2 * MINUTE_MS })]
    })
    expect(await store.count('operations', { state: 'queued' })).toBe(1_200)
    expect(await store.get('operations', 'other')).toMatchObject({ attempts: 1 })
  })

  it('gives up all that have waited too long, however many, and runs none of them', async () => {
    const { store } = await taskedWith(now => {
      const old = { state: 'queued', tool: 'write', dueAt: now - 1, expiresAt: now } as const
      return Array.from({ length: 300 }, (_, i) => operation(`op_${i}`, old))
    })
    expect(await store.count('operations', { state: 'expired' })).toBe(300)
    expect(await store.count('operations', { state: 'expired', attempts: 0 })).toBe(300)
  })
})
