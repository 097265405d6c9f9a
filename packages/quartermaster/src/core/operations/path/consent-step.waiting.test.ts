import { describe, expect, it } from 'vitest'
import { AppError, messageOf, type ToolResult } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { type FaultyStorage, faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, failureOf, type Hub, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import { type CancelSignal, createCancellation } from '../../kernel/index.ts'
import { update, type Write } from '../../store/index.ts'

const OWNER = { name: 'the owner', via: 'owner' } as const
const ONCE = { decision: 'allow', lasting: 'once' } as const

/** A tool that a person has to allow, for a scope that tests change, and one around it that says what it heard. */
async function consentService({ during = async () => {} }: { during?: () => Promise<void> } = {}) {
  const storage = faultyStorage()
  let runs = 0
  let scope = 'a'
  const remove = simpleTool('remove', {
    mutates: true,
    consent: ['files.delete'],
    handler: async () => {
      runs++
      await during()
      return 'removed'
    },
  })
  const tidy = simpleTool('tidy', {
    mutates: true,
    handler: (_, { call }) =>
      call('remove', {}).then(
        () => 'done',
        (error: AppError) => error.code,
      ),
  })
  const consentOperations = [
    { name: 'files.delete', reason: 'It deletes.', weight: 'moderate' as const, scope: () => scope },
  ]
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [remove, tidy], { consentOperations })] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
  })
  hub.work()
  return {
    hub,
    storage,
    runs: () => runs,
    setScope: (next: string) => void (scope = next),
    allow: (id: string) => hub.consentServices('default').answer(id, ONCE, OWNER),
    row: (id: string) => storage.store.get('operations', id),
    async asked(tool = 'remove', options = {}) {
      const answered = hub.callAs('ada', tool, {}, options)
      answered.catch(() => {})
      await settled(hub)
      return { answered, id: (await hub.consentServices('default').open()).at(-1)?.id ?? '' }
    },
  }
}

async function settled({ clock }: Hub): Promise<void> {
  for (let i = 0; i < 60; i++) await clock.breathe()
}

/** Does something before the next time that an operation is read. */
function beforeReading({ store }: FaultyStorage, work: () => Promise<void>): void {
  const { get } = store
  let isNext = true
  Object.assign(store, {
    async get(table: never, id: never) {
      const isHere = isNext && table === 'operations'
      if (isHere) isNext = false
      if (isHere) await work()
      return get(table, id)
    },
  })
}

/** Does something right after the next call is on record as one that waits, before its caller does. */
function afterAsking({ store }: FaultyStorage, work: (id: string) => Promise<void>): void {
  const { commit } = store
  let isNext = true
  Object.assign(store, {
    async commit(writes: readonly Write[]) {
      const outcome = await commit(writes)
      const opened = writes.find(write => write.kind === 'insert' && write.table === 'approvals')
      if (!isNext || opened?.kind !== 'insert') return outcome
      isNext = false
      await work(String(opened.row.id))
      return outcome
    },
  })
}

const isLease = (writes: readonly Write[]) =>
  writes.some(write => write.kind === 'update' && write.table === 'operations' && write.set.state === 'leased')

/** Has the next lease commit go another way. */
function atLease({ store }: FaultyStorage, way: (commit: () => ReturnType<typeof store.commit>) => unknown): void {
  const { commit } = store
  let isNext = true
  Object.assign(store, {
    commit(writes: readonly Write[]) {
      if (!isNext || !isLease(writes)) return commit(writes)
      isNext = false
      return way(() => commit(writes))
    },
  })
}

const busy = () => Promise.reject(new AppError('STORE_BUSY', 'Busy.'))

