import { describe, expect, it } from 'vitest'
import { AppError, type OperationSummary } from '../../../contracts/index.ts'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import { type AnyTool, defineEffect } from '../../catalogue/index.ts'
import { update } from '../../store/index.ts'
import { customKind } from '../index.ts'

const OWNER = { name: 'the owner', via: 'owner' } as const
const AGENTS = { ada: { capabilities: { main: {} } } }
const EFFECTS = [{ name: 'note', kind: 'note', id: 'note {input.title}' }]

/** A tool that asks, leaves a note behind, and whose first run is cut off; its operation waits to be tried again. */
async function cutOff(facts: Partial<AnyTool> = {}, { minutes = 120, isDefinite = false } = {}) {
  const world = new Set<string>()
  const told: OperationSummary[] = []
  let runs = 0
  const code = isDefinite ? 'DEPENDENCY_UNAVAILABLE' : 'OUTCOME_UNKNOWN'
  const make = simpleTool('make', {
    mutates: true,
    idempotent: true,
    retry: 'verifyFirst',
    consent: ['notes.make'],
    input: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
    effects: EFFECTS,
    handler: () => {
      runs++
      throw new AppError(code, 'The line broke.')
    },
    ...facts,
  })
  const consentOperations = [{ name: 'notes.make', reason: 'It makes a note.', weight: 'low' } as const]
  const storage = faultyStorage()
  const { store } = storage
  const look = async ({ id }: { id?: unknown }) => world.has(String(id))
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [make], { consentOperations })] } },
    agents: AGENTS,
    effectKinds: new Map([['note', customKind(defineEffect({ kind: 'note', fields: ['id'], look }))]]),
    storage,
    settings: { retryFirstSeconds: 600, retryMaxAgeMinutes: 60 },
    tellEnd: end => void told.push(end),
  })
  hub.work()
  const finish = async () => {
    for (let i = 0; i < 30; i++) await hub.clock.breathe()
  }
  const calling = hub.callAs('ada', 'make', { title: 'a' }).catch(error => error)
  await finish()
  const [request] = await hub.consentServices('default').open()
  if (request)
    await hub.consentServices('default').answer(request.id, { decision: 'allow', lasting: 'time', minutes }, OWNER)
  const answer = await calling
  const [first] = await store.find('operations', {})
  const id = first?.id ?? ''
  const row = () => store.get('operations', id)
  /** Its time comes. */
  const next = () => hub.clock.advance(900_000)
  return { hub, store, world, told, id, row, next, finish, answer, make, consentOperations, runs: () => runs }
}

type Situation = Awaited<ReturnType<typeof cutOff>>

const STOPPED: Record<string, (one: Situation) => Promise<unknown>> = {
  'what allowed it is taken back': ({ hub }) => hub.consentServices('default').revoke({ agent: 'ada' }, OWNER),
  'its agent does not have the tool any more': ({ hub }) => hub.setAgents({ ada: { capabilities: {} } }),
  'its agent is gone': ({ hub }) => hub.setAgents({}),
  'its definition changes': ({ hub, make, consentOperations }) => {
    const other = { ...make, short: 'Makes another.' }
    hub.write('main', { capabilities: [simpleCapability('main', [other], { consentOperations })] })
    return hub.catalogue.reload()
  },
  'its tool is gone': ({ hub }) => {
    hub.remove('main')
    return hub.catalogue.reload()
  },
  'its arguments cannot be opened': ({ store, id }) => {
    const set = { arguments: `s1.AAAAAAAA.${'A'.repeat(60)}` }
    return store.commit([update('operations', { where: { id }, set })])
  },
  'a person cancels it': ({ hub, id }) => hub.operationAdmin.cancel(id),
}

