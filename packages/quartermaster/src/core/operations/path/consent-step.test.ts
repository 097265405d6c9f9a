import { describe, expect, it } from 'vitest'
import { AppError, type OperationSummary } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { type FaultyStorage, faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, failureOf, type Hub, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import { insert, type Write } from '../../store/index.ts'
import type { ConsentAnswer } from '../index.ts'

const OWNER = { name: 'the owner', via: 'owner' } as const
const ONCE: ConsentAnswer = { decision: 'allow', lasting: 'once' }
const ALWAYS: ConsentAnswer = { decision: 'allow', lasting: 'always' }
const NO: ConsentAnswer = { decision: 'deny', lasting: 'once' }

/** A tool that a person has to allow, over a store whose reads and commits can fail. */
async function consentService(storage: FaultyStorage = faultyStorage()) {
  const told: OperationSummary[] = []
  let runs = 0
  const remove = simpleTool('remove', { mutates: true, consent: ['files.delete'], handler: () => ++runs })
  const consentOperations = [{ name: 'files.delete', reason: 'It deletes a file.', weight: 'moderate' as const }]
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [remove], { consentOperations })] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
    tellEnd: end => void told.push(end),
  })
  hub.work()
  const call = (options = {}) => hub.callAs('ada', 'remove', { path: 'a' }, options)
  const answer = (id: string, how: ConsentAnswer) => hub.consentServices('default').answer(id, how, OWNER)
  return {
    hub,
    storage,
    store: storage.store,
    told,
    runs: () => runs,
    call,
    answer,
    async asked(options = {}) {
      const answered = call(options)
      answered.catch(() => {})
      return { answered, id: await openRequest(hub) }
    },
    /** A person has allowed it always, and it ran once. */
    async allow() {
      const first = call()
      await answer(await openRequest(hub), ALWAYS)
      await first
    },
    row: (id: string) => storage.store.get('operations', id),
  }
}

async function settled(hub: Hub): Promise<void> {
  for (let i = 0; i < 40; i++) await hub.clock.breathe()
}

async function openRequest(hub: Hub): Promise<string> {
  await settled(hub)
  return (await hub.consentServices('default').open()).at(-1)?.id ?? ''
}

/** Does something before the next time that grants are read. */
function beforeReadingGrants({ store }: FaultyStorage, work: () => Promise<void>): void {
  const { find } = store
  let isNext = true
  Object.assign(store, {
    async find(table: never, query: never) {
      const isHere = isNext && table === 'grants'
      if (isHere) isNext = false
      if (isHere) await work()
      return find(table, query)
    },
  })
}

/** Does something right before, or right after, the next call is put on record. */
function aroundTheRecord({ store }: FaultyStorage, when: 'before' | 'after', work: () => Promise<unknown>): void {
  const { commit } = store
  let isNext = true
  Object.assign(store, {
    async commit(writes: readonly Write[]) {
      const isHere = isNext && writes.some(({ table, kind }) => table === 'operations' && kind === 'insert')
      if (isHere) isNext = false
      if (isHere && when === 'before') await work()
      const outcome = await commit(writes)
      if (isHere && when === 'after') await work()
      return outcome
    },
  })
}

describe('a call that was allowed and that its caller cannot run', () => {
  it('is run by the queue when what allows it could not be read, and its caller gets a handle', async () => {
    const one = await consentService()
    const { answered, id } = await one.asked()
    beforeReadingGrants(one.storage, () => Promise.reject(new AppError('STORE_BUSY', 'Busy.')))
    await one.answer(id, ONCE)
    expect((await answered).waiting).toMatchObject({ operationId: id, for: 'run' })
    await one.hub.clock.advance(5_000)
    expect(await one.row(id)).toMatchObject({ state: 'succeeded' })
    expect(one.runs()).toBe(1)
  })

  it('is run by the queue when its caller ran out of time at that moment', async () => {
    const one = await consentService()
    const gate = deferred<void>()
    const { answered, id } = await one.asked({ timeoutMs: 5_000 })
    beforeReadingGrants(one.storage, () => gate.promise)
    await one.answer(id, ONCE)
    await one.hub.clock.advance(6_000)
    gate.resolve()
    await answered.catch(() => {})
    await one.hub.clock.advance(5_000)
    expect(await one.row(id)).toMatchObject({ state: 'succeeded' })
    expect(one.runs()).toBe(1)
  })
})

