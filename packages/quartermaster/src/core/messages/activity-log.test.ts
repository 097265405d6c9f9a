import { describe, expect, it } from 'vitest'
import { openMessages } from '../../testing/message-fixture.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

async function talked() {
  const desk = await openMessages()
  const { ada, bob, cleo } = await desk.workspaces('ada', 'bob', 'cleo')
  return { ...desk, ada, bob, cleo }
}

const sequences = ({ rows }: { rows: readonly { sequence: number }[] }) => rows.map(({ sequence }) => sequence)

describe('the log of a workspace', () => {
  it('is read on from where the page before ended, and misses nothing that comes meanwhile', async () => {
    const { messages, ada, bob, cleo, say } = await talked()
    await say(ada, bob, 'one')
    await say(cleo, bob, 'two')
    await say(bob, ada, 'three')
    const first = await messages.activity.read(bob, { limit: 2 })
    const second = await messages.activity.read(bob, { since: first.cursor })
    await say(ada, bob, 'four')
    const third = await messages.activity.read(bob, { since: second.cursor })
    expect([first, second, third].map(sequences)).toEqual([[1, 2], [3], [4]])
    expect([first.more, second.more]).toEqual([true, false])
  })

  it('can be narrowed by type and peer, and goes on behind what was left out', async () => {
    const { messages, ada, bob, cleo, say } = await talked()
    await say(ada, bob, 'one')
    await say(bob, ada, 'two')
    await say(cleo, bob, 'three')
    const received = await messages.activity.read(bob, { types: ['message.received'] })
    const withAda = await messages.activity.read(bob, { peer: ada.id })
    expect([sequences(received), sequences(withAda)]).toEqual([
      [1, 3],
      [1, 2],
    ])
    expect(withAda.cursor).toBe(`3@${bob.id}`)
  })

  it('begins as long ago as was asked for, ten minutes unless said', async () => {
    const { messages, ada, bob, say, clock } = await talked()
    await say(ada, bob, 'old')
    await clock.advance(700_000)
    await say(ada, bob, 'new')
    expect(sequences(await messages.activity.read(bob, {}))).toEqual([2])
    expect(sequences(await messages.activity.read(bob, { sinceSeconds: 701 }))).toEqual([1, 2])
    await clock.advance(700_000)
    expect(await messages.activity.read(bob, {})).toEqual({ rows: [], more: false, cursor: `2@${bob.id}` })
  })

  it('leaves nothing out that was written since then by a clock that went ahead', async () => {
    const { messages, another, store, ada, bob, say, clock } = await talked()
    await say(ada, bob, 'old')
    await clock.advance(3_600_000)
    const ahead = { ...clock, now: () => clock.now() + 60_000 }
    for (let i = 0; i < 60; i++) await another(undefined, store, ahead).sending.toPeer(ada, bob.id, { text: 'ahead' })
    await say(ada, bob, 'new')
    expect(sequences(await messages.activity.read(bob, {}))).toEqual(Array.from({ length: 61 }, (_, i) => i + 2))
  })

  it.each([
    ['another log', (_: string, other: string) => `0@${other}`],
    ['a place that is not there yet', (own: string) => `9@${own}`],
    ['nothing at all', () => 'x'],
  ])('has no place for a cursor of %s, and says how to go on', async (_what, cursor) => {
    const { messages, ada, bob, say } = await talked()
    await say(ada, bob, 'one')
    await expect(messages.activity.read(bob, { since: cursor(bob.id, ada.id) })).rejects.toMatchObject({
      code: 'CURSOR_GONE',
      details: { sinceSeconds: 600, firstCursor: `0@${bob.id}` },
    })
  })

  it('is forgotten after its days, but never what waits, nor the last of it', async () => {
    const { messages, pruner, ada, bob, say, clock, texts } = await talked()
    const handled = await say(ada, bob, 'handled')
    await say(ada, bob, 'waits')
    await say(bob, ada, 'said')
    await messages.inbox.pop(bob, handled.activityId.replace(/_out$/, '_in'))
    const before = await messages.activity.read(bob, { limit: 1 })
    await clock.advance(30 * DAY_MS + 2 * HOUR_MS)
    await say(ada, bob, 'new')
    // Of Bob’s four the first and third go, of Ada’s four the two that she sent then. What Bob said waits in her inbox.
    expect(await pruner.prune()).toBe(4)
    expect(await pruner.prune()).toBe(0)
    const error = await messages.activity.read(bob, { since: before.cursor }).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'CURSOR_GONE', details: { firstCursor: `3@${bob.id}` } })
    const { rows } = await messages.activity.read(bob, { since: `3@${bob.id}` })
    expect(rows.map(({ text }) => text)).toEqual(['new'])
    expect(await texts(bob)).toEqual(['waits', 'new'])
  })

  it('counts on after everything else was forgotten', async () => {
    const { messages, pruner, ada, bob, say, clock } = await talked()
    for (const text of ['one', 'two', 'three']) {
      const { activityId } = await say(ada, bob, text)
      await messages.inbox.pop(bob, activityId.replace(/_out$/, '_in'))
    }
    await clock.advance(40 * DAY_MS)
    expect(await pruner.prune()).toBe(4)
    const { cursor } = await messages.activity.read(bob, { since: `3@${bob.id}` })
    await say(ada, bob, 'four')
    expect(sequences(await messages.activity.read(bob, { since: cursor }))).toEqual([4])
  })
})