describe('a call that waits for a person, and that the store cannot be asked about', () => {
  it('is answered with a handle, and runs once when it is allowed', async () => {
    const one = await consentService()
    beforeReading(one.storage, busy)
    const { answered, id } = await one.asked()
    expect((await answered).waiting).toMatchObject({ operationId: id, for: 'approval' })
    await one.allow(id)
    await one.hub.clock.advance(2_000)
    expect(await one.row(id)).toMatchObject({ state: 'succeeded' })
    expect(one.runs()).toBe(1)
  })

  it('is answered with a handle when the person’s answer cannot be read', async () => {
    const one = await consentService()
    const { answered, id } = await one.asked()
    one.storage.fault = writes => {
      if (writes.some(({ table }) => table === 'approvals')) beforeReading(one.storage, busy)
      return undefined
    }
    await one.hub.consentServices('default').answer(id, { decision: 'deny', lasting: 'once' }, OWNER)
    expect((await answered).waiting).toMatchObject({ operationId: id })
  })

  it('is given up inside another one, also when the store is busy for a while', async () => {
    const one = await consentService()
    let tries = 0
    Object.assign(one.storage, {
      fault: (writes: readonly Write[]) => {
        const isEnd = writes.some(w => w.kind === 'update' && w.table === 'operations' && w.set.state === 'cancelled')
        return isEnd && ++tries < 7 ? { error: new AppError('STORE_BUSY', 'Busy.') } : undefined
      },
    })
    const { answered, id } = await one.asked('tidy')
    await one.hub.clock.advance(21_000)
    await one.hub.clock.advance(7_000)
    expect((await answered).result).toMatchObject({ content: [{ text: 'CONSENT_REQUIRED' }] })
    expect(await one.row(id)).toMatchObject({ state: 'cancelled' })
    expect(one.runs()).toBe(0)
  })

  it('says inside another one that it may be run all the same when it cannot be given up', async () => {
    const one = await consentService()
    one.storage.fault = writes =>
      writes.some(w => w.kind === 'update' && w.table === 'operations' && w.set.state === 'cancelled')
        ? { error: new AppError('STORE_BUSY', 'Busy.') }
        : undefined
    const { answered } = await one.asked('tidy')
    await one.hub.clock.advance(21_000)
    await one.hub.clock.advance(10_000)
    expect((await answered).result).toMatchObject({ content: [{ text: 'OUTCOME_UNKNOWN' }] })
  })
})

describe('a call inside another one that was allowed and could not be taken', () => {
  it('is over, and is not run later', async () => {
    const one = await consentService()
    const { answered, id } = await one.asked('tidy')
    one.setScope('b')
    await one.allow(id)
    await one.hub.clock.advance(2_000)
    expect((await answered).result).toMatchObject({ content: [{ text: 'CONSENT_REQUIRED' }] })
    expect(await one.row(id)).toMatchObject({ state: 'cancelled' })
    expect(await one.hub.consentServices('default').open()).toEqual([])
    expect(one.runs()).toBe(0)
  })

  it('is not left for the next process when this one stops before it ran', async () => {
    const one = await consentService()
    const { answered, id } = await one.asked('tidy')
    atLease(one.storage, async commit => {
      const outcome = await commit()
      one.hub.calls.stop()
      return outcome
    })
    await one.allow(id)
    await answered.catch(() => {})
    await settled(one.hub)
    expect(await one.row(id)).toMatchObject({ state: 'failed', error: { code: 'STOPPING' } })
    expect(one.runs()).toBe(0)
  })
})

describe('a nested call that another process runs', () => {
  /** Has it taken, and then done, by another process. */
  const elsewhere = ({ store }: FaultyStorage, id: string) => ({
    take: () => store.commit([update('operations', { where: { id }, set: { ...TAKEN, fence: 1 } })]),
    end: () => store.commit([update('operations', { where: { id }, set: { ...DONE, result: REMOVED } })]),
  })
  const TAKEN = { state: 'leased', leaseOwner: 'other', leaseUntil: 9_000_000_000_000 } as const
  const DONE = { state: 'succeeded', outcome: 'succeeded', leaseOwner: null, leaseUntil: null, endedAt: 1 } as const
  const REMOVED: ToolResult = { content: [{ type: 'text', text: 'removed elsewhere' }] }

  it('is answered with what that came to, when that is while it is given up', async () => {
    const one = await consentService()
    let id = ''
    afterAsking(one.storage, async asked => {
      id = asked
      await elsewhere(one.storage, id).take()
    })
    const { answered } = await one.asked('tidy')
    await one.hub.clock.advance(1_000)
    await elsewhere(one.storage, id).end()
    await one.hub.clock.advance(5_000)
    expect((await answered).result).toMatchObject({ content: [{ text: 'done' }] })
    expect(one.runs()).toBe(0)
  })

  it('is answered with what that came to, when the time to wait was over at that moment', async () => {
    const one = await consentService()
    const { answered, id } = await one.asked('tidy')
    beforeReading(one.storage, async () => {
      await elsewhere(one.storage, id).end()
    })
    await one.hub.clock.advance(21_000)
    expect((await answered).result).toMatchObject({ content: [{ text: 'done' }] })
  })

  it('has an unknown outcome while that continues', async () => {
    const one = await consentService()
    afterAsking(one.storage, async id => void (await elsewhere(one.storage, id).take()))
    const { answered } = await one.asked('tidy')
    await one.hub.clock.advance(10_000)
    expect((await answered).result).toMatchObject({ content: [{ text: 'OUTCOME_UNKNOWN' }] })
  })
})

describe('a call that is allowed while its caller gives it up', () => {
  it('is not run', async () => {
    const one = await consentService()
    const stop = new AbortController()
    const { answered, id } = await one.asked('remove', { signal: stop.signal })
    beforeReading(one.storage, async () => {
      await one.allow(id)
      await settled(one.hub)
    })
    stop.abort()
    await settled(one.hub)
    await one.hub.clock.advance(5_000)
    expect(await failureOf(answered)).toMatchObject({ code: 'CANCELLED' })
    expect(await one.row(id)).toMatchObject({ state: 'cancelled' })
    expect(one.runs()).toBe(0)
  })
})

