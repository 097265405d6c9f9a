import { describe, expect, it } from 'vitest'
import type { MessagePart } from '../../contracts/index.ts'
import { openExternalPeers, text } from '../../testing/external-peer-fixture.ts'
import type { CancelSignal } from '../kernel/index.ts'
import { RemoteFailure } from './index.ts'

const sentIn = (heard: readonly { what: string; message?: { messageId: string } }[]) =>
  heard.flatMap(({ what, message }) => (message ? [`${what} ${message.messageId}`] : []))

describe('a task for an A2A agent elsewhere', () => {
  it('is sent, asked after, and ends with all that was said', async () => {
    const { adaAndPainter, ask, another, remote, settle, store, take, outgoing } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    another().start()
    const { id, messageId } = await ask(ada, painter)
    await settle()
    expect(sentIn(remote.heard)).toEqual([`send ${messageId}`])
    expect(remote.heard.at(-1)?.message).toMatchObject({ hops: 1 })
    expect(await outgoing(id)).toMatchObject({ remoteId: `there-${messageId}`, contextId: 'c1', attempts: 0 })
    expect(await store.get('delegations', id)).toMatchObject({ state: 'in_progress' })
    remote.says('working', [text('mixing colours')])
    await settle(2_000)
    expect(await store.get('delegations', id)).toMatchObject({ state: 'in_progress', progress: 'mixing colours' })
    expect(await take(ada)).toEqual([])
    remote.says(
      'completed',
      [text('Done.')],
      [text('A'), text(' '), text('tree.'), { kind: 'data', data: { trees: 1 } }],
    )
    await settle(20_000)
    expect(await store.get('delegations', id)).toMatchObject({
      state: 'completed',
      result: { text: 'A tree.\n\nDone.', parts: [{ kind: 'data', data: { trees: 1 } }] },
    })
    expect(await outgoing(id)).toBeUndefined()
    expect((await take(ada)).map(({ kind }) => kind)).toEqual(['delegation_result'])
    expect(await take(painter)).toEqual([])
  })

  it('is heard of in a stream where there is one, which is opened again when it breaks', async () => {
    const { adaAndPainter, ask, another, remote, settle, store, outgoing } = await openExternalPeers()
    remote.streaming = true
    const { ada, painter } = await adaAndPainter()
    another().start()
    const { id, messageId } = await ask(ada, painter)
    await settle()
    const taskId = `there-${messageId}`
    remote.tells({ taskId, contextId: 'c1', status: { state: 'working', said: [text('half')], mark: '1' } })
    await settle(1_500)
    remote.breaks()
    await settle(5_000)
    expect(remote.heard.map(({ what }) => what)).toEqual(['card', 'stream', 'subscribe'])
    remote.says('completed', [], [text('A tree.')])
    remote.tells({ taskId, contextId: 'c1', status: { state: 'completed', said: [], mark: '2' } })
    await settle()
    expect(await store.get('delegations', id)).toMatchObject({ state: 'completed', result: { text: 'A tree.' } })
    expect(await outgoing(id)).toBeUndefined()
  })

  it('asks its asker, and is told the answer', async () => {
    const { adaAndPainter, ask, another, remote, settle, store, take, messages } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    another().start()
    const { id, messageId } = await ask(ada, painter)
    await settle()
    remote.says('inputRequired', [text('Which colour?')])
    await settle(2_000)
    await settle(120_000)
    const asked = await take(ada)
    expect(asked.map(row => row.text)).toEqual(['Which colour?'])
    expect(asked[0]).toMatchObject({ kind: 'peer_agent', delegationId: id })
    const { messageId: answerId } = await messages.sending.reply(ada, asked[0]?.id ?? '', { text: 'Green.' })
    await settle()
    remote.says('working')
    await settle(1_000)
    expect(remote.heard.at(-1)?.what).toBe('get')
    expect(remote.heard.findLast(({ what }) => what === 'send')).toMatchObject({
      message: { messageId: answerId, taskId: `there-${messageId}`, contextId: 'c1', parts: [text('Green.')] },
    })
    remote.says('completed', [], [text('A green tree.')])
    await settle(20_000)
    expect(await store.get('delegations', id)).toMatchObject({ state: 'completed', result: { text: 'A green tree.' } })
    await expect(messages.sending.reply(ada, asked[0]?.id ?? '', { text: 'Or blue.' })).rejects.toMatchObject({
      code: 'REQUEST_REFUSED',
      message: expect.stringMatching(/its task "[^"]+" has ended.*Delegate/),
    })
  })

  it('may ask more than fits into a message, and what was cut is said', async () => {
    const { adaAndPainter, ask, another, remote, settle, take } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    another().start()
    await ask(ada, painter)
    await settle()
    remote.says('inputRequired', [text('€'.repeat(600_000))])
    await settle(2_000)
    const [asked] = await take(ada)
    expect(asked?.text).toMatch(/^€{300000,}\n\n\(Cut off: the rest does not fit into a message\.\)$/)
  })

  it.each([
    ['failed', [text('No paint.')], 'No paint.'],
    ['failed', [], 'The agent failed and gave no reason.'],
    ['rejected', [text('Too large.')], 'The agent rejected the task: Too large.'],
    ['canceled', [], 'The agent cancelled the task and gave no reason.'],
  ] as const)('that is %s there has failed here', async (state, words, error) => {
    const { adaAndPainter, ask, another, remote, settle, store } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    another().start()
    const { id } = await ask(ada, painter)
    await settle()
    remote.says(state, [...words])
    await settle(2_000)
    expect(await store.get('delegations', id)).toMatchObject({ state: 'failed', error })
  })

  it('that wants somebody to sign in has failed, says what the owner can do, and is cancelled there', async () => {
    const { adaAndPainter, ask, another, remote, settle, store, outgoing } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    another().start()
    const { id, messageId } = await ask(ada, painter)
    await settle()
    remote.says('authRequired', [text('Sign in.')])
    await settle(2_000)
    const row = await store.get('delegations', id)
    expect(row).toMatchObject({ state: 'failed' })
    expect(row?.error).toMatch(/sign in.*It says: Sign in\. The owner can give "painter" a key/)
    expect(remote.heard.at(-1)).toEqual({ what: 'cancel', id: `there-${messageId}` })
    expect(await outgoing(id)).toBeUndefined()
  })

  it('is cancelled there when it is cancelled here, when its time is over, and when the agent is taken out', async () => {
    const { adaAndPainter, ask, another, remote, settle, delegations, clock, peers, outgoing } =
      await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    another().start()
    const cancelled = () => remote.heard.flatMap(({ what, id }) => (what === 'cancel' ? [id] : []))
    const one = await ask(ada, painter)
    await settle()
    await delegations.cancel(ada, one.id)
    await settle()
    expect(cancelled()).toEqual([`there-${one.messageId}`])
    const two = await ask(ada, painter, { deadlineSeconds: 60 })
    await settle()
    await clock.advance(61_000)
    await delegations.sweep()
    await settle()
    expect(cancelled()).toEqual([one, two].map(({ messageId }) => `there-${messageId}`))
    const three = await ask(ada, painter)
    await settle()
    await peers.remove(ada.organisation, 'painter')
    await delegations.sweep()
    await settle(6_000)
    expect(cancelled()).toEqual([one, two, three].map(({ messageId }) => `there-${messageId}`))
    for (const { id } of [one, two, three]) expect(await outgoing(id)).toBeUndefined()
  })

  it('waits for an agent that is not there until its deadline, and then says who and why', async () => {
    const { adaAndPainter, ask, another, remote, settle, delegations, store, outgoing } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    another().start()
    remote.fails(new RemoteFailure('unreachable', 'there.example cannot be reached: nothing listens there.'))
    const { id } = await ask(ada, painter, { deadlineSeconds: 600 })
    await settle(300_000)
    expect(await outgoing(id)).toMatchObject({ trouble: expect.stringMatching(/nothing listens/) })
    const tries = remote.heard.filter(({ what }) => what === 'send').length
    expect(tries).toBeGreaterThan(5)
    expect(tries).toBeLessThan(20)
    await settle(301_000)
    await delegations.sweep()
    expect(await store.get('delegations', id)).toMatchObject({
      state: 'expired',
      error:
        'Its deadline has passed. "painter" has not taken it. It could not be reached: there.example cannot be reached: nothing listens there.',
    })
    await settle(600_000)
    expect(await outgoing(id)).toBeUndefined()
  })

  it('goes on when the agent is back', async () => {
    const { adaAndPainter, ask, another, remote, settle, store } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    another().start()
    remote.fails(new RemoteFailure('unreachable', 'gone'))
    const { id, messageId } = await ask(ada, painter)
    await settle(30_000)
    remote.fails()
    await settle(61_000)
    expect(new Set(sentIn(remote.heard))).toEqual(new Set([`send ${messageId}`]))
    expect(await store.get('outgoingtasks', id)).toMatchObject({ attempts: 0, trouble: null })
  })

  it.each([
    [
      'unauthorized',
      'It does not let us in (HTTP 401).',
      /does not let us in.*The owner stores the key in secrets\.json/,
    ],
    ['refused', 'It says: no such skill', /no such skill/],
    ['unknownTask', 'It says: not found', /no longer knows the task.*check before you delegate it again/],
  ] as const)('fails at once when trying again is of no use: %s', async (trouble, said, error) => {
    const { adaAndPainter, ask, another, remote, settle, store } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    another().start()
    remote.fails(new RemoteFailure(trouble, said))
    const { id } = await ask(ada, painter)
    await settle()
    const row = await store.get('delegations', id)
    expect(row?.state).toBe('failed')
    expect(row?.error).toMatch(error)
  })

  it('is sent as the same message by whoever comes after a process that is gone', async () => {
    const { adaAndPainter, ask, another, remote, settle, store, clock } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    const { id, messageId } = await ask(ada, painter)
    // It has taken the task on, and was killed before there was an answer.
    const row = await store.get('outgoingtasks', id)
    const leaseUntil = clock.now() + 30_000
    await store.commit([
      {
        kind: 'update',
        table: 'outgoingtasks',
        where: { id },
        set: { leaseOwner: 'gone', leaseUntil, version: (row?.version ?? 0) + 1 },
      },
    ])
    another({ self: 'two', isAlone: false }).start()
    await settle(10_000)
    expect(sentIn(remote.heard)).toEqual([])
    await settle(30_000)
    expect(sentIn(remote.heard)).toEqual([`send ${messageId}`])
  })

  it('is sent by one of two processes', async () => {
    const { adaAndPainter, ask, another, remote, settle } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    for (const self of ['one', 'two', 'three']) another({ self, isAlone: false }).start()
    const tasks = await Promise.all(Array.from({ length: 5 }, () => ask(ada, painter)))
    await settle(60_000)
    expect(sentIn(remote.heard).toSorted()).toEqual(tasks.map(({ messageId }) => `send ${messageId}`).toSorted())
  })

  it('may be answered with words alone', async () => {
    const { adaAndPainter, ask, another, remote, settle, store } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    another().start()
    remote.answersWith = { message: [text('Hello.')] }
    const { id } = await ask(ada, painter)
    await settle()
    expect(await store.get('delegations', id)).toMatchObject({ state: 'completed', result: { text: 'Hello.' } })
  })

  it('goes in the form and order that it came in, and so does an answer', async () => {
    const { adaAndPainter, delegations, another, remote, settle, take, messages } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    another().start()
    const parts: MessagePart[] = [
      { kind: 'data', data: { trees: 1 } },
      { kind: 'text', text: 'Paint this.' },
    ]
    await delegations.delegate(ada, { to: painter.id, task: 'Paint this.\n\n{"trees":1}' }, { parts })
    await settle()
    expect(remote.heard.at(-1)?.message?.parts).toEqual(parts)
    remote.says('inputRequired', [text('Which colour?')])
    await settle(120_000)
    const [asked] = await take(ada)
    await messages.sending.reply(ada, asked?.id ?? '', { text: 'This:', parts })
    await settle()
    expect(remote.heard.findLast(({ what }) => what === 'send')?.message?.parts).toEqual([text('This:'), ...parts])
  })

  it('goes with its files, and comes back with some', async () => {
    const { adaAndPainter, ask, another, remote, settle, store, attachments } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    const { organisation, id: workspaceId } = ada
    const upload = { organisation, workspaceId, by: 'ada', name: 'plan.txt', mediaType: 'text/plain' }
    const plan = await attachments.receive(upload, piecesOf('a plan'))
    another().start()
    const { id } = await ask(ada, painter, { attachments: [plan.id] })
    await settle()
    expect(remote.heard.at(-1)?.message?.parts).toEqual([
      text('count the boxes'),
      { kind: 'file', name: 'plan.txt', mediaType: 'text/plain', bytes: new TextEncoder().encode('a plan') },
    ])
    const file = { bytes: new TextEncoder().encode('a tree'), name: 'tree\u202e.txt', mediaType: 'not one' }
    const link = { url: 'https://there.example/tree.png', name: 'tree.png', mediaType: 'image/png' }
    remote.says(
      'completed',
      [],
      [
        { kind: 'file', ...file },
        { kind: 'link', ...link },
      ],
    )
    await settle(2_000)
    const { result } = (await store.get('delegations', id)) ?? {}
    expect(result?.text).toBe('File "tree.png" (image/png): https://there.example/tree.png')
    expect(result?.attachments).toMatchObject([{ name: 'tree.txt', mediaType: 'application/octet-stream', size: 6 }])
    const reader = { organisation, workspaceId }
    expect((await attachments.open(reader, result?.attachments[0]?.id ?? '')).facts.size).toBe(6)
  })
})

