import { describe, expect, it } from 'vitest'
import { openMessages } from '../../testing/message-fixture.ts'

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS

/** One message from Ada to Bob, which a reader took that never comes back. */
async function takenMessage() {
  const at = await openMessages({ settings: { inboxLeaseSeconds: 60 } })
  const { ada, bob } = await at.workspaces('ada', 'bob')
  const { messageId } = await at.say(ada, bob, 'hello', 'c')
  expect(await at.texts(bob, 'gone')).toEqual(['hello'])
  return { ...at, ada, bob, activityId: `${messageId}_in` }
}

describe('a clock that was put forward', () => {
  it('ends leases, loses nothing, and what was handed out twice is acknowledged once', async () => {
    const { messages, texts, clock, bob, activityId } = await takenMessage()
    expect(await texts(bob, 'other')).toEqual([])
    await clock.advance(DAY_MS)
    expect(await texts(bob, 'other')).toEqual(['hello'])
    expect(await texts(bob, 'gone')).toEqual([])
    const pops = await Promise.all([1, 2].map(() => messages.inbox.pop(bob, activityId)))
    expect(pops.toSorted()).toEqual([false, true])
    expect(await texts(bob, 'other')).toEqual([])
  })
})

describe('a clock that was put back', () => {
  it('keeps what somebody has from the others for no longer than a lease', async () => {
    const { texts, clock, bob } = await takenMessage()
    await clock.advance(-DAY_MS)
    expect(await texts(bob, 'gone')).toEqual(['hello'])
    expect(await texts(bob, 'other')).toEqual([])
    await clock.advance(MINUTE_MS)
    expect(await texts(bob, 'other')).toEqual(['hello'])
  })

  it('keeps nothing from the others that nobody comes back for', async () => {
    const { messages, texts, clock, bob, say, ada } = await takenMessage()
    await clock.advance(-DAY_MS)
    expect(await texts(bob, 'other')).toEqual(['hello'])
    await say(ada, bob, 'behind it', 'c')
    expect(await texts(bob, 'third')).toEqual([])
    const { rows } = await messages.inbox.take({ workspace: bob, reader: 'other', limit: 10 })
    expect(rows.map(({ text }) => text)).toEqual(['hello', 'behind it'])
  })

  it('leaves no row out of a window, nor behind a cursor', async () => {
    const { messages, clock, bob, ada, say } = await takenMessage()
    const { cursor } = await messages.activity.read(bob, {})
    await clock.advance(DAY_MS)
    await say(ada, bob, 'of a day that is not yet', 'c')
    await clock.advance(10 * MINUTE_MS - DAY_MS)
    await say(ada, bob, 'of today', 'c')
    const both = ['of a day that is not yet', 'of today']
    const texts = async (query: object) => (await messages.activity.read(bob, query)).rows.map(({ text }) => text)
    expect(await texts({ since: cursor })).toEqual(both)
    expect(await texts({ sinceSeconds: 300 })).toEqual(both)
  })
})
