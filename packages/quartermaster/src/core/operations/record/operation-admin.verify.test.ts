import { describe, expect, it } from 'vitest'
import { AppError, type OperationSummary } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import { type AnyTool, defineEffect } from '../../catalogue/index.ts'
import { update } from '../../store/index.ts'
import { customKind } from '../index.ts'

const cutOff = () => new AppError('OUTCOME_UNKNOWN', 'The line broke.')

/** A tool that makes a note, which every capability can verify, and a line, which only its own can. */
async function fixture(tool: Partial<AnyTool> = {}, storage = faultyStorage()) {
  const world = new Set<string>()
  const look = async ({ id }: { id?: unknown }) => world.has(String(id))
  const told: OperationSummary[] = []
  const make = simpleTool('make', {
    mutates: true,
    idempotent: true,
    input: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
    effects: [
      { name: 'note', kind: 'note', id: 'note {input.title}' },
      { name: 'line', kind: 'line', id: 'line {input.title}' },
    ],
    handler: () => Promise.reject(cutOff()),
    ...tool,
  })
  const capability = simpleCapability('main', [make], {
    effectKinds: [defineEffect({ kind: 'line', fields: ['id'], look })],
    consentOperations: [{ name: 'notes.make', reason: 'It makes a note.', weight: 'low' }],
  })
  const hub = await createHub({
    units: { main: { capabilities: [capability] } },
    agents: { ada: { capabilities: { main: {} } } },
    effectKinds: new Map([['note', customKind(defineEffect({ kind: 'note', fields: ['id'], look }))]]),
    storage,
    tellEnd: end => void told.push(end),
  })
  hub.work()
  const call = (options = {}) => hub.callAs('ada', 'make', { title: 'secret' }, options)
  const row = async () => (await storage.store.find('operations', {}))[0]
  const id = async () => (await row())?.id ?? ''
  const verify = async () => hub.operationAdmin.verify(await id())
  const audit = async () => (await hub.operations.audit({ organisation: 'default' })).lines
  return {
    hub,
    storage,
    world,
    told,
    call,
    row,
    id,
    verify,
    audit,
    show: async () => hub.operations.find('default', await id()),
  }
}

/** An operation that has run, with an unknown outcome. */
async function inDoubt(tool: Partial<AnyTool> = {}) {
  const one = await fixture(tool)
  await failureOf(one.call({ idempotencyKey: 'k' }))
  expect(await one.row()).toMatchObject({ state: 'unknown' })
  return { ...one, finish: () => one.world.add('note secret').add('line secret') }
}

describe('looking at what an operation in doubt was to leave behind', () => {
  it('tells of each whether it is there, and changes nothing unless all is', async () => {
    const one = await inDoubt()
    expect(await one.verify()).toMatchObject({ verdict: 'absent' })
    one.world.add('note secret')
    expect(await one.verify()).toEqual({
      verdict: 'partial',
      effects: [
        { name: 'note', state: 'verified', reason: 'It is there, and was not before the run.', seen: 'there' },
        { name: 'line', state: 'absent', reason: 'It is not there.', seen: 'absent' },
      ],
    })
    expect(await one.row()).toMatchObject({ state: 'unknown', arguments: expect.any(String) })
  })

  it('records it as done when all is there, in the audit too, and notifies its caller', async () => {
    const one = await inDoubt()
    const [{ durationMs: _ms, ...before } = {}, ...earlier] = await one.audit()
    expect([before, earlier]).toMatchObject([{ outcome: 'unknown' }, []])
    one.finish()
    await one.hub.clock.advance(1)
    expect(await one.verify()).toMatchObject({ verdict: 'verified', changedFrom: 'unknown' })
    expect(await one.row()).toMatchObject({ state: 'succeeded', outcome: 'succeeded', error: null, arguments: null })
    expect((await one.audit())[0]).toMatchObject({
      outcome: 'succeeded',
      decision: 'allowed',
      code: null,
      tool: 'make',
    })
    await one.hub.clock.advance(0)
    expect(one.told.at(-1)).toMatchObject({ state: 'succeeded' })
  })

  it('answers a repeated call that it is done', async () => {
    const one = await inDoubt()
    one.finish()
    await one.verify()
    const { result } = await one.call({ idempotencyKey: 'k' })
    expect(result.content).toMatchObject([{ text: expect.stringContaining('verified: "note", "line"') }])
  })

  it('works after its definition has changed, and after its tool is gone as far as its effects can be checked', async () => {
    const one = await inDoubt()
    one.finish()
    one.hub.remove('main')
    await one.hub.catalogue.reload()
    expect(await one.verify()).toMatchObject({
      verdict: 'indeterminate',
      effects: [{ state: 'verified' }, { state: 'indeterminate', reason: expect.stringContaining('the kind "line"') }],
    })
    expect(await one.row()).toMatchObject({ state: 'unknown' })
    const changed = simpleTool('make', { mutates: true, idempotent: true, short: 'Is another.' })
    const line = defineEffect({ kind: 'line', fields: ['id'], look: async () => true })
    one.hub.write('main', { capabilities: [simpleCapability('main', [changed], { effectKinds: [line] })] })
    await one.hub.catalogue.reload()
    expect(await one.verify()).toMatchObject({ verdict: 'verified', changedFrom: 'unknown' })
  })

  it('is refused once it is dropped or done: what it was to leave behind is not kept', async () => {
    const one = await inDoubt()
    await one.hub.operationAdmin.drop(await one.id())
    expect(await one.row()).toMatchObject({ arguments: null, sealedEffects: null })
    expect(await failureOf(one.verify())).toMatchObject({
      code: 'REQUEST_REFUSED',
      message: expect.stringMatching(/is unknown.*not kept/),
    })
    const other = await inDoubt()
    other.finish()
    await other.verify()
    expect(await failureOf(other.verify())).toMatchObject({
      code: 'REQUEST_REFUSED',
      message: expect.stringMatching(/were there when it ended/),
    })
  })
})

