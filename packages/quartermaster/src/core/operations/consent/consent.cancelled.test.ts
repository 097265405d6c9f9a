import { describe, expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, failureOf, type Hub, simpleCapability, simpleTool } from '../../../testing/hub.ts'

const OWNER = { name: 'the owner', via: 'owner' } as const
const ONCE = { decision: 'allow', lasting: 'once' } as const

/** A tool that a person has to allow, and one around it that has only five seconds. */
async function fixture() {
  const storage = faultyStorage()
  let runs = 0
  const tools = [
    simpleTool('delete_file', { mutates: true, consent: ['files.delete'], handler: () => ++runs }),
    simpleTool('tidy', { mutates: true, timeoutMs: 5_000, handler: (_, { call }) => call('delete_file', {}) }),
  ]
  const consentOperations = [{ name: 'files.delete', reason: 'It deletes.', weight: 'moderate' as const }]
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', tools, { consentOperations })] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
  })
  hub.work()
  const allow = (id: string) => hub.consentServices('default').answer(id, ONCE, OWNER)
  return { hub, allow, runs: () => runs, row: (id: string) => storage.store.get('operations', id) }
}

/** A call that waits for a person, and a way to end it from outside. */
async function waiting({ hub }: { hub: Hub }, tool = 'delete_file') {
  const holder = new AbortController()
  const answer = hub.callAs('ada', tool, {}, { signal: holder.signal })
  // A later await takes its rejection.
  answer.catch(() => {})
  await expect.poll(() => hub.consentServices('default').open()).toHaveLength(1)
  const [request] = await hub.consentServices('default').open()
  return { answer, id: request?.id ?? '', end: (reason: AppError) => holder.abort(reason) }
}

describe('a call that waits for a person', () => {
  it.each([
    ['whose token is taken back', 'TOKEN_INVALID'],
    ['whose caller gives it up', 'CANCELLED'],
    ['whose caller leaves too many open', 'RATE_LIMITED'],
  ] as const)('and %s is cancelled and cannot be allowed any more', async (_what, code) => {
    const one = await fixture()
    const { answer, id, end } = await waiting(one)
    end(new AppError(code, 'It is over.'))
    expect(await failureOf(answer)).toMatchObject({ code })
    expect(await one.row(id)).toMatchObject({ state: 'cancelled', arguments: null })
    expect(await one.hub.consentServices('default').open()).toEqual([])
    expect(await failureOf(one.allow(id))).toMatchObject({ code: 'REQUEST_REFUSED' })
    await one.hub.clock.advance(5_000)
    expect(one.runs()).toBe(0)
  })

  it.each([
    ['whose caller runs out of time', 'DEADLINE_EXCEEDED'],
    ['whose process stops', 'STOPPING'],
  ] as const)('and %s goes on waiting, and its caller gets a handle', async (_what, code) => {
    const one = await fixture()
    const { answer, id, end } = await waiting(one)
    end(new AppError(code, 'It is over.'))
    expect((await answer).waiting).toMatchObject({ operationId: id, for: 'approval' })
    await one.allow(id)
    await one.hub.clock.advance(0)
    expect(one.runs()).toBe(1)
  })
})

describe('a call inside another one that waits for a person', () => {
  it.each(['DEADLINE_EXCEEDED', 'STOPPING', 'TOKEN_INVALID'] as const)(
    'is cancelled with that one and cannot be allowed any more: %s',
    async code => {
      const one = await fixture()
      const { answer, id, end } = await waiting(one, 'tidy')
      if (code === 'DEADLINE_EXCEEDED') await one.hub.clock.advance(5_000)
      else end(new AppError(code, 'It is over.'))
      await failureOf(answer)
      await expect.poll(() => one.row(id)).toMatchObject({ state: 'cancelled' })
      expect(await failureOf(one.allow(id))).toMatchObject({ code: 'REQUEST_REFUSED' })
      await one.hub.clock.advance(5_000)
      expect(one.runs()).toBe(0)
    },
  )
})
