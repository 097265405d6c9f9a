import { describe, expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { createMemoryStore } from '../../testing/memory-store.ts'
import { openMessages } from '../../testing/message-fixture.ts'
import type { Store } from '../store/index.ts'

const LEASE_MS = 120_000

describe('a reader that leaves', () => {
  it('leaves what it had in hand to the others at once, and what others have to them', async () => {
    const { messages, workspaces, say, texts } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    await say(ada, bob, 'a1', 'a')
    await say(ada, bob, 'b1', 'b')
    expect([await texts(bob, 'r1', 1), await texts(bob, 'r2', 1)]).toEqual([['a1'], ['b1']])
    expect(await texts(bob, 'r3')).toEqual([])
    await messages.inbox.leave('r1')
    expect(await texts(bob, 'r3')).toEqual(['a1'])
    expect(await texts(bob, 'r2')).toEqual(['b1'])
  })

  it('ends what it waits for, and wakes whoever waits for what it had', async () => {
    const { messages, workspaces, say, texts } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    await say(ada, bob, 'a1', 'a')
    await texts(bob, 'r1')
    const wait = (reader: string, after?: number) =>
      messages.inbox.take({ workspace: bob, reader, limit: 1, waitMs: 300_000, after })
    const [own, next] = [wait('r1', 1), wait('r2')]
    await expect.poll(() => messages.watchers.count()).toBe(2)
    await messages.inbox.leave('r1')
    expect((await own).rows).toEqual([])
    expect((await next).rows).toMatchObject([{ text: 'a1' }])
  })

  it('keeps nothing that it was about to get', async () => {
    const base = createMemoryStore()
    const leasing = deferred<void>()
    const goOn = deferred<void>()
    const store: Store = {
      ...base,
      async commit(writes) {
        if (writes.some(write => write.kind === 'update' && write.table === 'inbox' && write.set.leaseOwner === 'r1')) {
          leasing.resolve()
          await goOn.promise
        }
        return base.commit(writes)
      },
    }
    const { messages, workspaces, say, texts } = await openMessages({ store })
    const { ada, bob } = await workspaces('ada', 'bob')
    await say(ada, bob, 'a1')
    const taking = messages.inbox.take({ workspace: bob, reader: 'r1', limit: 1 })
    await leasing.promise
    const leaving = messages.inbox.leave('r1')
    goOn.resolve()
    await Promise.all([taking, leaving])
    expect(await texts(bob, 'r2')).toEqual(['a1'])
  })

  it('costs the store nothing when it had nothing, and may come back', async () => {
    const base = createMemoryStore()
    let commits = 0
    const store: Store = { ...base, commit: writes => (commits++, base.commit(writes)) }
    const { messages, workspaces, say, texts } = await openMessages({ store })
    const { ada, bob } = await workspaces('ada', 'bob')
    await texts(bob, 'r1')
    commits = 0
    await messages.inbox.leave('r1')
    await messages.inbox.leave('never seen')
    expect(commits).toBe(0)
    await say(ada, bob, 'a1')
    expect(await texts(bob, 'r1')).toEqual(['a1'])
  })
})

describe('a process that is gone', () => {
  it('leaves what its sessions had in hand to the others, and keeps what those of running processes have', async () => {
    const { messages, another, store, clock, workspaces, say, texts } = await openMessages()
    const elsewhere = another(undefined, store, clock, 'process_gone')
    const { ada, bob } = await workspaces('ada', 'bob')
    for (const text of ['a1', 'b1', 'c1']) await say(ada, bob, text, text)
    const take = (reader: string) => elsewhere.inbox.take({ workspace: bob, reader, limit: 1 })
    await take('token_1 session_1')
    await take('token_1')
    expect(await texts(bob, 'run_1')).toEqual(['c1'])
    await messages.inbox.releaseOrphans(async () => new Set(['process_test', 'process_gone']))
    expect(await texts(bob, 'token_2')).toEqual([])
    await messages.inbox.releaseOrphans(async () => new Set(['process_test']))
    expect(await texts(bob, 'token_2')).toEqual(['a1'])
    expect(await texts(bob, 'run_1')).toEqual(['c1'])
  })
})

describe('what other readers have in hand', () => {
  it('is told with every answer, by how much it is and when the first of it is free', async () => {
    const { messages, workspaces, say, texts, clock } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    const start = clock.now()
    await say(ada, bob, 'a1', 'a')
    await say(ada, bob, 'b1', 'b')
    await texts(bob, 'r1', 1)
    await clock.advance(1_000)
    await texts(bob, 'r2', 1)
    const held = { messages: 2, until: start + LEASE_MS }
    const take = (reader: string, waitMs = 0) =>
      messages.inbox.take({ workspace: bob, reader, limit: 10, waitMs }).then(taken => taken.held)
    expect(await take('r3')).toEqual(held)
    expect(await messages.inbox.heldFrom(bob, 'r3')).toEqual(held)
    expect(await take('r2')).toEqual({ messages: 1, until: start + LEASE_MS })
    const waiting = take('r3', 5_000)
    await clock.advance(5_000)
    expect(await waiting).toEqual(held)
    await messages.inbox.leave('r1')
    await messages.inbox.leave('r2')
    expect(await take('r3')).toBeUndefined()
  })
})
