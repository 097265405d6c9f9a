import { describe, expect, it } from 'vitest'
import { AppError, ToolResult } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { type FaultyStorage, faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, failureOf, type Hub, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import type { AnyTool } from '../../catalogue/index.ts'
import { unkeepable, type Write } from '../../store/index.ts'

async function hubWith(tools: readonly AnyTool[], storage: FaultyStorage = faultyStorage()) {
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', tools)] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
  })
  return { hub, storage, store: storage.store }
}

const sendMail = (more: Partial<AnyTool> = {}) => simpleTool('send_mail', { mutates: true, ...more })
const DIGEST = expect.stringMatching(/^[0-9a-f]{64}$/)

const broken = new AppError('INTERNAL', 'The store could not do it: its disk is full. Nothing was written.')
const unseen = new AppError('OUTCOME_UNKNOWN', 'The commit may have happened or not.')

const begins = (writes: readonly Write[]) => writes[0]?.kind === 'insert' && writes[0].table === 'operations'
const ends = ([first]: readonly Write[]) =>
  first?.kind === 'update' && first.table === 'operations' && 'state' in first.set

describe('the record of a call that may change something', () => {
  it('is there before the tool runs, with sealed arguments', async () => {
    const entered = deferred()
    const leave = deferred()
    const tool = sendMail({ handler: async () => (entered.resolve(), await leave.promise, 'sent') })
    const { hub, store } = await hubWith([tool])
    const call = hub.callAs('ada', 'send_mail', { to: 'bob', text: 'hunter2' })
    await entered.promise
    const [row] = await store.find('operations', {})
    expect(row).toMatchObject({
      workspace: 'ada',
      callerName: 'ada',
      tool: 'send_mail',
      mutates: true,
      state: 'leased',
      attempts: 1,
      fence: 1,
      leaseOwner: expect.stringMatching(/^process_/),
      arguments: expect.stringMatching(/^s1\./),
      digest: DIGEST,
      outcome: null,
      endedAt: null,
    })
    expect(JSON.stringify(row)).not.toContain('hunter2')
    leave.resolve()
    await call
  })

  it('ends in one commit with its line of the audit, without arguments and result', async () => {
    const { hub, storage, store } = await hubWith([sendMail()])
    const commits: (readonly Write[])[] = []
    storage.fault = writes => void commits.push(writes)
    const { operationId } = await hub.callAs('ada', 'send_mail', { to: 'bob' })
    expect(commits.map(writes => writes.map(({ kind, table }) => `${kind} ${table}`))).toEqual([
      ['insert operations'],
      ['update operations', 'insert audit'],
    ])
    expect(await store.get('operations', operationId)).toMatchObject({
      state: 'succeeded',
      outcome: 'succeeded',
      arguments: null,
      result: null,
      error: null,
      leaseOwner: null,
      leaseUntil: null,
      endedAt: hub.clock.now(),
      keepUntil: hub.clock.now() + 30 * 86_400_000,
    })
    expect(await store.find('audit', {})).toMatchObject([
      { operationId, tool: 'send_mail', digest: DIGEST, decision: 'allowed', outcome: 'succeeded', mutates: true },
    ])
  })

  it.each([
    [
      'failed, when the tool said no',
      () => {
        throw new Error('No such address.')
      },
      'failed',
      'failed',
      null,
    ],
    [
      'failed with its error',
      () => {
        throw new AppError('DEPENDENCY_UNAVAILABLE', 'No route.')
      },
      'failed',
      'failed',
      'DEPENDENCY_UNAVAILABLE',
    ],
    ['unknown, when time was over', () => new Promise(() => {}), 'unknown', 'unknown', 'OUTCOME_UNKNOWN'],
  ])('says %s', async (_what, handler, state, outcome, code) => {
    const { hub, store } = await hubWith([sendMail({ handler, timeoutMs: 1_000 })])
    const call = hub.callAs('ada', 'send_mail').catch(() => undefined)
    await hub.clock.advance(1_000)
    await call
    const [row] = await store.find('operations', {})
    expect([row?.state, row?.outcome, row?.error?.code ?? null]).toEqual([state, outcome, code])
  })

  it('says that the tool was not run when it was forbidden meanwhile', async () => {
    const { hub, storage, store } = await hubWith([sendMail()])
    storage.fault = async writes => {
      if (begins(writes)) await hub.setAgents({ ada: { capabilities: {} } })
      return undefined
    }
    expect(await failureOf(hub.callAs('ada', 'send_mail'))).toMatchObject({ code: 'TOOL_NOT_FOUND' })
    const [row] = await store.find('operations', {})
    expect(row).toMatchObject({ state: 'failed', outcome: null, error: { code: 'TOOL_NOT_FOUND' } })
    expect(await store.find('audit', {})).toMatchObject([{ decision: 'refused', outcome: 'notRun' }])
  })

  it('names the operation from inside which it was called', async () => {
    const outer = sendMail({ handler: (_input: unknown, context) => context.call('log_it', {}) })
    const { hub, store } = await hubWith([outer, simpleTool('log_it', { mutates: true })])
    const { operationId } = await hub.callAs('ada', 'send_mail')
    const rows = await store.find('operations', { columns: ['tool', 'parentId'] })
    expect(rows).toEqual([
      { tool: 'send_mail', parentId: null },
      { tool: 'log_it', parentId: operationId },
    ])
  })
})