describe('a call whose run was cut off, and that is stopped before it is looked at', () => {
  it.each(Object.entries(STOPPED))('is done where it was done, although %s', async (_, stop) => {
    const one = await cutOff()
    expect(await one.row()).toMatchObject({ state: 'queued', outcome: 'unknown' })
    one.world.add('note a')
    await stop(one)
    await one.next()
    expect(await one.row()).toMatchObject({ state: 'succeeded', outcome: 'succeeded', error: null })
    expect(one.told.at(-1)).toMatchObject({ id: one.id, state: 'succeeded' })
    expect(one.hub.audit.every(({ code }) => code !== 'CONSENT_DENIED')).toBe(true)
    expect((await one.hub.operations.audit({ organisation: 'default' })).lines[0]).toMatchObject({
      outcome: 'succeeded',
      operationId: one.id,
    })
    expect(one.runs()).toBe(1)
  })

  it.each(Object.entries(STOPPED))(
    'is unknown where that cannot be seen, with all it takes to look, when %s',
    async (_, stop) => {
      const one = await cutOff()
      await stop(one)
      await one.next()
      const row = await one.row()
      expect(row).toMatchObject({ state: 'unknown', outcome: 'unknown', error: { code: 'OUTCOME_UNKNOWN' } })
      expect(row?.arguments).not.toBeNull()
      expect(row?.sealedEffects).not.toBeNull()
      expect(row?.error?.message).toMatch(/may have done its work/)
      expect(row?.error?.message).toContain(`quartermaster operations verify ${one.id}`)
      expect(row?.error?.message).not.toMatch(/Call it again|before it ran|before it could be done/)
      one.world.add('note a')
      expect(await one.hub.operationAdmin.verify(one.id)).toMatchObject({ verdict: 'verified', changedFrom: 'unknown' })
    },
  )

  it('is unknown also where its tool declares no effects', async () => {
    const one = await cutOff({ effects: [], retry: 'replay' })
    await one.hub.consentServices('default').revoke({ agent: 'ada' }, OWNER)
    await one.next()
    expect(await one.row()).toMatchObject({
      state: 'unknown',
      arguments: expect.any(String),
      error: { details: { because: 'CONSENT_DENIED', operationId: one.id } },
    })
    expect((await one.row())?.error?.message).toContain(`quartermaster operations show ${one.id}`)
  })

  it('is what it was where its run is known to have failed', async () => {
    const one = await cutOff({}, { isDefinite: true })
    await one.hub.consentServices('default').revoke({ agent: 'ada' }, OWNER)
    await one.next()
    expect(await one.row()).toMatchObject({ state: 'denied', outcome: 'failed', arguments: null })
  })
})

describe('a call whose run was cut off, and about which a person is asked again', () => {
  it.each([
    ['is done where it was done, although they say no', true, 'succeeded'],
    ['is unknown where they say no and its effects cannot be checked', false, 'unknown'],
  ])('%s', async (_, isThere, state) => {
    const one = await cutOff({}, { minutes: 1 })
    await one.next()
    expect(await one.row()).toMatchObject({ state: 'waitingForApproval', outcome: 'unknown' })
    if (isThere) one.world.add('note a')
    await one.hub.consentServices('default').answer(one.id, { decision: 'deny', lasting: 'once' }, OWNER)
    expect(await one.row()).toMatchObject({ state })
    expect((await one.row())?.sealedEffects === null).toBe(isThere)
  })

  it.each([
    [true, 'succeeded'],
    [false, 'expired'],
  ])('is verified once more when no person answers in time: there %s, so %s', async (isThere, state) => {
    const one = await cutOff({}, { minutes: 1 })
    await one.next()
    if (isThere) one.world.add('note a')
    await one.hub.clock.advance(3_600_000)
    expect(await one.row()).toMatchObject({ state })
    expect((await one.row())?.sealedEffects === null).toBe(isThere)
  })
})

describe('a call whose run was cut off, and that is run again', () => {
  it('is not known to have failed because it says no the second time', async () => {
    let runs = 0
    const handler = () => {
      if (++runs === 1) throw new AppError('OUTCOME_UNKNOWN', 'The line broke.')
      throw new Error('It exists already.')
    }
    const one = await cutOff({ effects: [], retry: 'replay', handler })
    await one.next()
    expect(runs).toBe(2)
    expect(await one.row()).toMatchObject({
      state: 'unknown',
      arguments: expect.any(String),
      result: { content: [{ text: 'It exists already.' }] },
      error: { code: 'OUTCOME_UNKNOWN' },
    })
  })
})

