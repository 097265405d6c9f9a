import { describe, expect, it } from 'vitest'
import type { Caller } from '../../contracts/index.ts'
import { settle } from '../../testing/deletion-fixture.ts'
import { faultyStorage } from '../../testing/faulty-storage.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../testing/hub.ts'
import type { CallRequest } from './index.ts'

const ALWAYS = { decision: 'allow', lasting: 'always' } as const
const OWNER = { name: 'owner', via: 'owner' } as const

/** Beside `memory`, what everybody has who has a workspace and no file. */
const OTHERS = ['delegation', 'inbox', 'history', 'user'].map(name =>
  simpleCapability(name, [simpleTool(`${name}_tool`)]),
)

/** Two organisations, each with an `ada` who has the same tools, and what ran for whom. */
async function twoAdas() {
  const storage = faultyStorage()
  const ran: string[] = []
  const told: [string, string][] = []
  const note = (what: string, { organisation, name }: Caller) => void ran.push(`${what} of ${organisation}/${name}`)
  const tools = [
    simpleTool('write', { mutates: true, handler: (_, { caller }) => (note('write', caller), 'written') }),
    simpleTool('pay', {
      mutates: true,
      consent: ['money.pay'],
      handler: (_, { caller }) => (note('pay', caller), 'paid'),
    }),
    simpleTool('tell', { mutates: true, maxResultBytes: 1024, handler: () => 'x'.repeat(5_000) }),
  ]
  const consentOperations = [{ name: 'money.pay', reason: 'It pays.', weight: 'low' as const }]
  const hub = await createHub({
    units: { main: { capabilities: [...OTHERS, simpleCapability('memory', tools, { consentOperations })] } },
    agents: { ada: { capabilities: { memory: {} } } },
    settings: { consentWaitSeconds: 0, approvalsPerAgent: 2 },
    remoteAgents: { has: ({ organisation }) => organisation === 'acme', hasJoined: () => false, onLeft: () => {} },
    tellEnd: ({ id }, { organisation }) => void told.push([id, organisation]),
    storage,
  })
  hub.work()
  async function call(organisation: string, tool: string, more: Partial<CallRequest> = {}) {
    const session = hub.agents.findSession({ organisation, workspace: 'ada' })
    if (!session) throw new Error(`nobody is ada in ${organisation}`)
    const calling = hub.calls.call({ session, tool, input: {}, ...more })
    calling.catch(() => {})
    await hub.clock.advance(0)
    return { ...(await calling), caller: session.caller }
  }
  return { hub, storage, ran, told, call }
}

