import { expect, it } from 'vitest'
import { openDatabase, openMessages } from '../../testing/message-fixture.ts'

const DAY_MS = 86_400_000
const inOther = (activityId: string) => activityId.replace(/_out$/, '_in')

it('is the same in a database: many at once, leases, repeats, answers, places and what is forgotten', async () => {
  const store = await openDatabase()
  const { messages, workspaces, say, texts, pruner, clock } = await openMessages({ store })
  const { ada, bob } = await workspaces('ada', 'bob')
  const waiting = messages.inbox.take({ workspace: bob, reader: 'w', limit: 1, waitMs: 60_000 })
  const first = await say(ada, bob, 'first', 'c0')
  expect((await waiting).rows.map(({ text }) => text)).toEqual(['first'])
  await messages.sending.reply(bob, inOther(first.activityId), { text: 'answer' })

  await Promise.all(Array.from({ length: 12 }, (_, i) => say(ada, bob, `${i % 4}.${i}`, `c${i % 4}`)))
  const taken = await Promise.all(Array.from({ length: 6 }, (_, i) => texts(bob, `r${i}`, 3)))
  const readers = new Map<string, Set<number>>()
  for (const [reader, some] of taken.entries())
    for (const text of some) readers.set(text.charAt(0), (readers.get(text.charAt(0)) ?? new Set()).add(reader))
  expect([...readers.values()].map(set => set.size)).toEqual([1, 1, 1, 1])
  expect(await messages.inbox.heldFrom(bob, 'next')).toMatchObject({ messages: taken.flat().length })
  for (const reader of taken.keys()) await messages.inbox.leave(`r${reader}`)
  expect(await messages.inbox.heldFrom(bob, 'next')).toBeUndefined()
  expect(await texts(bob, 'next', 12)).toHaveLength(12)

  const keyed = { text: 'once', idempotencyKey: 'k' }
  const sent = await Promise.all([1, 2, 3].map(() => messages.sending.toPeer(ada, bob.id, keyed)))
  expect(sent.filter(({ isRepeat }) => !isRepeat)).toHaveLength(1)

  const { rows, cursor } = await messages.activity.read(bob, { limit: 500 })
  expect(rows.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 15 }, (_, i) => i + 1))
  const history = await messages.history.read(bob, { peer: ada.id, limit: 5 })
  expect(history.rows.at(-1)).toMatchObject({ text: 'once' })
  for (const { id } of rows.slice(0, -1)) await messages.inbox.pop(bob, id)
  await clock.advance(31 * DAY_MS)
  await pruner.prune()
  expect(await texts(bob)).toEqual(['once'])
  await say(ada, bob, 'later')
  expect((await messages.activity.read(bob, { since: cursor })).rows).toMatchObject([{ sequence: 16, text: 'later' }])
})
