import { expect, it } from 'vitest'
import { AppError, type Settings } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, DOWN, fakeService, simpleCapability, simpleTool, UP } from '../../../testing/hub.ts'
import type { AnyTool } from '../../catalogue/index.ts'
import type { Write } from '../../store/index.ts'

const OWNER = { name: 'the owner', via: 'owner' } as const
const ONCE = { decision: 'allow', lasting: 'once' } as const

/** A tool that asks. What allowed its call can be taken back at the very moment at which that is leased. */
async function fixture(facts: Partial<AnyTool> = {}, settings: Partial<Settings> = {}) {
  const { store, ...storage } = faultyStorage()
  const fake = createFakeClock()
  const service = fakeService('post')
  const state = { runs: 0, skipped: 0, onLease: async () => {} }
  const { commit } = store
  const isLease = (one: Write) => one.kind === 'update' && one.table === 'operations' && one.set.state === 'leased'
  Object.assign(store, {
    async commit(writes: readonly Write[]) {
      const outcome = await commit(writes)
      if (writes.some(isLease)) await state.onLease()
      return outcome
    },
  })
  const make = simpleTool('make', { mutates: true, consent: ['x.do'], handler: () => ++state.runs, ...facts })
  const consentOperations = [{ name: 'x.do', reason: 'It does.', weight: 'low' } as const]
  const capabilities = [simpleCapability('main', [make], { consentOperations })]
  const hub = await createHub({
    clock: { ...fake, now: () => fake.now() + state.skipped },
    units: { main: { capabilities, dependencies: [service.dependency] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
    settings: { consentWaitSeconds: 0, ...settings },
  })
  hub.work()
  const calling = hub.callAs('ada', 'make').catch(() => {})
  await hub.clock.advance(0)
  await calling
  const [request] = await hub.consentServices('default').open()
  const id = request?.id ?? ''
  /** A moment later. */
  const takeBackOnLease = () => {
    state.onLease = async () => {
      state.onLease = async () => {}
      state.skipped += 5
      expect(await hub.consentServices('default').revoke({ agent: 'ada' }, OWNER)).toBe(1)
    }
  }
  const allow = async () => {
    await hub.consentServices('default').answer(id, ONCE, OWNER)
    await hub.clock.advance(5_000)
  }
  return { hub, service, state, id, takeBackOnLease, allow, row: () => store.get('operations', id) }
}

const cutOff = () => {
  throw new AppError('OUTCOME_UNKNOWN', 'The line broke.')
}

it('a yes that is taken back between the lease of a call that waited and its run is a no to it', async () => {
  const { hub, state, takeBackOnLease, allow, row } = await fixture()
  takeBackOnLease()
  await allow()
  expect(await row()).toMatchObject({ state: 'denied', error: { code: 'CONSENT_DENIED' } })
  expect(await hub.consentServices('default').open()).toEqual([])
  expect(state.runs).toBe(0)
})

it('a yes for one call can be taken back as long as a person can have that tried again', async () => {
  const { hub, allow, id, row } = await fixture({ handler: cutOff })
  await allow()
  expect(await row()).toMatchObject({ state: 'unknown', attempts: 1 })
  expect(await hub.consentServices('default').grants({})).toMatchObject([{ askedFor: id }])
  expect(await hub.consentServices('default').revoke({ agent: 'ada' }, OWNER)).toBe(1)
  await hub.operationAdmin.retry(id)
  await hub.clock.advance(1_000)
  expect(await row()).toMatchObject({ state: 'waitingForApproval' })
})

it('a yes that is taken back after a person’s word to try again is a no to it, however often it is put back', async () => {
  const one = await fixture(
    { handler: cutOff, retry: 'replay', idempotent: true, requires: ['post'] },
    { retryAttempts: 1 },
  )
  const { hub, service, takeBackOnLease, allow, id, row } = one
  await hub.health.probeNew()
  await allow()
  expect(await row()).toMatchObject({ state: 'exhausted' })
  service.verdict = DOWN
  hub.health.reportFailure('post', 'It hung up.')
  await hub.clock.advance(11_000)
  takeBackOnLease()
  await hub.operationAdmin.retry(id)
  await hub.clock.advance(1_000)
  expect(await row()).toMatchObject({ state: 'queued', attempts: 0, error: { code: 'TOOL_DISABLED' } })
  service.verdict = UP
  await hub.health.recheck('make', { force: true })
  await hub.clock.advance(1_000)
  expect(await row()).toMatchObject({ state: 'unknown', error: { details: { because: 'CONSENT_DENIED' } } })
  expect(await hub.consentServices('default').open()).toEqual([])
})
