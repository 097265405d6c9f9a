import { describe, expect, it } from 'vitest'
import { openMessages } from '../../testing/message-fixture.ts'
import { mustExist } from '../store/index.ts'

const ownLog = { order: { by: ['sequence'] as const } }

describe('a message', () => {
  it('is in the logs of both sides and in the inbox of whom it is for, under one id', async () => {
    const { messages, workspaces, store, clock } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    const sent = await messages.sending.toPeer(ada, 'bob', { text: 'Hello Bob' })
    const { rows } = await messages.activity.read(bob, {})
    const [own] = (await messages.activity.read(ada, {})).rows
    expect(rows).toEqual([
      expect.objectContaining({
        organisation: 'default',
        workspace: 'bob',
        workspaceId: bob.id,
        sequence: 1,
        type: 'message.received',
        kind: 'peer_agent',
        direction: 'in',
        peerKind: 'workspace',
        peerId: ada.id,
        peerName: 'ada',
        messageId: sent.messageId,
        conversationId: sent.conversationId,
        inReplyTo: null,
        text: 'Hello Bob',
        createdAt: clock.now(),
      }),
    ])
    expect(own).toMatchObject({ id: sent.activityId, type: 'message.sent', peerId: bob.id, messageId: sent.messageId })
    expect(await store.find('inbox', ownLog)).toEqual([
      expect.objectContaining({ id: rows[0]?.id, workspaceId: bob.id, sequence: 1, leaseOwner: null }),
    ])
  })

  it('reaches only those whom the sender may reach, and nobody tells the others from those that are not there', async () => {
    const { messages, workspaces, organisation } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    const refusal = (to: string) =>
      messages.sending.toPeer(ada, to, { text: 'x' }).catch((error: Error) => error.message.replace(to, 'X'))
    // Names are compared with those that the sender sees, so each has its own answer, which is there before it is anybody's.
    const [belowIsNone, zoeIsNone, nobody] = [await refusal('below'), await refusal('zoe'), await refusal('nobody')]
    const below = await organisation.workspaces.create('default', { name: 'below', parent: bob.id })
    await organisation.organisations.create({ name: 'other' })
    const foreign = await organisation.workspaces.create('other', { name: 'zoe' })
    expect([await refusal('below'), await refusal('zoe')]).toEqual([belowIsNone, zoeIsNone])
    for (const { id } of [below, foreign]) expect(await refusal(id)).toBe(nobody)
    await organisation.workspaces.archive('default', bob.id)
    expect(await refusal(bob.id)).toBe(nobody)
    await expect(messages.sending.toPeer(ada, ada.id, { text: 'x' })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  it('sent again under the same key is the same one, and another under it is refused', async () => {
    const { messages, workspaces } = await openMessages()
    const { ada, bob, cleo } = await workspaces('ada', 'bob', 'cleo')
    const post = { text: 'once', idempotencyKey: 'k' }
    const all = await Promise.all(Array.from({ length: 5 }, () => messages.sending.toPeer(ada, bob.id, post)))
    expect(new Set(all.map(({ activityId }) => activityId)).size).toBe(1)
    expect(all.filter(({ isRepeat }) => !isRepeat)).toHaveLength(1)
    expect(await messages.inbox.count(bob)).toBe(1)
    const conflict = { code: 'IDEMPOTENCY_CONFLICT' }
    await expect(messages.sending.toPeer(ada, bob.id, { ...post, text: 'twice' })).rejects.toMatchObject(conflict)
    await expect(messages.sending.toPeer(ada, cleo.id, post)).rejects.toMatchObject(conflict)
    expect(await messages.sending.toPeer(bob, cleo.id, post)).toMatchObject({ isRepeat: false })
  })

  it('cannot speak in a conversation that others have with whom it is for', async () => {
    const { messages, workspaces, say } = await openMessages()
    const { ada, bob, cleo } = await workspaces('ada', 'bob', 'cleo')
    const { conversationId } = await say(ada, bob, 'between us', 'plan')
    expect(await say(bob, ada, 'yes', 'plan')).toMatchObject({ conversationId })
    await expect(say(cleo, bob, 'me too', 'plan')).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    await messages.sending.fromPerson('pat', bob, { text: 'hi' })
    await expect(say(cleo, bob, 'me too', `chat_${bob.id}`)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  it('is refused when it is too large, or when too many wait already', async () => {
    const { messages, workspaces, store } = await openMessages()
    const { ada } = await workspaces('ada', 'bob')
    const large = { code: 'LIMIT_EXCEEDED', details: { limit: 1_048_576 } }
    const parts = [{ kind: 'data' as const, data: 'é'.repeat(524_288) }]
    await expect(messages.sending.toPeer(ada, 'bob', { parts })).rejects.toMatchObject(large)
    await messages.sending.toPeer(ada, 'bob', { text: 'é'.repeat(524_288) })
    const full = { ...store, count: async () => 10_000 }
    const { sending } = (await openMessages({ store: full })).messages
    await expect(sending.toPeer(ada, 'bob', { text: 'x' })).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: expect.stringContaining('10000 messages already wait in the inbox of "bob"'),
    })
  })

  it('with files is written with what keeps them, or not at all', async () => {
    const note = { id: 'att_1', name: 'a.txt', mediaType: 'text/plain', size: 3 }
    const { messages, workspaces, store } = await openMessages({
      attachments: {
        usesOf: async (ids, _from, rows) => ({
          facts: ids.map(id => ({ ...note, id })),
          writes: rows.map(({ id }) => mustExist('tokens', { id }, 'attachment.there')),
        }),
      },
    })
    const { ada, bob } = await workspaces('ada', 'bob')
    await expect(messages.sending.toPeer(ada, 'bob', { attachments: ['att_1'] })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
    })
    expect([await store.count('activity'), await messages.inbox.count(bob)]).toEqual([0, 0])
  })

  it('between two that are moved apart while it is on its way is not written', async () => {
    const { workspaces, store, organisation, another } = await openMessages()
    const { ada, bob, cleo } = await workspaces('ada', 'bob', 'cleo')
    let moves = 0
    const moving = another(undefined, {
      ...store,
      async commit(writes) {
        if (moves++ === 0) await organisation.workspaces.change('default', bob.id, { parent: cleo.id })
        return store.commit(writes)
      },
    })
    await expect(moving.sending.toPeer(ada, bob.id, { text: 'x' })).rejects.toMatchObject({ code: 'PEER_NOT_FOUND' })
    expect(await store.count('activity')).toBe(0)
  })
})

describe('a reply', () => {
  it('goes to whoever wrote, in the same conversation, and acknowledges what it answers', async () => {
    const { messages, workspaces, say } = await openMessages()
    const { ada, bob } = await workspaces('ada', 'bob')
    const question = await say(ada, bob, 'How many?')
    const [received] = (await messages.activity.read(bob, {})).rows
    const reply = await messages.sending.reply(bob, received?.id ?? '', { text: 'Three' })
    expect(reply.conversationId).toBe(question.conversationId)
    expect(await messages.inbox.count(bob)).toBe(0)
    const taken = await messages.inbox.take({ workspace: ada, reader: 'r', limit: 1 })
    expect(taken.rows).toEqual([expect.objectContaining({ text: 'Three', inReplyTo: question.activityId })])
    expect((await messages.activity.read(bob, {})).rows.at(-1)).toMatchObject({ inReplyTo: received?.id })
  })

  it('to a person stays in the log of the workspace, where its people see it', async () => {
    const { messages, workspaces } = await openMessages()
    const { ada } = await workspaces('ada')
    const { activityId } = await messages.sending.fromPerson('pat', ada, { text: 'Hello' })
    await messages.sending.reply(ada, activityId, { text: 'Hello Pat' })
    const { rows } = await messages.activity.read(ada, { peer: 'person:pat' })
    expect(rows.map(({ type, kind, text }) => [type, kind, text])).toEqual([
      ['message.received', 'canvas_user', 'Hello'],
      ['message.sent', 'canvas_user', 'Hello Pat'],
    ])
    expect(new Set(rows.map(({ conversationId }) => conversationId))).toEqual(new Set([`chat_${ada.id}`]))
    expect(await messages.inbox.count(ada)).toBe(0)
  })

  it('is for what was received: not for one’s own words, and not for what another log has', async () => {
    const { messages, workspaces, say } = await openMessages()
    const { ada, bob, cleo } = await workspaces('ada', 'bob', 'cleo')
    const { activityId } = await say(ada, bob, 'x')
    const unknown = { code: 'NAME_UNKNOWN' }
    await expect(messages.sending.reply(ada, activityId, { text: 'y' })).rejects.toMatchObject(unknown)
    const inBobs = activityId.replace(/_out$/, '_in')
    await expect(messages.sending.reply(cleo, inBobs, { text: 'y' })).rejects.toMatchObject(unknown)
    expect(await messages.inbox.count(bob)).toBe(1)
  })
})