describe('an agent elsewhere', () => {
  it('hears of nothing but its tasks', async () => {
    const { adaAndPainter, messages } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    await expect(messages.sending.toPeer(ada, painter.id, { text: 'hi' })).rejects.toMatchObject({
      code: 'REQUEST_REFUSED',
      message: expect.stringMatching(/"painter" is an external A2A agent.*Delegate/),
    })
    await expect(messages.sending.fromPerson('pat', painter, { text: 'hi' })).rejects.toMatchObject({
      code: 'REQUEST_REFUSED',
    })
  })

  it('that does not answer holds up no other', async () => {
    const { adaAndPainter, add, ask, another, remote, settle, store } = await openExternalPeers()
    const { ada, painter } = await adaAndPainter()
    const { id: otherId } = await add({ name: 'sculptor', cardUrl: 'https://other.example' })
    const sculptor = await store.get('workspaces', otherId)
    const { send } = remote
    remote.send = (place, ...given) =>
      place.cardUrl.includes('other') ? send(place, ...given) : untilGivenUp(given[1])
    another().start()
    await ask(ada, painter)
    if (!sculptor) throw new Error('not there')
    const { id } = await ask(ada, sculptor)
    await settle()
    expect(await store.get('delegations', id)).toMatchObject({ state: 'in_progress' })
  })
})

/** It takes the request and says nothing. */
function untilGivenUp(signal: CancelSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new RemoteFailure('unreachable', 'given up')))
  })
}

async function* piecesOf(words: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(words)
}