describe('a call that changes nothing', () => {
  it('has no record, and its line of the audit is there within a second', async () => {
    const { hub, store } = await hubWith([simpleTool('look')])
    await hub.callAs('ada', 'look')
    await failureOf(hub.callAs('ada', 'no\u0000such\ud800tool'.repeat(100)))
    expect(await store.count('audit')).toBe(0)
    await hub.clock.advance(1_000)
    expect(await store.count('operations')).toBe(0)
    const lines = await store.find('audit', { columns: ['tool', 'outcome', 'digest'] })
    expect(lines.map(({ outcome }) => outcome)).toEqual(['succeeded', 'notRun'])
    expect(lines.map(({ digest }) => digest)).toEqual([DIGEST, ''])
  })

  it('is written without waiting when many come, and by stopping', async () => {
    const { hub, store } = await hubWith([simpleTool('look')])
    await Promise.all(Array.from({ length: 300 }, () => hub.callAs('ada', 'look')))
    await hub.clock.breathe()
    expect(await store.count('audit')).toBeGreaterThanOrEqual(256)
    await hub.stop()
    expect(await store.count('audit')).toBe(300)
  })

  it('never waits for the store; of too many lines the oldest are dropped, and counted', async () => {
    const storage = faultyStorage()
    const { hub, store } = await hubWith([simpleTool('look')], storage)
    const working = deferred()
    storage.fault = async () => void (await working.promise)
    for (let i = 0; i < 10_500; i++) await hub.callAs('ada', 'look')
    working.resolve()
    await hub.stop()
    expect(await store.count('audit')).toBe(256 + 10_000)
  })

  it('is audited once, also when the store died while it was written', async () => {
    const storage = faultyStorage()
    const { hub, store } = await hubWith([simpleTool('look')], storage)
    storage.fault = () => ({ error: unseen, isWritten: true })
    await hub.callAs('ada', 'look')
    await hub.clock.advance(1_000)
    storage.fault = () => undefined
    await hub.clock.advance(1_000)
    expect(await store.count('audit')).toBe(1)
  })
})