describe('a call that was allowed and is given up before its caller has taken it', () => {
  it('is not run by the queue either', async () => {
    const one = await consentService()
    const stop = new AbortController()
    const { answered, id } = await one.asked('remove', { signal: stop.signal })
    const { find } = one.storage.store
    Object.assign(one.storage.store, {
      async find(table: never, query: never) {
        if (table === 'grants' && !stop.signal.aborted) {
          // The cancelling caller reads the operation next, and the queue has all the time it needs.
          beforeReading(one.storage, () => one.hub.clock.advance(2_000))
          stop.abort()
        }
        return find(table, query)
      },
    })
    await one.allow(id)
    await one.hub.clock.advance(5_000)
    expect(await failureOf(answered)).toMatchObject({ code: 'CANCELLED' })
    expect(await one.row(id)).toMatchObject({ state: 'cancelled' })
    expect(one.runs()).toBe(0)
  })
})

describe('a call that the queue runs while its caller waits', () => {
  it('can be cancelled after its caller has left', async () => {
    const gate = deferred<void>()
    const one = await consentService({ during: () => gate.promise })
    afterAsking(one.storage, async id => {
      await one.allow(id)
      await settled(one.hub)
    })
    const answered = one.hub.callAs('ada', 'remove', {}, { timeoutMs: 5_000 })
    await one.hub.clock.advance(6_000)
    const { waiting, operationId: id } = await answered
    expect(waiting).toBeDefined()
    expect(one.runs()).toBe(1)
    await one.hub.operationAdmin.cancel(id)
    await settled(one.hub)
    expect((await one.row(id))?.endedAt).not.toBeNull()
    gate.resolve()
  })
})

describe('a lease whose commit was not confirmed', () => {
  const unseen = () => Promise.reject(new AppError('OUTCOME_UNKNOWN', 'Nobody saw it.'))

  it.each(['written', 'not written'] as const)('has a call whose caller waits run once: %s', async how => {
    const one = await consentService()
    const { answered, id } = await one.asked()
    atLease(one.storage, async commit => {
      if (how === 'written') await commit()
      return await unseen()
    })
    await one.allow(id)
    await one.hub.clock.advance(2_000)
    await answered
    expect(await one.row(id)).toMatchObject({ state: 'succeeded', attempts: 1 })
    expect(one.runs()).toBe(1)
  })

  it.each(['written', 'not written'] as const)('has a call that the queue takes run once: %s', async how => {
    const one = await consentService()
    const { answered, id } = await one.asked()
    await one.hub.clock.advance(21_000)
    expect((await answered).waiting).toMatchObject({ for: 'approval' })
    atLease(one.storage, async commit => {
      if (how === 'written') await commit()
      return await unseen()
    })
    await one.allow(id)
    await one.hub.clock.advance(2_000)
    expect(await one.row(id)).toMatchObject({ state: 'succeeded', attempts: 1 })
    expect(one.runs()).toBe(1)
  })
})

describe('the end of a call that is given up while it waits', () => {
  /** A tool that a person has to allow, also when another one calls it; and the listener for results. */
  async function givenUp(tool: string, signal?: CancelSignal) {
    const told: string[] = []
    const remove = simpleTool('remove', { mutates: true, consent: ['files.delete'], handler: () => 'removed' })
    const tidy = simpleTool('tidy', {
      mutates: true,
      handler: (_, { call }) => call('remove', {}).then(() => 'done', messageOf),
    })
    const consentOperations = [{ name: 'files.delete', reason: 'It deletes.', weight: 'moderate' as const }]
    const hub = await createHub({
      units: { main: { capabilities: [simpleCapability('main', [remove, tidy], { consentOperations })] } },
      agents: { ada: { capabilities: { main: {} } } },
      tellEnd: one => void told.push(`${one.tool} ${one.state}`),
    })
    hub.work()
    hub.callAs('ada', tool, {}, { signal }).catch(() => {})
    await hub.clock.advance(1_000)
    return { hub, told }
  }

  it('is not announced where the outer tool has received it', async () => {
    const { hub, told } = await givenUp('tidy')
    await hub.clock.advance(60_000)
    expect(await hub.operations.list({ organisation: 'default' })).toMatchObject({
      operations: [{ state: 'cancelled' }, { tool: 'tidy' }],
    })
    expect(told).toEqual([])
  })

  it('is announced at once where its caller went away', async () => {
    const { signal, cancel } = createCancellation()
    const { hub, told } = await givenUp('remove', signal)
    cancel(new AppError('CANCELLED', 'The client went away.'))
    await hub.clock.advance(2_000)
    expect(told).toEqual(['remove cancelled'])
  })
})