describe('looking at what an operation was to leave behind', () => {
  it('shows it of one that waits to be tried again, and leaves it waiting', async () => {
    const one = await fixture({ retry: 'verifyFirst' })
    expect((await one.call()).waiting).toMatchObject({ for: 'retry' })
    one.world.add('note secret').add('line secret')
    const found = await one.verify()
    expect(found).toMatchObject({ verdict: 'verified' })
    expect(found).not.toHaveProperty('changedFrom')
    expect(await one.row()).toMatchObject({ state: 'queued' })
    await one.hub.clock.advance(60_000)
    expect(await one.row()).toMatchObject({ state: 'succeeded', attempts: 2 })
  })

  it('is refused while it runs, before it has run, and where its tool leaves nothing behind', async () => {
    const entered = deferred()
    const running = await fixture({ handler: () => (entered.resolve(), new Promise(() => {})) })
    void running.call().catch(() => {})
    await entered.promise
    expect(await failureOf(running.verify())).toMatchObject({
      code: 'REQUEST_REFUSED',
      message: expect.stringMatching(/runs right now/),
    })
    const waiting = await fixture({ consent: ['notes.make'] })
    void waiting.call().catch(() => {})
    for (let i = 0; i < 20; i++) await waiting.hub.clock.breathe()
    expect(await failureOf(waiting.verify())).toMatchObject({
      message: expect.stringMatching(/has not run, and waits for a person/),
    })
    const plain = await fixture({ effects: [] })
    await failureOf(plain.call())
    expect(await failureOf(plain.verify())).toMatchObject({
      message: expect.stringMatching(/declares no effects/),
    })
    expect(await failureOf(plain.hub.operationAdmin.verify('op_none'))).toMatchObject({ code: 'NAME_UNKNOWN' })
  })
})

describe('what an operation was to leave behind', () => {
  it('is in the store sealed, and shown masked with what was seen of it', async () => {
    const one = await inDoubt()
    expect(JSON.stringify(await one.row())).not.toContain('note secret')
    expect(await one.show()).toMatchObject({
      effects: [
        { name: 'note', kind: 'note', before: 'absent', fields: { id: '•••' } },
        { name: 'line', kind: 'line', before: 'absent', fields: { id: '•••' } },
      ],
    })
    one.finish()
    await one.verify()
    expect((await one.show()).effects).toEqual([
      { name: 'note', kind: 'note', before: 'absent', state: 'verified' },
      { name: 'line', kind: 'line', before: 'absent', state: 'verified' },
    ])
  })

  it('is shown with what the run was found to have missed', async () => {
    const one = await inDoubt({ handler: () => 'made' })
    const [note] = (await one.show()).effects ?? []
    expect(note).toMatchObject({ state: 'absent', reason: 'It is not there.' })
  })

  it('is read as it is where an older store kept it in the open', async () => {
    const one = await inDoubt()
    const kept = [{ name: 'note', kind: 'note', fields: { id: 'note old' }, baseline: { seen: 'absent' } }]
    const set = { effects: [], sealedEffects: JSON.stringify(kept) }
    await one.storage.store.commit([update('operations', { where: { id: await one.id() }, set })])
    expect((await one.show()).effects).toMatchObject([{ name: 'note', before: 'absent', fields: { id: '•••' } }])
    one.world.add('note old')
    expect(await one.verify()).toMatchObject({ verdict: 'verified', changedFrom: 'unknown' })
    expect(await one.row()).toMatchObject({ sealedEffects: null })
  })

  it('cannot be looked for without the key it was sealed with, and the rest is shown all the same', async () => {
    const one = await inDoubt()
    const set = { sealedEffects: 's1.AAAAAAAA.' + 'A'.repeat(60) }
    await one.storage.store.commit([update('operations', { where: { id: await one.id() }, set })])
    expect(await failureOf(one.verify())).toMatchObject({ code: 'INTERNAL', message: expect.stringContaining('key') })
    expect((await one.show()).effects).toMatchObject([{ name: 'note', before: 'absent' }, { name: 'line' }])
  })
})