describe('what two have said to each other', () => {
  it('is both sides, the newest page with the oldest first, and pages before it', async () => {
    const { messages, ada, bob, cleo, say, clock } = await talked()
    for (const [i, from] of [ada, bob, ada, bob, ada].entries()) {
      await say(from, from === ada ? bob : ada, `m${i}`)
      await say(cleo, bob, 'other')
      await clock.advance(1_000)
    }
    const page = await messages.history.read(bob, { peer: ada.id, limit: 2 })
    const before = await messages.history.read(bob, { peer: ada.id, limit: 2, before: page.before })
    const oldest = page.rows[0]?.createdAt ?? 0
    const byTime = await messages.history.read(bob, { peer: ada.id, limit: 9, before: new Date(oldest).toISOString() })
    const texts = [page, before, byTime].map(({ rows }) => rows.map(({ text }) => text))
    expect(texts).toEqual([
      ['m3', 'm4'],
      ['m1', 'm2'],
      ['m0', 'm1', 'm2'],
    ])
    expect(byTime.before).toBeUndefined()
  })

  it('never falls between two pages, even when all was said in one moment', async () => {
    const { messages, ada, bob, say, clock } = await talked()
    await say(ada, bob, 'before')
    await clock.advance(1)
    for (const text of ['a', 'b', 'c']) await say(ada, bob, text)
    const page = await messages.history.read(bob, { peer: ada.id, limit: 1 })
    const time = new Date(page.rows[0]?.createdAt ?? 0).toISOString()
    for (const before of [time, page.before]) {
      const rest = await messages.history.read(bob, { peer: ada.id, limit: 1, before })
      expect([...rest.rows, ...page.rows].map(({ text }) => text)).toEqual(['before', 'a', 'b', 'c'])
    }
  })

  it('comes in as many pages as it needs when much was said', async () => {
    const { messages, ada, bob, say, clock } = await talked()
    for (const text of ['a', 'b', 'c', 'd']) {
      await say(ada, bob, text.repeat(1_000_000))
      await clock.advance(1)
    }
    const seen: string[] = []
    for (let before: string | undefined; ; ) {
      const page = await messages.history.read(bob, { peer: ada.id, limit: 500, before })
      expect(page.rows).toHaveLength(2)
      seen.unshift(...page.rows.map(({ text }) => text.slice(0, 1)))
      before = page.before
      if (before === undefined) break
    }
    expect(seen).toEqual(['a', 'b', 'c', 'd'])
  })

  it('begins before a time, and nothing else', async () => {
    const { messages, ada, bob } = await talked()
    for (const before of ['yesterday', '2026-11-16', '17', '2026-99-99T00:00:00Z'])
      await expect(messages.history.read(bob, { peer: ada.id, limit: 1, before })).rejects.toMatchObject({
        code: 'INPUT_INVALID',
      })
  })
})