describe('a task', () => {
  const asTask = { ttlMs: 60_000 }

  it('is on record whatever its tool, and keeps its result for its time', async () => {
    const { hub } = await hubWith([simpleTool('look', { handler: () => 'seen' })])
    const recorded: string[] = []
    const { operationId } = await hub.callAs('ada', 'look', {}, { asTask, onRecorded: id => recorded.push(id) })
    expect(recorded).toEqual([operationId])
    const { caller } = hub.agents.session('ada')
    expect(await hub.operations.show(caller, operationId)).toMatchObject({
      id: operationId,
      tool: 'look',
      state: 'succeeded',
      result: ToolResult.parse({ content: [{ type: 'text', text: 'seen' }] }),
      ttlMs: 60_000,
      keepUntil: hub.clock.now() + 60_000,
    })
  })

  it('is told apart from the record of any other call', async () => {
    const { hub, store } = await hubWith([sendMail()])
    const { caller } = hub.agents.session('ada')
    const { operationId } = await hub.callAs('ada', 'send_mail')
    expect(await hub.operations.show(caller, operationId)).not.toHaveProperty('ttlMs')
    const task = await hub.callAs('ada', 'send_mail', {}, { asTask })
    expect(await hub.operations.show(caller, task.operationId)).toMatchObject({ ttlMs: 60_000 })
    expect((await store.find('operations', {})).map(row => row.ttlMs)).toEqual([null, 60_000])
  })

  it('says how far it has come while it runs', async () => {
    const leave = deferred()
    const tool = simpleTool('look', {
      async handler(_input: unknown, context) {
        context.progress({ progress: 1, total: 3 })
        await leave.promise
      },
    })
    const { hub } = await hubWith([tool])
    const { caller } = hub.agents.session('ada')
    const id = await new Promise<string>(resolve => {
      void hub.callAs('ada', 'look', { at: 'x' }, { asTask, onRecorded: resolve })
    })
    await hub.clock.breathe()
    expect(await hub.operations.show(caller, id)).toMatchObject({
      state: 'leased',
      progress: '1 of 3',
      ttlMs: 60_000,
      arguments: { at: '•••' },
    })
    leave.resolve()
    await hub.clock.breathe()
    expect(await hub.operations.show(caller, id)).not.toHaveProperty('progress')
  })

  it('that is cancelled says so', async () => {
    const { hub } = await hubWith([simpleTool('look', { handler: () => new Promise(() => {}) })])
    const cancel = new AbortController()
    const options = { asTask, signal: cancel.signal, onRecorded: () => cancel.abort() }
    expect(await failureOf(hub.callAs('ada', 'look', {}, options))).toMatchObject({ code: 'CANCELLED' })
    expect(await hub.operations.list({ organisation: 'default' })).toMatchObject({
      operations: [{ state: 'cancelled', code: 'CANCELLED' }],
    })
  })
})

describe('a record that cannot be written', () => {
  it('keeps the tool from running', async () => {
    let runs = 0
    const { hub, storage, store } = await hubWith([sendMail({ handler: () => void runs++ })])
    storage.fault = writes => (begins(writes) ? { error: broken } : undefined)
    expect(await failureOf(hub.callAs('ada', 'send_mail'))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      retry: 'later',
      message: expect.stringContaining('its disk is full'),
    })
    expect(runs).toBe(0)
    await hub.clock.advance(1_000)
    expect(await store.find('audit', {})).toMatchObject([{ outcome: 'notRun', code: 'STORE_UNAVAILABLE' }])
  })

  it('says when the store has too much to do', async () => {
    const { hub, storage } = await hubWith([sendMail()])
    storage.fault = () => ({ error: new AppError('STORE_BUSY', 'The store is behind.') })
    expect(await failureOf(hub.callAs('ada', 'send_mail'))).toMatchObject({ code: 'STORE_BUSY', retry: 'later' })
  })

  it.each([true, false])('is tried once more when its commit was not confirmed (it was: %s)', async isWritten => {
    const { hub, storage, store } = await hubWith([sendMail()])
    let isFirst = true
    storage.fault = () => {
      const fault = isFirst ? { error: unseen, isWritten } : undefined
      isFirst = false
      return fault
    }
    await hub.callAs('ada', 'send_mail')
    expect(await store.find('operations', {})).toMatchObject([{ state: 'succeeded' }])
  })

  it('and perhaps was, is ended as one that did not run', async () => {
    const { hub, storage, store } = await hubWith([sendMail()])
    storage.fault = writes => (begins(writes) ? { error: unseen, isWritten: true } : undefined)
    expect(await failureOf(hub.callAs('ada', 'send_mail'))).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await store.find('operations', {})).toMatchObject([{ state: 'failed', outcome: null }])
  })
})