describe('a call whose run was cut off, and that is given up after its last', () => {
  it('tells that it may be done, also where the last is known to have failed', async () => {
    let runs = 0
    const handler = () => {
      throw new AppError(++runs === 1 ? 'OUTCOME_UNKNOWN' : 'DEPENDENCY_UNAVAILABLE', 'Closed.')
    }
    const one = await cutOff({ effects: [], retry: 'replay', handler })
    await one.hub.clock.advance(3_500_000)
    const { state, outcome, error } = (await one.row()) ?? {}
    expect({ state, outcome }).toEqual({ state: 'exhausted', outcome: 'unknown' })
    const details = { because: 'DEPENDENCY_UNAVAILABLE', operationId: one.id }
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', retry: 'verifyFirst', details })
    expect(error?.message).toMatch(/Closed\. .*may have done its work/)
  })
})

describe('a call whose process was lost, and that has become too old while none was there', () => {
  it.each([
    ['is done where it was done', true, 'succeeded'],
    ['expires where its effects cannot be checked', false, 'expired'],
  ])('%s', async (_, isThere, state) => {
    const one = await cutOff()
    if (isThere) one.world.add('note a')
    const { store, id, hub } = one
    const long = { startedAt: hub.clock.now() - 3_600_001, expiresAt: null }
    const set = { ...long, state: 'leased' as const, leaseOwner: 'gone', leaseUntil: hub.clock.now(), dueAt: null }
    await store.commit([update('operations', { where: { id }, set })])
    await one.next()
    expect(await one.row()).toMatchObject({ state, outcome: isThere ? 'succeeded' : 'unknown' })
    expect(one.runs()).toBe(1)
  })
})

describe('a call with an unknown outcome', () => {
  it('tells its caller which operation to look at, and how', async () => {
    for (const [facts, word] of [
      [{ consent: [], retry: 'manual' }, 'verify'],
      [{ consent: [], retry: 'manual', effects: [] }, 'show'],
    ] as const) {
      const { answer, id } = await cutOff(facts as Partial<AnyTool>)
      expect(answer).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { operationId: id } })
      expect(answer.message).toContain(`quartermaster operations ${word} ${id}`)
      expect(answer.message).toContain('get_status')
    }
  })

  it('is unknown also where the run said that it failed and its effects cannot be checked', async () => {
    const effects = [{ name: 'line', kind: 'line', id: 'x' }]
    let looks = 0
    const look = async () => {
      if (looks++ > 0) throw new Error('The disk is away.')
      return false
    }
    const handler = () => Promise.reject(new AppError('DEPENDENCY_UNAVAILABLE', 'Closed.'))
    const make = simpleTool('make', { mutates: true, idempotent: true, retry: 'verifyFirst', effects, handler })
    const storage = faultyStorage()
    const capability = simpleCapability('main', [make], {
      effectKinds: [defineEffect({ kind: 'line', fields: ['id'], look })],
    })
    const hub = await createHub({ units: { main: { capabilities: [capability] } }, agents: AGENTS, storage })
    await hub.callAs('ada', 'make')
    await hub.clock.advance(7_200_000)
    expect(await storage.store.find('operations', {})).toMatchObject([
      { state: 'exhausted', outcome: 'unknown', error: { code: 'OUTCOME_UNKNOWN' } },
    ])
  })
})

describe('trying again by a person’s word', () => {
  it('asks again for what was revoked before it', async () => {
    const one = await cutOff({}, { isDefinite: true })
    await one.hub.clock.advance(3_700_000)
    expect(await one.row()).toMatchObject({ state: 'exhausted' })
    await one.hub.consentServices('default').revoke({ agent: 'ada' }, OWNER)
    await one.hub.clock.advance(10)
    await one.hub.operationAdmin.retry(one.id)
    await one.finish()
    expect(await one.row()).toMatchObject({ state: 'waitingForApproval', arguments: expect.any(String) })
    const failure = await failureOf(one.hub.operationAdmin.retry(one.id))
    expect(failure).toMatchObject({ message: expect.stringContaining(`quartermaster approvals show ${one.id}`) })
  })
})
