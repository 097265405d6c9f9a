import { describe, expect, it } from 'vitest'
import { createIds } from '../../../adapters/system/index.ts'
import { AppError, DEFAULT_SETTINGS, type OperationState } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { type FaultyStorage, faultyStorage } from '../../../testing/faulty-storage.ts'
import {
  createHub,
  DOWN,
  type FakeService,
  failureOf,
  fakeService,
  type Hub,
  type HubOptions,
  simpleCapability,
  simpleTool,
  UP,
} from '../../../testing/hub.ts'
import type { AnyTool } from '../../catalogue/index.ts'
import { recoverAfterCrash } from '../index.ts'

const unavailable = () => new AppError('DEPENDENCY_UNAVAILABLE', 'The post office is closed.')

interface FixtureOptions extends Omit<HubOptions, 'storage'> {
  readonly tool?: Partial<AnyTool>
  readonly storage?: FaultyStorage
  /** How often it fails before it works. */
  readonly failures?: number
  readonly failure?: () => AppError
  readonly dependencies?: readonly FakeService[]
}

/** One tool that may be tried again, and what became of each try. */
async function fixture(options: FixtureOptions = {}) {
  const { tool, storage = faultyStorage(), failures = 0, failure = unavailable, dependencies = [], ...more } = options
  const runs: unknown[] = []
  const handler: AnyTool['handler'] = input => {
    runs.push(input)
    if (runs.length <= failures) throw failure()
    return `sent after ${runs.length}`
  }
  const sendMail = simpleTool('send_mail', { mutates: true, idempotent: true, retry: 'replay', handler, ...tool })
  const hub = await createHub({
    units: {
      main: {
        capabilities: [simpleCapability('main', [sendMail])],
        dependencies: dependencies.map(({ dependency }) => dependency),
      },
    },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
    ...more,
  })
  const changes: (OperationState | undefined)[] = []
  hub.emitter.on('operation.changed', ({ to }) => changes.push(to))
  const { store } = storage
  const send = () => hub.callAs('ada', 'send_mail', { to: 'eve', text: 'hunter2' })
  const row = async () => (await store.find('operations', {}))[0]
  return { hub, store, storage, runs, changes, send, row }
}

/** Long enough for a dependency to be known to be down before the next try. */
const PATIENT = { retryFirstSeconds: 60 }

async function goDown(hub: Hub, service: FakeService): Promise<void> {
  service.verdict = DOWN
  hub.health.reportFailure('post', 'It hung up.')
  await hub.clock.advance(11_000)
}