describe('a grant that is taken back between the decision and the record', () => {
  async function takenBack() {
    const one = await consentService()
    await one.allow()
    aroundTheRecord(one.storage, 'before', () => one.hub.consentServices('default').revoke({ agent: 'ada' }, OWNER))
    return one
  }

  it('has a person asked, whose no the caller hears', async () => {
    const one = await takenBack()
    const { answered, id } = await one.asked()
    const failure = failureOf(answered)
    await one.answer(id, NO)
    expect(await failure).toMatchObject({ code: 'CONSENT_DENIED' })
    expect(one.runs()).toBe(1)
  })

  it('leaves nothing running that never ends, so that the process can stop', async () => {
    const one = await takenBack()
    const { answered } = await one.asked()
    await one.hub.clock.advance(21_000)
    expect((await answered).waiting).toMatchObject({ for: 'approval' })
    expect(one.hub.operations.running()).toEqual([])
    let isStopped = false
    void one.hub.stop().then(() => (isStopped = true))
    await one.hub.clock.advance(60_000)
    expect(isStopped).toBe(true)
  })
})

describe('a no after the record and before the run', () => {
  it.each(['taken back', 'denied'] as const)('ends the call as denied: %s', async how => {
    const one = await consentService()
    await one.allow()
    aroundTheRecord(one.storage, 'after', async () => {
      const [grant] = await one.store.find('grants', {})
      if (how === 'taken back' || !grant)
        return await one.hub.consentServices('default').revoke({ agent: 'ada' }, OWNER)
      return await one.store.commit([insert('grants', { ...grant, id: 'grant_no', decision: 'deny' })])
    })
    expect(await failureOf(one.call())).toMatchObject({ code: 'CONSENT_DENIED' })
    expect(one.runs()).toBe(1)
    const rows = await one.store.find('operations', { where: { endedAt: { not: null } } })
    expect(rows.map(({ state }) => state).toSorted()).toEqual(['denied', 'succeeded'])
  })
})

describe('a caller who waits for a person', () => {
  it('hears the no with the answer, and is not told of it a second time', async () => {
    const one = await consentService()
    const { answered, id } = await one.asked()
    const failure = failureOf(answered)
    await one.answer(id, NO)
    expect(await failure).toMatchObject({ code: 'CONSENT_DENIED' })
    await one.hub.clock.advance(120_000)
    expect(one.told).toEqual([])
    expect(await one.row(id)).toMatchObject({ state: 'denied', tellAt: null })
  })

  it('learns of the no later when it did not wait so long', async () => {
    const one = await consentService()
    const { answered, id } = await one.asked()
    await one.hub.clock.advance(21_000)
    await answered
    await one.answer(id, NO)
    await one.hub.clock.advance(1_000)
    expect(one.told).toMatchObject([{ id, state: 'denied' }])
  })
})

describe('a call of which its caller was told that it was not run', () => {
  /** The first commit is written but not confirmed; the second fails. */
  function halfSeen(storage: FaultyStorage): void {
    let tries = 0
    storage.fault = writes => {
      if (!writes.some(({ table, kind }) => table === 'operations' && kind === 'insert')) return undefined
      if (++tries === 1) return { error: new AppError('OUTCOME_UNKNOWN', 'Nobody saw it.'), isWritten: true }
      return { error: new AppError('INTERNAL', 'The disk is full.') }
    }
  }

  it('asks no person, and is not run later', async () => {
    const one = await consentService()
    halfSeen(one.storage)
    expect(await failureOf(one.call())).toMatchObject({ message: expect.stringContaining('was not run') })
    one.storage.fault = () => undefined
    await settled(one.hub)
    expect(await one.hub.consentServices('default').open()).toEqual([])
    await one.hub.clock.advance(5_000)
    expect(await one.store.find('operations', { columns: ['state'] })).toEqual([{ state: 'cancelled' }])
    expect(one.runs()).toBe(0)
  })

  it('is not run later where it was allowed before either', async () => {
    const one = await consentService()
    await one.allow()
    halfSeen(one.storage)
    expect(await failureOf(one.call())).toMatchObject({ message: expect.stringContaining('was not run') })
    one.storage.fault = () => undefined
    await one.hub.clock.advance(600_000)
    const rows = await one.store.find('operations', { columns: ['state'] })
    expect(rows.map(({ state }) => state).toSorted()).toEqual(['failed', 'succeeded'])
    expect(one.runs()).toBe(1)
  })
})
