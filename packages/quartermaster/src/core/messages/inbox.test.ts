import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../../testing/memory-store.ts'
import { openMessages } from '../../testing/message-fixture.ts'
import type { NewsListener, Store, StoreNews } from '../store/index.ts'
import { createWatchers } from './index.ts'

describe('an inbox', () => {
  it('shows what waits in its order until it is acknowledged, and that only once', async () => {
    const { messages, workspaces, say, texts } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    const first = await say(ada, bob, 'one')
    await say(ada, bob, 'two')
    expect([await texts(bob), await texts(bob), await texts(ada)]).toEqual([['one', 'two'], ['one', 'two'], []])
    const id = first.activityId.replace(/_out$/, '_in')
    expect(await messages.inbox.pop(ada, id)).toBe(false)
    expect([await messages.inbox.pop(bob, id), await messages.inbox.pop(bob, id)]).toEqual([true, false])
    expect(await texts(bob)).toEqual(['two'])
  })

  it('is read in pages', async () => {
    const { messages, workspaces, say } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    for (const text of ['one', 'two', 'three']) await say(ada, bob, text)
    const take = (after?: number) => messages.inbox.take({ workspace: bob, reader: 'r', limit: 2, after })
    const page = await take()
    const rest = await take(page.next)
    expect([page, rest].map(({ rows }) => rows.map(({ text }) => text))).toEqual([['one', 'two'], ['three']])
    expect([page.next, rest.next]).toEqual([2, undefined])
  })

  it('gives a conversation to one reader at a time, and to another when the lease is over', async () => {
    const { workspaces, say, texts, clock } = await openMessages({ settings: { inboxLeaseSeconds: 60 } })
    const { ada, bob } = await workspaces('ada', 'bob')
    await say(ada, bob, 'a1', 'a')
    await say(ada, bob, 'b1', 'b')
    await say(ada, bob, 'a2', 'a')
    expect(await texts(bob, 'r1', 1)).toEqual(['a1'])
    expect(await texts(bob, 'r2')).toEqual(['b1'])
    await clock.advance(40_000)
    // Whoever asks again keeps what it has.
    expect(await texts(bob, 'r1')).toEqual(['a1', 'a2'])
    await clock.advance(30_000)
    expect(await texts(bob, 'r2')).toEqual(['b1'])
    await clock.advance(30_000)
    expect(await texts(bob, 'r2')).toEqual(['a1', 'b1', 'a2'])
  })
})

