import { describe, expect, it } from 'vitest'
import { AppError, type OperationSummary, type Settings } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, simpleCapability, simpleTool } from '../../../testing/hub.ts'

const OWNER = { name: 'the owner', via: 'owner' } as const
const ONCE = { decision: 'allow', lasting: 'once' } as const
const NO = { decision: 'deny', lasting: 'once' } as const
const brief = (minutes: number) => ({ decision: 'allow', lasting: 'time', minutes }) as const

/** A tool that asks, can be tried again after a minute, and fails at one of its runs. */
async function fixture({ failing = 1, settings = {} }: { failing?: number; settings?: Partial<Settings> } = {}) {
  let runs = 0
  const handler = () => {
    if (++runs === failing) throw new AppError('DEPENDENCY_UNAVAILABLE', 'Closed.')
    return 'deleted'
  }
  const facts = { mutates: true, idempotent: true, retry: 'replay', consent: ['files.delete'], handler } as const
  const files = { name: 'files.delete', reason: 'It deletes a file.', weight: 'moderate', scope: '{path}' } as const
  const capability = simpleCapability('main', [simpleTool('delete_file', facts)], { consentOperations: [files] })
  const told: OperationSummary[] = []
  const { store, ...storage } = faultyStorage()
  const fake = createFakeClock()
  let skipped = 0
  const clock = { ...fake, now: () => fake.now() + skipped }
  const hub = await createHub({
    clock,
    units: { main: { capabilities: [capability] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
    settings: { retryFirstSeconds: 60, ...settings },
    tellEnd: end => void told.push(end),
  })
  hub.work()
  const finish = async () => {
    for (let i = 0; i < 20; i++) await hub.clock.breathe()
  }
  const call = () => hub.callAs('ada', 'delete_file', { path: 'a' })
  const { open, answer, argumentsOf } = hub.consentServices('default')
  const row = (id: string) => store.get('operations', id)
  /** A call that was allowed for a while, and by then waits to be tried again unless it was done. */
  async function allowed(minutes: number): Promise<string> {
    const calling = call()
    await finish()
    const [request] = await open()
    await answer(request?.id ?? '', brief(minutes), OWNER)
    return (await calling).operationId
  }
  /** Time that passes at one blow, as it does for a process that was held up. */
  const skip = (ms: number) => void (skipped += ms)
  return { hub, skip, store, told, finish, call, open, answer, argumentsOf, row, allowed }
}

describe('an answer that comes late', () => {
  it('leaves the call as much time to be done as any other has', async () => {
    const { hub, finish, call, open, answer, row } = await fixture({ settings: { approvalHours: 200 } })
    const { operationId: id } = await Promise.all([call(), hub.clock.advance(60_000)]).then(([first]) => first)
    await hub.clock.advance(100 * 3_600_000)
    expect(await open()).toHaveLength(1)
    await answer(id, brief(60), OWNER)
    await finish()
    expect(await row(id)).toMatchObject({ state: 'queued', attempts: 1 })
    await hub.clock.advance(60_000)
    expect(await row(id)).toMatchObject({ state: 'succeeded', attempts: 2 })
  })
})

describe('an answer that has run out before the next try', () => {
  it('is asked for again, and the call goes on with the new one', async () => {
    const { hub, store, told, finish, open, answer, row, allowed } = await fixture()
    const id = await allowed(0.5)
    expect(await row(id)).toMatchObject({ state: 'queued', attempts: 1 })
    await hub.clock.advance(60_000)
    expect(await row(id)).toMatchObject({ state: 'waitingForApproval', attempts: 1, dueAt: null })
    expect(await open()).toMatchObject([{ id, state: 'open', answeredBy: null, createdAt: hub.clock.now() }])
    const audit = await store.find('audit', { where: { operationId: id } })
    const consent = { operations: ['files.delete'], by: 'owner' }
    expect(audit).toContainEqual(expect.objectContaining({ outcome: 'notRun', code: 'CONSENT_REQUIRED', consent }))
    await answer(id, ONCE, OWNER)
    await finish()
    expect(await row(id)).toMatchObject({ state: 'succeeded', attempts: 2 })
    expect(told).toMatchObject([{ id, state: 'succeeded' }])
  })

  it('is asked for too where it was given for an earlier call', async () => {
    const { hub, call, open, argumentsOf, allowed } = await fixture({ failing: 2 })
    await allowed(0.5)
    const { operationId, waiting } = await call()
    expect(waiting).toMatchObject({ for: 'retry' })
    await hub.clock.advance(60_000)
    expect(await open()).toMatchObject([{ id: operationId, state: 'open', tool: 'delete_file' }])
    expect(await argumentsOf(operationId)).toEqual({ path: 'a' })
  })

  it('is asked for where it runs out just when the try begins, and that counts as no try', async () => {
    const { hub, skip, finish, open, row, allowed } = await fixture()
    const id = await allowed(1.1)
    hub.emitter.on('operation.changed', ({ to }) => {
      if (to === 'leased') skip(10_000)
    })
    await hub.clock.advance(60_000)
    await finish()
    expect(await row(id)).toMatchObject({ state: 'waitingForApproval', attempts: 1 })
    expect(await open()).toMatchObject([{ id }])
  })

  it.each(['expired', 'denied'] as const)('is waited for no longer than for the call: %s', async ending => {
    const { hub, told, finish, open, answer, row, allowed } = await fixture({ settings: { retryMaxAgeMinutes: 30 } })
    const id = await allowed(0.5)
    await hub.clock.advance(60_000)
    const { createdAt = 0 } = (await row(id)) ?? {}
    expect(await open()).toMatchObject([{ expiresAt: createdAt + 30 * 60_000 }])
    if (ending === 'denied') await answer(id, NO, OWNER)
    else await hub.clock.advance(30 * 60_000)
    await finish()
    expect(await row(id)).toMatchObject({ state: ending, attempts: 1 })
    expect(told).toMatchObject([{ id, state: ending }])
    expect(await open()).toEqual([])
  })

  it('is not asked for when what came after it was taken back', async () => {
    const { hub, finish, open, answer, row, allowed } = await fixture()
    const id = await allowed(0.5)
    await hub.clock.advance(60_000)
    await answer(id, brief(10), OWNER)
    expect(await hub.consentServices('default').revoke({ agent: 'ada' }, OWNER)).toBe(1)
    await finish()
    expect(await row(id)).toMatchObject({ state: 'denied', error: { code: 'CONSENT_DENIED' } })
    expect(await open()).toEqual([])
  })
})