describe('a call that fails for now, of a tool that may be tried again', () => {
  it('is answered with a handle, and done when its time has come', async () => {
    const { hub, send, runs, row, changes } = await fixture({ failures: 1 })
    const answer = await send()
    expect(answer.waiting).toEqual({
      status: 'waiting',
      operationId: answer.operationId,
      for: 'retry',
      nextAttemptAt: hub.clock.now() + 10_000,
      expiresAt: hub.clock.now() + 24 * 3_600_000,
    })
    expect(answer.result.content).toMatchObject([{ text: expect.stringContaining(answer.operationId) }])
    await hub.clock.advance(9_999)
    expect(runs).toHaveLength(1)
    await hub.clock.advance(1)
    expect(runs).toEqual([
      { to: 'eve', text: 'hunter2' },
      { to: 'eve', text: 'hunter2' },
    ])
    expect(await row()).toMatchObject({
      id: answer.operationId,
      state: 'succeeded',
      outcome: 'succeeded',
      attempts: 2,
      fence: 2,
      arguments: null,
      error: null,
      result: { content: [{ type: 'text', text: 'sent after 2' }] },
    })
    expect(changes).toEqual(['leased', 'queued', 'leased', 'succeeded'])
  })

  it('is tried six times, the pauses growing, and is then given up', async () => {
    const { hub, send, runs, row } = await fixture({ failures: 99 })
    await send()
    const times: number[] = []
    for (const pause of [10, 20, 40, 80, 160]) {
      await hub.clock.advance(pause * 1_000 - 1)
      const before = runs.length
      await hub.clock.advance(1)
      times.push(runs.length - before)
    }
    expect(times).toEqual([1, 1, 1, 1, 1])
    expect(await row()).toMatchObject({ state: 'exhausted', attempts: 6, error: { code: 'DEPENDENCY_UNAVAILABLE' } })
    await hub.clock.advance(3_600_000)
    expect(runs).toHaveLength(6)
    expect(hub.audit).toHaveLength(6)
  })

  it('goes on in the process that comes next', async () => {
    const storage = faultyStorage()
    const first = await fixture({ storage, failures: 1 })
    await first.send()
    await first.hub.stop()
    const second = await fixture({ storage })
    second.hub.work()
    await second.hub.clock.advance(10_000)
    expect(second.runs).toEqual([{ to: 'eve', text: 'hunter2' }])
    expect(await second.row()).toMatchObject({ state: 'succeeded', attempts: 2 })
    expect(first.runs).toHaveLength(1)
  })

  it('waits in the process that comes next until its tool has been read there', async () => {
    const storage = faultyStorage()
    const first = await fixture({ storage, failures: 1 })
    await first.send()
    await first.hub.stop()
    const second = await fixture({ storage, slow: true })
    second.hub.work()
    await second.hub.clock.advance(30_000)
    expect(await second.row()).toMatchObject({ state: 'queued', attempts: 1 })
    second.hub.hurry()
    await second.hub.clock.advance(2_000)
    expect(second.runs).toEqual([{ to: 'eve', text: 'hunter2' }])
    expect(await second.row()).toMatchObject({ state: 'succeeded', attempts: 2 })
  })

  it('is run by one of two processes that see it', async () => {
    const storage = faultyStorage()
    const one = await fixture({ storage, failures: 1 })
    const two = await fixture({ storage })
    await one.send()
    two.hub.work()
    await Promise.all([one.hub.clock.advance(60_000), two.hub.clock.advance(60_000)])
    expect(one.runs.length + two.runs.length).toBe(2)
    expect(await one.row()).toMatchObject({ state: 'succeeded', attempts: 2 })
  })

  it('waits for what it needs, not for a time, and uses up no attempt meanwhile', async () => {
    const post = fakeService('post')
    const { hub, send, runs, row } = await fixture({
      failures: 1,
      tool: { requires: ['post'] },
      dependencies: [post],
      settings: PATIENT,
    })
    await hub.health.probeNew()
    await send()
    await goDown(hub, post)
    await hub.clock.advance(60_000)
    expect(runs).toHaveLength(1)
    expect(await row()).toMatchObject({ state: 'queued', attempts: 1, dueAt: null, error: { code: 'TOOL_DISABLED' } })
    post.verdict = UP
    await hub.health.recheck('send_mail', { force: true })
    await hub.clock.advance(0)
    expect(runs).toHaveLength(2)
    expect(await row()).toMatchObject({ state: 'succeeded', attempts: 2 })
  })

  it('is given up when it has waited for a day, and that is on record', async () => {
    const post = fakeService('post')
    const { hub, send, row } = await fixture({
      failures: 1,
      tool: { requires: ['post'] },
      dependencies: [post],
      settings: PATIENT,
    })
    await hub.health.probeNew()
    await send()
    await goDown(hub, post)
    await hub.clock.advance(25 * 3_600_000)
    expect(await row()).toMatchObject({ state: 'expired', error: { code: 'DEADLINE_EXCEEDED' }, announcedAt: null })
    expect(hub.audit.at(-1)).toMatchObject({ outcome: 'notRun', code: 'DEADLINE_EXCEEDED' })
  })

  it('ends when its agent is gone, and when the tool is not granted any more', async () => {
    for (const agents of [{}, { ada: { capabilities: {} } }]) {
      const { hub, send, runs, row } = await fixture({ failures: 1 })
      await send()
      await hub.setAgents(agents)
      await hub.clock.advance(10_000)
      expect(runs).toHaveLength(1)
      expect(await row()).toMatchObject({ state: 'failed', error: { retry: 'never' } })
    }
  })

  it('is not done by another tool of the same name', async () => {
    const { hub, send, runs, row } = await fixture({ failures: 1 })
    await send()
    const other = simpleTool('send_mail', { mutates: true, idempotent: true, retry: 'replay', short: 'Sends to all.' })
    hub.write('main', { capabilities: [simpleCapability('main', [other])] })
    await hub.catalogue.reload()
    await hub.clock.advance(10_000)
    expect(runs).toHaveLength(1)
    expect(await row()).toMatchObject({ state: 'failed', error: { code: 'DEFINITION_INVALID' } })
  })

  it('waits as long as the server asked for', async () => {
    const failure = () => new AppError('DEPENDENCY_UNAVAILABLE', 'Later.', { details: { retryAfterMs: 45_000 } })
    const { hub, send, runs } = await fixture({ failures: 1, failure })
    await send()
    await hub.clock.advance(44_999)
    expect(runs).toHaveLength(1)
    await hub.clock.advance(1)
    expect(runs).toHaveLength(2)
  })

  it('is an error for the caller where the tool is manual, and where trying again does not help', async () => {
    const manual = await fixture({ failures: 1, tool: { retry: 'manual', idempotent: false } })
    expect(await failureOf(manual.send())).toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
    const permanent = await fixture({ failures: 1, failure: () => new AppError('UPSTREAM_ERROR', 'No.') })
    expect(await failureOf(permanent.send())).toMatchObject({ code: 'UPSTREAM_ERROR' })
    for (const { hub, runs } of [manual, permanent]) {
      await hub.clock.advance(600_000)
      expect(runs).toHaveLength(1)
    }
  })
})

describe('a process that was taken for dead', () => {
  it('cannot end what another process has taken over', async () => {
    const entered = deferred()
    const leave = deferred()
    const tool: Partial<AnyTool> = {
      retry: 'manual',
      idempotent: false,
      handler: async () => (entered.resolve(), await leave.promise, 'sent'),
    }
    const { hub, send, store, row } = await fixture({ tool })
    const answer = send()
    await entered.promise
    await recoverAfterCrash({
      store,
      clock: hub.clock,
      ids: createIds(),
      random: () => 0.5,
      settings: DEFAULT_SETTINGS,
    })
    leave.resolve()
    expect(await failureOf(answer)).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(await row()).toMatchObject({ state: 'unknown' })
  })
})