describe('an end that cannot be written', () => {
  async function ranButNotWritten(): Promise<{ hub: Hub; storage: FaultyStorage; failure: Promise<unknown> }> {
    const { hub, storage } = await hubWith([sendMail(), simpleTool('look')])
    storage.fault = writes => (ends(writes) ? { error: broken } : undefined)
    const failure = failureOf(hub.callAs('ada', 'send_mail'))
    await hub.clock.advance(5_000)
    return { hub, storage, failure }
  }

  it('leaves the caller of a tool that may have changed something with an unknown outcome', async () => {
    const { hub, failure } = await ranButNotWritten()
    expect(await failure).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      retry: 'verifyFirst',
      message: expect.stringContaining('"send_mail" ran and succeeded'),
    })
    expect(hub.audit).toMatchObject([{ outcome: 'unknown', code: 'OUTCOME_UNKNOWN' }])
    expect(await hub.operations.list({ organisation: 'default' })).toMatchObject({ operations: [{ state: 'leased' }] })
  })

  it('is written as soon as that is possible again, and then says what happened', async () => {
    const { hub, storage, failure } = await ranButNotWritten()
    await failure
    storage.fault = () => undefined
    await hub.clock.advance(30_000)
    expect(await hub.operations.list({ organisation: 'default' })).toMatchObject({
      operations: [{ state: 'succeeded', outcome: 'succeeded' }],
    })
    expect(await hub.operations.audit({ organisation: 'default' })).toMatchObject({ lines: [{ outcome: 'succeeded' }] })
  })

  it('is tried a last time when everything stops', async () => {
    const { hub, storage, failure } = await ranButNotWritten()
    await failure
    storage.fault = () => undefined
    await hub.stop()
    expect(await hub.operations.list({ organisation: 'default' })).toMatchObject({
      operations: [{ state: 'succeeded' }],
    })
  })

  it('takes nothing from a caller whose tool changed nothing', async () => {
    const { hub, storage } = await hubWith([simpleTool('look')])
    storage.fault = writes => (ends(writes) ? { error: broken } : undefined)
    const call = hub.callAs('ada', 'look', {}, { asTask: { ttlMs: 60_000 } })
    await hub.clock.advance(5_000)
    expect((await call).result).toEqual({ content: [{ type: 'text', text: 'look' }] })
  })

  it.each([
    ['it cannot be put into words', () => new TypeError('Do not know how to serialize a BigInt')],
    ['a column refuses it', () => unkeepable('operations.result', '"operations.result" takes what JSON can say.')],
  ])('is written without what no store could write, once: %s', async (_, objection) => {
    const { hub, storage, store } = await hubWith([sendMail()])
    let tries = 0
    storage.fault = writes => {
      if (!ends(writes)) return undefined
      if (++tries === 1) throw objection()
      return undefined
    }
    await hub.callAs('ada', 'send_mail', {}, { idempotencyKey: 'k' })
    await hub.clock.advance(60_000)
    expect(tries).toBe(2)
    expect(await store.find('operations', {})).toMatchObject([{ state: 'succeeded', result: null, leaseOwner: null }])
    expect(await store.count('audit')).toBe(1)
  })

  it('does not leave it running where the next try could not be written', async () => {
    const closed = () => Promise.reject(new AppError('DEPENDENCY_UNAVAILABLE', 'Closed.'))
    const { hub, storage, store } = await hubWith([sendMail({ idempotent: true, retry: 'replay', handler: closed })])
    storage.fault = writes =>
      ends(writes) && JSON.stringify(writes).includes('"queued"')
        ? { error: unkeepable('operations.dueAt', 'No time.') }
        : undefined
    await hub.callAs('ada', 'send_mail')
    expect(await store.find('operations', {})).toMatchObject([
      {
        state: 'exhausted',
        outcome: 'failed',
        arguments: expect.any(String),
        error: { code: 'DEPENDENCY_UNAVAILABLE' },
      },
    ])
  })

  it('of an unconfirmed commit is written once', async () => {
    const { hub, storage, store } = await hubWith([sendMail()])
    let faults = 0
    storage.fault = writes => (ends(writes) && faults++ === 0 ? { error: unseen, isWritten: true } : undefined)
    const call = hub.callAs('ada', 'send_mail')
    await hub.clock.advance(50)
    await call
    expect(await store.count('audit')).toBe(1)
    expect(await store.find('operations', {})).toMatchObject([{ state: 'succeeded' }])
  })
})