describe('callers of the same name in two organisations', () => {
  it('have agent workspaces of their own, and none without agents', async () => {
    const { hub } = await twoAdas()
    const [ours, theirs] = ['default', 'acme'].map(organisation =>
      hub.agents.findSession({ organisation, workspace: 'ada' }),
    )
    expect(ours).toBe(hub.agents.session('ada'))
    expect(theirs?.caller).toEqual({ kind: 'agent', organisation: 'acme', name: 'ada', workspace: 'ada' })
    expect(hub.agents.findSession({ organisation: 'acme', workspace: 'ada' })).toBe(theirs)
    expect(hub.agents.findSession({ organisation: 'third', workspace: 'ada' })).toBeUndefined()
    expect(hub.agents.findSession({ organisation: 'default', workspace: 'bob' })).toBeUndefined()
  })

  it('use the same idempotency key for two calls', async () => {
    const { call, ran } = await twoAdas()
    const ids = []
    for (const organisation of ['default', 'acme', 'default', 'acme'])
      ids.push((await call(organisation, 'write', { idempotencyKey: 'k1' })).operationId)
    expect(ran).toEqual(['write of default/ada', 'write of acme/ada'])
    expect(ids).toEqual([ids[0], ids[1], ids[0], ids[1]])
    expect(new Set(ids).size).toBe(2)
  })

  it('see their own operations, their own audit and their own results', async () => {
    const { hub, call } = await twoAdas()
    const ours = await call('default', 'tell')
    const theirs = await call('acme', 'tell')
    for (const [one, other] of [
      [ours, theirs],
      [theirs, ours],
    ] as const) {
      const { operationId: id, caller } = one
      const { organisation } = caller
      expect(await hub.operations.show(other.caller, id)).toBeUndefined()
      expect(await hub.operations.show(caller, id)).toMatchObject({ id })
      expect(await failureOf(hub.operations.find(other.caller.organisation, id))).toMatchObject({
        code: 'NAME_UNKNOWN',
      })
      expect(await hub.operations.list({ organisation })).toMatchObject({ operations: [{ id }] })
      expect(await hub.operations.audit({ organisation })).toMatchObject({ lines: [{ operationId: id }] })
      await expect(hub.results.page(other.caller, id, 0)).rejects.toMatchObject({ code: 'RESULT_NOT_FOUND' })
      expect((await hub.results.page(caller, id, 0)).text).toContain('xxx')
    }
    // In memory they are kept for a while only; on record for longer, and just as much apart.
    await hub.clock.advance(16 * 60_000)
    await expect(hub.results.page(theirs.caller, ours.operationId, 0)).rejects.toMatchObject({
      code: 'RESULT_NOT_FOUND',
    })
    expect((await hub.results.page(ours.caller, ours.operationId, 0)).text).toContain('xxx')
  })

  it('are allowed by persons of their own organisation, who see nothing else', async () => {
    const { hub, call, ran, told } = await twoAdas()
    const ours = await call('default', 'pay')
    const theirs = await call('acme', 'pay')
    const [here, there] = [hub.consentServices('default'), hub.consentServices('acme')]
    expect((await here.open()).map(({ id }) => id)).toEqual([ours.operationId])
    expect((await there.open('ada')).map(({ id }) => id)).toEqual([theirs.operationId])
    const id = theirs.operationId
    const gone = {
      code: 'NAME_UNKNOWN',
      message: expect.stringContaining(`There is no request for consent to "${id}"`),
    }
    expect(await failureOf(here.request(id))).toMatchObject(gone)
    expect(await failureOf(here.answer(id, ALWAYS, OWNER))).toMatchObject(gone)
    expect(await here.argumentsOf(id)).toBeUndefined()
    await there.answer(id, ALWAYS, OWNER)
    await settle(hub)
    await hub.clock.advance(0)
    // It resumes as its caller, and decides nothing elsewhere.
    expect(ran).toEqual(['pay of acme/ada'])
    expect(told).toEqual([[id, 'acme']])
    expect((await here.open()).map(({ id }) => id)).toEqual([ours.operationId])
    expect([await here.grants(), await there.grants()]).toMatchObject([[], [{ organisation: 'acme' }]])
    expect((await call('default', 'pay')).waiting).toMatchObject({ for: 'approval' })
    expect((await call('acme', 'pay')).result.content).toEqual([{ type: 'text', text: 'paid' }])
    expect([await here.revoke({ agent: 'ada' }, OWNER), await there.revoke({ agent: 'ada' }, OWNER)]).toEqual([0, 1])
  })

  it('fill the places of those who wait for themselves alone', async () => {
    const { call } = await twoAdas()
    for (const organisation of ['default', 'default', 'acme', 'acme'])
      expect((await call(organisation, 'pay')).waiting).toMatchObject({ for: 'approval' })
    await expect(call('default', 'pay')).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
  })

  it('end the waiting operations of a removed agent instead of running them as another', async () => {
    const { hub, storage, call, ran } = await twoAdas()
    const { operationId: id } = await call('acme', 'pay')
    await hub.stop()
    const tools = [simpleTool('pay', { mutates: true, consent: ['money.pay'], handler: () => void ran.push('ran') })]
    const consentOperations = [{ name: 'money.pay', reason: 'It pays.', weight: 'low' as const }]
    const next = await createHub({
      units: { main: { capabilities: [...OTHERS, simpleCapability('memory', tools, { consentOperations })] } },
      agents: { ada: { capabilities: { memory: {} } } },
      remoteAgents: { has: () => false, hasJoined: () => false, onLeft: () => {} },
      storage,
    })
    next.work()
    await next.consentServices('acme').answer(id, { decision: 'allow', lasting: 'once' }, OWNER)
    await settle(next)
    await next.clock.advance(0)
    expect(ran).toEqual([])
    expect(await storage.store.get('operations', id)).toMatchObject({
      state: 'failed',
      error: { code: 'AGENT_NOT_FOUND' },
    })
  })
})
