import { describe, expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { asked, deletionFixture, ONCE, OWNER, settle } from '../../../testing/deletion-fixture.ts'
import { failureOf } from '../../../testing/hub.ts'

describe('an answer', () => {
  it('for one call allows exactly that one, once', async () => {
    const one = await deletionFixture()
    const first = await asked(one)
    await one.answer(first.id, ONCE, OWNER)
    await first.answer
    const second = await asked(one)
    expect(second.request).toMatchObject({ state: 'open', tool: 'delete_file' })
    expect(second.id).not.toBe(first.id)
    expect(one.runs).toHaveLength(1)
  })

  it('for a while counts for the same resource, and for no other', async () => {
    const one = await deletionFixture()
    const first = await asked(one)
    await one.answer(first.id, { decision: 'allow', lasting: 'time', minutes: 10 }, OWNER)
    await first.answer
    await one.call('a')
    expect(one.runs).toHaveLength(2)
    const other = await asked(one, 'b')
    expect(other.request?.asks).toMatchObject([{ scope: 'b' }])
    await one.hub.clock.advance(600_000)
    expect((await asked(one, 'a')).request).toMatchObject({ asks: [{ scope: 'a' }] })
    expect(one.runs).toHaveLength(2)
  })

  it('for always lasts as long as the setting lets any last', async () => {
    const one = await deletionFixture({ settings: { grantHours: 2 } })
    const first = await asked(one, 'a', {}, 'send')
    await one.answer(first.id, { decision: 'allow', lasting: 'always' }, OWNER)
    await first.answer
    await one.hub.clock.advance(2 * 3_600_000 - 60_000)
    await one.call('b', {}, 'send')
    expect(one.runs).toHaveLength(2)
    await one.hub.clock.advance(60_000)
    expect((await asked(one, 'b', {}, 'send')).request).toMatchObject({ tool: 'send' })
  })

  it('is valid for no other agent', async () => {
    const one = await deletionFixture()
    const first = await asked(one)
    await one.answer(first.id, { decision: 'allow', lasting: 'always' }, OWNER)
    await first.answer
    void one.hub.callAs('bob', 'delete_file', { path: 'a' }).catch(() => {})
    await settle(one.hub)
    expect(await one.open()).toMatchObject([{ callerName: 'bob' }])
  })

  it('cannot last where it may be given once only', async () => {
    const one = await deletionFixture()
    const { id } = await asked(one, 'a', {}, 'shred_file')
    expect(await failureOf(one.answer(id, { decision: 'allow', lasting: 'always' }, OWNER))).toMatchObject({
      code: 'REQUEST_REFUSED',
      message: expect.stringContaining('files.shred'),
    })
    expect(await one.open()).toHaveLength(1)
  })

  it('of no for a while refuses at once what comes after it', async () => {
    const one = await deletionFixture()
    const first = await asked(one)
    await one.answer(first.id, { decision: 'deny', lasting: 'time', minutes: 10 }, OWNER)
    await failureOf(first.answer)
    expect(await failureOf(one.call('a'))).toMatchObject({ code: 'CONSENT_DENIED' })
    expect(await one.open()).toEqual([])
    await one.hub.clock.advance(600_000)
    expect((await asked(one)).request).toBeDefined()
  })

  it('can be taken back, one by one, by agent and by operation, at once', async () => {
    for (const filter of [{ agent: 'ada' }, { operation: 'files.delete' }, {}]) {
      const one = await deletionFixture()
      const first = await asked(one)
      await one.answer(first.id, { decision: 'allow', lasting: 'always' }, OWNER)
      await first.answer
      const [grant] = await one.hub.consentServices('default').grants({ agent: 'ada' })
      const which = Object.keys(filter).length > 0 ? filter : { id: grant?.id }
      expect(await one.hub.consentServices('default').revoke(which, OWNER)).toBe(1)
      expect((await asked(one)).request).toMatchObject({ state: 'open' })
      expect(one.runs).toHaveLength(1)
    }
  })

  it('that is taken back before it was used ends what waits on it', async () => {
    const one = await deletionFixture({
      settings: { retryFirstSeconds: 60 },
      tool: {
        idempotent: true,
        retry: 'replay',
        handler: () => {
          throw new AppError('DEPENDENCY_UNAVAILABLE', 'Closed.')
        },
      },
    })
    const first = await asked(one)
    await one.answer(first.id, { decision: 'allow', lasting: 'always' }, OWNER)
    expect((await first.answer).waiting).toMatchObject({ for: 'retry' })
    await one.hub.consentServices('default').revoke({ agent: 'ada' }, OWNER)
    await one.hub.clock.advance(60_000)
    expect(await one.row(first.id)).toMatchObject({ state: 'denied', attempts: 2, error: { code: 'CONSENT_DENIED' } })
  })

  it('lets what it allowed be tried again, but not another call', async () => {
    let runs = 0
    const handler = () => {
      if (++runs === 1) throw new AppError('DEPENDENCY_UNAVAILABLE', 'Closed.')
      return 'deleted'
    }
    const one = await deletionFixture({ tool: { idempotent: true, retry: 'replay', handler } })
    const first = await asked(one)
    await one.answer(first.id, ONCE, OWNER)
    expect((await first.answer).waiting).toMatchObject({ for: 'retry' })
    expect((await asked(one)).request).toMatchObject({ state: 'open' })
    await one.hub.clock.advance(10_000)
    expect(runs).toBe(2)
    expect(await one.row(first.id)).toMatchObject({ state: 'succeeded' })
  })
})