describe('waiting', () => {
  const waitFor = 60_000

  it('ends with what comes, as soon as it is written', async () => {
    const { messages, workspaces, say } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    const waiting = messages.inbox.take({ workspace: bob, reader: 'r', limit: 1, waitMs: waitFor })
    await say(ada, bob, 'here')
    expect((await waiting).rows.map(({ text }) => text)).toEqual(['here'])
    expect(messages.watchers.count()).toBe(0)
  })

  it('ends with nothing when the time is over or the reader goes, and is to be repeated when everything stops', async () => {
    const { messages, workspaces, clock } = await openMessages()
    const { bob } = await workspaces('bob')
    const going = new AbortController()
    const wait = (waitMs: number, signal?: AbortSignal) =>
      messages.inbox.take({ workspace: bob, reader: 'r', limit: 1, waitMs, signal })
    const [late, gone, stopped] = [wait(5_000), wait(waitFor, going.signal), wait(waitFor)]
    expect(messages.watchers.count()).toBe(3)
    await clock.advance(5_000)
    expect((await late).rows).toEqual([])
    going.abort()
    expect((await gone).rows).toEqual([])
    expect(messages.watchers.count()).toBe(1)
    messages.stop()
    await expect(stopped).rejects.toMatchObject({ code: 'STOPPING', retry: 'later' })
    expect(messages.watchers.count()).toBe(0)
  })

  it('goes on when another reader acknowledges, and when its lease runs out', async () => {
    const { messages, workspaces, say, texts, clock } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    const first = await say(ada, bob, 'a1', 'a')
    await say(ada, bob, 'a2', 'a')
    await texts(bob, 'r1', 1)
    const next = messages.inbox.take({ workspace: bob, reader: 'r2', limit: 1, waitMs: waitFor })
    expect(messages.watchers.count()).toBe(1)
    await messages.inbox.pop(bob, first.activityId.replace(/_out$/, '_in'))
    expect((await next).rows.map(({ text }) => text)).toEqual(['a2'])
    const later = messages.inbox.take({ workspace: bob, reader: 'r3', limit: 1, waitMs: 600_000 })
    await clock.advance(120_000)
    expect((await later).rows.map(({ text }) => text)).toEqual(['a2'])
  })

  it('hears of what another process writes, and looks by itself while nothing is heard', async () => {
    const { another, workspaces, say, clock } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    const line = createLine()
    const elsewhere = another(line)
    const wait = () => elsewhere.inbox.take({ workspace: bob, reader: 'r', limit: 1, waitMs: waitFor })
    const heard = wait()
    expect(elsewhere.watchers.count()).toBe(1)
    const { activityId } = await say(ada, bob, 'one')
    line.each(listener => listener.changed([{ table: 'activity', ids: [bob.id] }]))
    expect((await heard).rows).toHaveLength(1)
    await elsewhere.inbox.pop(bob, activityId.replace(/_out$/, '_in'))
    line.isLost = true
    const looking = wait()
    expect(elsewhere.watchers.count()).toBe(1)
    await say(ada, bob, 'two')
    await clock.advance(1_000)
    expect((await looking).rows.map(({ text }) => text)).toEqual(['two'])
  })

  it('costs few looks into the inbox for each message, however many wait', async () => {
    const base = createMemoryStore()
    let looks = 0
    const store: Store = { ...base, find: (table, query) => (table === 'inbox' && looks++, base.find(table, query)) }
    const { messages, workspaces, say, clock } = await openMessages({ store })
    const { ada, bob } = await workspaces('ada', 'bob')
    const wait = (_: unknown, i: number) =>
      messages.inbox.take({ workspace: bob, reader: `r${i}`, limit: 1, waitMs: waitFor })
    const waiting = Array.from({ length: 20 }, wait)
    await clock.advance(0)
    looks = 0
    const texts = Array.from({ length: 20 }, (_, i) => `message ${i}`)
    for (const text of texts) await say(ada, bob, text)
    const taken = (await Promise.all(waiting)).flatMap(({ rows }) => rows.map(({ text }) => text))
    expect(taken.toSorted()).toEqual(texts.toSorted())
    // Two for each, and as many again where one came while another was being taken.
    expect(looks).toBeLessThanOrEqual(4 * texts.length)
  })

  it('ends for whoever has the conversation, also where others look first, and for all calls of one reader', async () => {
    const { messages, workspaces, say, texts } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    await say(ada, bob, 'a1', 'a')
    expect(await texts(bob, 'r1')).toEqual(['a1'])
    const wait = (reader: string, after?: number) =>
      messages.inbox.take({ workspace: bob, reader, limit: 1, waitMs: waitFor, after })
    const [other, holder] = [wait('r2'), wait('r1', 1)]
    await say(ada, bob, 'a2', 'a')
    expect((await holder).rows.map(({ text }) => text)).toEqual(['a2'])
    const again = wait('r2')
    await say(ada, bob, 'b1', 'b')
    for (const one of [other, again]) expect((await one).rows.map(({ text }) => text)).toEqual(['b1'])
  })

  it('has a place however many follow the log', async () => {
    const { messages, workspaces, say, clock } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    const over = new AbortController()
    const follow = () => messages.follow(bob, { from: 0, signal: over.signal })[Symbol.asyncIterator]().next()
    const following = Array.from({ length: 64 }, follow)
    await clock.advance(0)
    expect(messages.watchers.count()).toBe(64)
    const waiting = messages.inbox.take({ workspace: bob, reader: 'r', limit: 1, waitMs: waitFor })
    await clock.advance(0)
    await say(ada, bob, 'hello')
    expect((await waiting).rows).toMatchObject([{ text: 'hello' }])
    for (const one of following) expect(await one).toMatchObject({ value: { text: 'hello' } })
    over.abort()
  })

  it('is for so many and no more', () => {
    const watchers = createWatchers({ most: 2 })
    const leave = [watchers.watch('w', () => {}), watchers.watch('w', () => {})]
    expect(() => watchers.watch('w', () => {})).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }))
    leave[0]?.()
    watchers.watch('w', () => {})
    expect(watchers.count()).toBe(2)
  })
})

function createLine() {
  const listeners = new Set<NewsListener>()
  const line = {
    isLost: false,
    each: (work: (listener: NewsListener) => void) => listeners.forEach(work),
    listen(listener: NewsListener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    isConnected: () => !line.isLost,
  }
  return line satisfies StoreNews
}
