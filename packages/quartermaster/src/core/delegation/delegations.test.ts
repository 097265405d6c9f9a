import { describe, expect, it } from 'vitest'
import { DEFAULT_ORGANISATION } from '../../contracts/index.ts'
import { openDelegations } from '../../testing/delegation-fixture.ts'

const textsOf = (rows: readonly { readonly text: string }[]) => rows.map(({ text }) => text)

describe('a delegation', () => {
  it('reaches its peer, is taken, answered whole, and told to the asker once', async () => {
    const { workspaces, ask, take, stateOf, messages, changes, store } = await openDelegations()
    const { ada, bob } = await workspaces('ada', 'bob')
    const row = await ask(ada, bob)
    expect(row).toMatchObject({ state: 'pending', hops: 1, chain: [ada.id] })
    const [task] = await take(bob)
    expect(task).toMatchObject({ kind: 'peer_agent', text: 'count the boxes', delegationId: row.id, peerId: ada.id })
    expect(await stateOf(row.id)).toBe('in_progress')
    await messages.sending.reply(bob, task?.id ?? '', {
      text: 'There are',
      parts: [
        { kind: 'text', text: 'seven' },
        { kind: 'text', text: 'boxes' },
      ],
    })
    expect(await store.get('delegations', row.id)).toMatchObject({ state: 'completed', slot: null, dueAt: null })
    const notices = await take(ada)
    expect(notices).toHaveLength(1)
    expect(notices[0]).toMatchObject({ kind: 'delegation_result', delegationId: row.id, peerId: bob.id })
    expect(notices[0]?.text).toBe('There are\n\nseven\n\nboxes')
    expect(notices[0]?.inReplyTo).toBe(`${row.messageId}_out`)
    expect(await take(bob)).toEqual([])
    expect(changes.map(({ state }) => state)).toEqual(['pending', 'in_progress', 'completed'])
  })

  it('is not there for whoever cannot reach the peer, and the refusal says the same for all', async () => {
    const { workspaces, delegations, organisation, store } = await openDelegations()
    const { ada, bob } = await workspaces('ada', 'bob')
    const below = await organisation.workspaces.create(DEFAULT_ORGANISATION, { name: 'below', parent: bob.id })
    for (const to of [below.id, 'nobody', 'below'])
      await expect(delegations.delegate(ada, { to, task: 'x' })).rejects.toMatchObject({
        code: 'PEER_NOT_FOUND',
        message: `There is no peer "${to}" that this workspace can reach. List your peers and take one of those.`,
      })
    await expect(delegations.delegate(ada, { to: ada.id, task: 'x' })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    expect(await store.count('delegations')).toBe(0)
    const row = (await delegations.delegate(ada, { to: 'bob', task: 'x' })).row
    await expect(delegations.expect(below, row.id)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
    await expect(delegations.expectAny('other', row.id)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
  })

  it('is the same one under the same key, also when asked many times at once, and another body is refused', async () => {
    const { workspaces, delegations, store, take } = await openDelegations()
    const { ada, bob } = await workspaces('ada', 'bob', 'cid')
    const wish = { to: bob.id, task: 'once', idempotencyKey: 'k1' }
    const all = await Promise.all(Array.from({ length: 5 }, () => delegations.delegate(ada, wish)))
    expect(new Set(all.map(({ row }) => row.id)).size).toBe(1)
    expect(all.filter(({ isRepeat }) => !isRepeat)).toHaveLength(1)
    expect(await store.count('delegations')).toBe(1)
    expect(await take(bob)).toHaveLength(1)
    expect((await delegations.delegate(ada, { ...wish, to: 'bob' })).isRepeat).toBe(true)
    for (const other of [{ task: 'other' }, { to: 'cid' }])
      await expect(delegations.delegate(ada, { ...wish, ...other })).rejects.toMatchObject({
        code: 'IDEMPOTENCY_CONFLICT',
      })
  })

  it('queues behind a busy peer, never above its capacity, and comes to its turn by itself in order', async () => {
    const { workspaces, ask, take, stateOf, store, delegations } = await openDelegations()
    const { ada, bob } = await workspaces('ada', 'bob')
    await store.commit([{ kind: 'update', table: 'workspaces', where: { id: bob.id }, set: { capacity: 2 } }])
    const rows = await Promise.all(Array.from({ length: 6 }, (_, i) => ask(ada, bob, { task: `t${i}` })))
    expect(await store.count('delegations', { state: 'pending' })).toBe(2)
    expect(await store.count('delegations', { state: 'queued' })).toBe(4)
    for (let left = 6; left > 0; left--) {
      const taken = await take(bob)
      expect(taken).toHaveLength(Math.min(2, left))
      await delegations.reply(bob, taken[0]?.delegationId ?? '', { message: 'done' })
    }
    expect(await Promise.all(rows.map(({ id }) => stateOf(id)))).toEqual(Array.from({ length: 6 }, () => 'completed'))
    expect(await take(ada)).toHaveLength(6)
  })

  it('refuses circles, also when nobody says what it is for, and chains that are too long', async () => {
    const { workspaces, ask, take } = await openDelegations({ settings: { delegationHops: 2 } })
    const { ada, bob, cid, dan } = await workspaces('ada', 'bob', 'cid', 'dan')
    const first = await ask(ada, bob)
    await take(bob)
    await expect(ask(bob, ada)).rejects.toMatchObject({ code: 'DELEGATION_LOOP' })
    const second = await ask(bob, cid)
    expect(second).toMatchObject({ parentId: first.id, hops: 2, chain: [ada.id, bob.id] })
    await take(cid)
    await expect(ask(cid, ada)).rejects.toMatchObject({ code: 'DELEGATION_LOOP' })
    await expect(ask(cid, dan)).rejects.toMatchObject({ code: 'DELEGATION_LOOP', details: { limit: 2 } })
    await expect(ask(cid, dan, { forTask: first.id })).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
  })

  it('refuses answers to one that is over, says what it is now, and takes the same answer twice for one', async () => {
    const { workspaces, ask, take, messages, delegations, store } = await openDelegations()
    const { ada, bob } = await workspaces('ada', 'bob')
    const row = await ask(ada, bob)
    const [task] = await take(bob)
    await delegations.cancel(ada, row.id)
    const late = messages.sending.reply(bob, task?.id ?? '', { text: 'late' })
    await expect(late).rejects.toMatchObject({ code: 'DELEGATION_ENDED', details: { state: 'cancelled' } })
    await expect(late).rejects.toThrow(/was cancelled/)
    expect(await take(ada)).toEqual([])
    const log = await messages.activity.read(ada, {})
    expect(log.rows.at(-1)).toMatchObject({ kind: 'delegation_result', delegationId: row.id })
    expect(textsOf(await take(bob))).toEqual([expect.stringContaining('Stop working on the task')])

    const again = await ask(ada, bob)
    await delegations.reply(bob, again.id, { message: 'done' })
    await delegations.reply(bob, again.id, { message: 'done' })
    await expect(delegations.reply(bob, again.id, { message: 'other' })).rejects.toMatchObject({
      code: 'DELEGATION_ENDED',
    })
    expect(await store.count('inbox', { workspaceId: ada.id })).toBe(1)
  })

  it('goes from an inbox when it is cancelled before it was taken, and the peer can decline', async () => {
    const { workspaces, ask, take, delegations, stateOf } = await openDelegations()
    const { ada, bob } = await workspaces('ada', 'bob')
    const row = await ask(ada, bob)
    await delegations.cancelAny(DEFAULT_ORGANISATION, row.id)
    expect(await take(bob)).toEqual([])
    expect(textsOf(await take(ada))).toEqual([expect.stringContaining('was cancelled. The owner has cancelled it.')])
    const other = await ask(ada, bob)
    await delegations.cancel(bob, other.id)
    expect(await stateOf(other.id)).toBe('failed')
  })

  it('can be asked about on the way: the asker answers, and the peer ends it with the answer to that', async () => {
    const { workspaces, ask, take, messages, stateOf, store } = await openDelegations()
    const { ada, bob } = await workspaces('ada', 'bob')
    const row = await ask(ada, bob)
    const [task] = await take(bob)
    await messages.sending.reply(bob, task?.id ?? '', { text: 'Which boxes?', outcome: 'in_progress' })
    expect(await store.get('delegations', row.id)).toMatchObject({ state: 'in_progress', progress: 'Which boxes?' })
    const [question] = await take(ada)
    await messages.sending.reply(ada, question?.id ?? '', { text: 'The red ones.' })
    const [answer] = await take(bob)
    expect(answer).toMatchObject({ text: 'The red ones.', delegationId: row.id })
    await messages.sending.reply(bob, answer?.id ?? '', { text: 'Three.' })
    expect(await stateOf(row.id)).toBe('completed')
    expect(textsOf(await take(ada))).toEqual(['Three.'])
    expect(await take(bob)).toEqual([])
  })

  it('keeps a result that is larger than a message, whole, in pages', async () => {
    const { workspaces, ask, take, delegations } = await openDelegations()
    const { ada, bob } = await workspaces('ada', 'bob')
    const row = await ask(ada, bob)
    const whole = '0123456789😀'.repeat(150_000)
    await delegations.reply(bob, row.id, { message: whole })
    const [notice] = await take(ada)
    expect(notice?.text.length).toBeLessThan(60_000)
    let text = ''
    for (let offset: number | null = 0; offset !== null; ) {
      const { result } = await delegations.detail(await delegations.expect(ada, row.id), offset)
      text += result?.text ?? ''
      offset = result?.nextOffset ?? null
    }
    expect(text === whole).toBe(true)
  })
})

describe('time and other processes', () => {
  it('ends a delegation at its deadline, once, however many processes look, and tells both', async () => {
    const { workspaces, ask, take, stateOf, clock, delegations, another, messages } = await openDelegations()
    const { ada, bob } = await workspaces('ada', 'bob')
    const other = another()
    delegations.start()
    other.delegations.start()
    const taken = await ask(ada, bob, { deadlineSeconds: 30 })
    await take(bob)
    const untouched = await ask(ada, bob, { deadlineSeconds: 30 })
    await clock.advance(31_000)
    for (let turn = 0; turn < 50; turn++) await clock.breathe()
    expect([await stateOf(taken.id), await stateOf(untouched.id)]).toEqual(['expired', 'expired'])
    expect(await take(ada)).toHaveLength(2)
    expect(textsOf(await take(bob))).toEqual([expect.stringContaining('it has expired')])
    const log = await messages.activity.read(bob, {})
    expect(log.rows.filter(({ kind }) => kind === 'notice')).toHaveLength(2)
  })

  it('ends what an archived workspace has or has asked for', async () => {
    const { workspaces, ask, take, stateOf, organisation, clock } = await openDelegations()
    const { ada, bob, cid } = await workspaces('ada', 'bob', 'cid')
    const asked = await ask(ada, bob)
    const given = await ask(bob, cid)
    await organisation.workspaces.archive(DEFAULT_ORGANISATION, bob.id)
    for (let turn = 0; turn < 50; turn++) await clock.breathe()
    expect([await stateOf(asked.id), await stateOf(given.id)]).toEqual(['failed', 'failed'])
    expect(textsOf(await take(ada))).toEqual([expect.stringContaining('The workspace "bob" was archived.')])
    expect(await take(cid)).toEqual([])
  })

  it('wakes whoever waits when the peer takes it and when it ends, and gives up in time', async () => {
    const { workspaces, ask, take, delegations, clock } = await openDelegations()
    const { ada, bob } = await workspaces('ada', 'bob')
    const row = await ask(ada, bob)
    const seen: string[] = []
    const waiting = delegations.wait(row, { waitMs: 60_000, onChange: ({ state }) => void seen.push(state) })
    await take(bob)
    await clock.breathe()
    await delegations.reply(bob, row.id, { message: 'done' })
    expect(await waiting).toMatchObject({ state: 'completed', result: { text: 'done' } })
    expect(seen.at(-1)).toBe('completed')
    await delegations.seen(await delegations.expect(ada, row.id))
    expect(await take(ada)).toEqual([])

    const slow = await ask(ada, bob)
    const told: string[] = []
    const longer = delegations.wait(slow, { waitMs: 60_000, onChange: ({ state }) => void told.push(state) })
    await clock.advance(59_000)
    // Clients give up on calls that they hear nothing of, and count from the last thing they heard.
    expect(told).toEqual(['pending', 'pending', 'pending'])
    await clock.advance(2_000)
    expect(await longer).toMatchObject({ state: 'pending' })
    const patient = delegations.wait(slow, { waitMs: 1_000 })
    await clock.advance(1_500)
    expect(await patient).toMatchObject({ state: 'pending' })
  })

  it('hands on what waited when the process that was to do it has gone, and what has more room since', async () => {
    const { workspaces, ask, store, another, stateOf } = await openDelegations()
    const { ada, bob } = await workspaces('ada', 'bob')
    await store.commit([{ kind: 'update', table: 'workspaces', where: { id: bob.id }, set: { capacity: 1 } }])
    await ask(ada, bob)
    const waits = await ask(ada, bob)
    expect(waits.state).toBe('queued')
    await store.commit([{ kind: 'update', table: 'workspaces', where: { id: bob.id }, set: { capacity: 2 } }])
    await another().delegations.sweep()
    expect(await stateOf(waits.id)).toBe('pending')
  })

  it('forgets ended ones with the logs, and none that is open or whose end nobody has read', async () => {
    const { workspaces, ask, take, delegations, clock, store, messages } = await openDelegations()
    const { ada, bob } = await workspaces('ada', 'bob')
    const [read, unread] = [await ask(ada, bob), await ask(ada, bob)]
    const open = await ask(ada, bob, { deadlineSeconds: 2_592_000 })
    for (const { id } of [read, unread]) await delegations.reply(bob, id, { message: 'done' })
    const [first] = await take(ada)
    await messages.inbox.pop(ada, first?.id ?? '')
    await clock.advance(30 * 86_400_000 + 1)
    expect(await delegations.prune()).toBe(1)
    expect((await store.find('delegations', {})).map(({ id }) => id).toSorted()).toEqual(
      [unread.id, open.id].toSorted(),
    )
  })

  it('is in the lists of both sides, newest first, in pages', async () => {
    const { workspaces, ask, delegations, clock } = await openDelegations()
    const { ada, bob, cid } = await workspaces('ada', 'bob', 'cid')
    const rows = []
    for (const to of [bob, cid, bob]) {
      rows.push(await ask(ada, to))
      await clock.advance(5)
    }
    const query = { organisation: DEFAULT_ORGANISATION, workspace: ada, limit: 2 }
    const page = await delegations.list(query)
    expect(page.delegations.map(({ id }) => id)).toEqual([rows[2]?.id, rows[1]?.id])
    const rest = await delegations.list({ ...query, cursor: page.nextCursor ?? '' })
    expect(rest).toMatchObject({ delegations: [{ id: rows[0]?.id, to: { name: 'bob', presence: 'offline' } }] })
    expect((await delegations.list({ ...query, workspace: cid, as: 'asker' })).delegations).toEqual([])
  })
})
