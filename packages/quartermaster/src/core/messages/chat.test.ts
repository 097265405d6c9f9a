import { describe, expect, it } from 'vitest'
import { openMessages } from '../../testing/message-fixture.ts'

const texts = (rows: readonly { text: string }[]) => rows.map(({ text }) => text)

describe('the chat of a workspace', () => {
  it('has what its people and the workspace say to each other, a page at a time, and waits in no inbox of theirs', async () => {
    const { messages, workspaces, store } = await openMessages()
    const { ada } = await workspaces('ada')
    const { sending, chat } = messages
    const asked = await sending.fromPerson('pat', ada, { text: 'one' })
    await sending.toPeople(ada, { text: 'two' })
    await sending.fromPerson('zoe', ada, { text: 'three' })
    await sending.reply(ada, asked.activityId, { text: 'four' })
    const sent = await sending.toPeople(ada, { text: 'five' })
    expect(await store.count('inbox')).toBe(1)
    expect(await messages.activity.get(ada, sent.activityId)).toMatchObject({
      type: 'message.sent',
      kind: 'canvas_user',
      peerKind: 'person',
      peerId: 'people',
      conversationId: `chat_${ada.id}`,
    })
    const newest = await chat.read(ada, { limit: 2 })
    expect(texts(newest.rows)).toEqual(['four', 'five'])
    const { before } = newest
    const older = await chat.read(ada, { limit: 2, before })
    expect(texts(older.rows)).toEqual(['two', 'three'])
    const oldest = await chat.read(ada, { limit: 2, before: older.before })
    expect(texts(oldest.rows)).toEqual(['one'])
    expect(oldest.before).toBeUndefined()
  })

  it('shows which message of the workspace a person answers, and to the workspace as well', async () => {
    const { messages, workspaces, say } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    const { sending, chat, inbox } = messages
    const asked = await sending.toPeople(ada, { text: 'This one?' })
    const answer = { text: 'Yes.', inReplyTo: asked.activityId }
    const { activityId } = await sending.fromPerson('pat', ada, answer)
    expect((await chat.read(ada, { limit: 1 })).rows).toMatchObject([{ id: activityId, inReplyTo: asked.activityId }])
    const { rows } = await inbox.take({ workspace: ada, reader: 'r', limit: 1 })
    expect(rows).toMatchObject([{ text: 'Yes.', inReplyTo: asked.activityId }])
    const elsewhere = await sending.toPeople(bob, { text: 'x' })
    const toPeer = await say(ada, bob, 'x')
    for (const inReplyTo of ['msg_none_out', activityId, elsewhere.activityId, toPeer.activityId])
      await expect(sending.fromPerson('pat', ada, { text: 'x', inReplyTo })).rejects.toMatchObject({
        code: 'NAME_UNKNOWN',
      })
  })

  it('has nothing of peers, whatever they call their conversation', async () => {
    const { messages, workspaces, say } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    await say(bob, ada, 'I am a person', `chat_${ada.id}`)
    await messages.sending.fromPerson('pat', ada, { text: 'I am one' })
    expect(texts((await messages.chat.read(ada, { limit: 10 })).rows)).toEqual(['I am one'])
    expect((await messages.chat.read(bob, { limit: 10 })).rows).toEqual([])
  })

  it('is told once what is sent again under the same key, whatever ids its files have by then', async () => {
    const attachments = {
      usesOf: async (ids: readonly string[]) => ({
        facts: ids.map(id => ({ id, name: 'a', mediaType: 'text/plain', size: 0 })),
        writes: [],
      }),
    }
    const { messages, workspaces } = await openMessages({ attachments })
    const { ada } = await workspaces('ada')
    const post = { text: 'once', named: ['a.txt'], idempotencyKey: 'k' }
    const all = await Promise.all(
      [1, 2, 3].map(i => messages.sending.toPeople(ada, { ...post, attachments: [`att_${i}`] })),
    )
    expect(new Set(all.map(({ activityId }) => activityId)).size).toBe(1)
    expect((await messages.chat.read(ada, { limit: 10 })).rows).toHaveLength(1)
  })

  it('is closed to a workspace that is archived', async () => {
    const { messages, workspaces, organisation } = await openMessages()
    const { ada } = await workspaces('ada')
    await organisation.workspaces.archive('default', ada.id)
    await expect(messages.sending.toPeople(ada, { text: 'x' })).rejects.toMatchObject({ code: 'EDIT_CONFLICT' })
  })
})
