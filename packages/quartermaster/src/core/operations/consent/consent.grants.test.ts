import { describe, expect, it } from 'vitest'
import type { GrantRow } from '../../../contracts/index.ts'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, failureOf, type HubOptions, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import type { ConsentOperationDefinition } from '../../catalogue/index.ts'
import { insert } from '../../store/index.ts'

const OWNER = { name: 'owner', via: 'owner' } as const
const ONCE = { decision: 'allow', lasting: 'once' } as const
const ALWAYS = { decision: 'allow', lasting: 'always' } as const
const NEVER = { decision: 'deny', lasting: 'always' } as const
const OPERATIONS: ConsentOperationDefinition[] = [
  { name: 'mail.send', reason: 'It sends.', weight: 'low', scope: '{to}' },
  { name: 'mail.purge', reason: 'It is gone.', weight: 'high', grantable: 'once' },
]

/** Agents who send and purge mail, and a person who answers later. */
async function fixture(options: Omit<HubOptions, 'storage' | 'units'> = {}) {
  const storage = faultyStorage()
  const runs: unknown[] = []
  const facts = { mutates: true, handler: (input: unknown) => (runs.push(input), 'done') }
  const tools = [
    simpleTool('send', { ...facts, consent: ['mail.send'] }),
    simpleTool('purge', { ...facts, consent: ['mail.purge'] }),
    simpleTool('resend', { ...facts, consent: ['mail.send', 'mail.purge'] }),
  ]
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', tools, { consentOperations: OPERATIONS })] } },
    agents: { ada: { capabilities: { main: {} } }, bob: { capabilities: { main: {} } } },
    storage,
    ...options,
    settings: { consentWaitSeconds: 0, ...options.settings },
  })
  hub.work()
  const call = async (to: unknown, { tool = 'send', agent = 'ada', more = 0 } = {}) => {
    const calling = hub.callAs(agent, tool, { to, more })
    calling.catch(() => {})
    await hub.clock.advance(0)
    return await calling
  }
  const state = async (id: string) => (await storage.store.get('operations', id))?.state
  const { open, answer, grants, revoke } = hub.consentServices('default')
  return { hub, store: storage.store, runs, call, state, open, answer, grants, revoke }
}

const grantRow = (id: string, now: number, more: Partial<GrantRow> = {}): GrantRow => ({
  id,
  organisation: 'default',
  workspace: 'ada',
  callerKind: 'agent',
  callerName: 'ada',
  operation: 'mail.send',
  scope: 'eve',
  decision: 'allow',
  lasting: 'once',
  tool: 'send',
  digest: 'a'.repeat(64),
  askedFor: `op_${id}`,
  grantedBy: 'owner',
  via: 'owner',
  createdAt: now,
  expiresAt: now + 3_600_000,
  usedBy: `op_${id}`,
  usedAt: now,
  revokedAt: null,
  revokedBy: null,
  ...more,
})

describe('a no that lasts', () => {
  it('is found among however many answers for single calls, and so is a yes', async () => {
    const one = await fixture()
    const now = one.hub.clock.now()
    const spent = Array.from({ length: 2_500 }, (_, i) => insert('grants', grantRow(`grant_${i}`, now)))
    await one.store.commit(spent)
    const { operationId } = await one.call('eve')
    await one.answer(operationId, NEVER, OWNER)
    expect(await failureOf(one.call('eve'))).toMatchObject({ code: 'CONSENT_DENIED' })
    const other = await one.call('max')
    await one.answer(other.operationId, ALWAYS, OWNER)
    await one.hub.clock.advance(0)
    expect((await one.call('max')).waiting).toBeUndefined()
    expect(one.runs).toHaveLength(2)
    expect((await one.grants()).map(({ decision, lasting }) => `${decision} ${lasting}`)).toEqual([
      'deny always',
      'allow always',
    ])
  })

  it('counts more than a yes that lasts', async () => {
    const one = await fixture()
    const now = one.hub.clock.now()
    const lasting = { lasting: 'always', tool: null, digest: null, askedFor: null, usedBy: null, usedAt: null } as const
    await one.store.commit([
      insert('grants', grantRow('grant_a', now, lasting)),
      insert('grants', grantRow('grant_b', now, { ...lasting, decision: 'deny' })),
      insert('grants', grantRow('grant_c', now, lasting)),
    ])
    expect(await failureOf(one.call('eve'))).toMatchObject({ code: 'CONSENT_DENIED' })
  })
})

describe('an answer that lasts', () => {
  it('of no refuses a call whose resource is unknown, whatever the agent’s file allows', async () => {
    const one = await fixture({
      agents: { ada: { capabilities: { main: {} }, consent: { allow: ['mail.send'] } } },
      settings: {},
    })
    const { store, hub } = one
    expect((await one.call(['eve'])).waiting).toBeUndefined()
    const now = hub.clock.now()
    const no = { decision: 'deny', lasting: 'always', tool: null, digest: null, expiresAt: now + 1_000_000 } as const
    await store.commit([insert('grants', grantRow('no', now, no))])
    expect(await failureOf(one.call('eve'))).toMatchObject({ code: 'CONSENT_DENIED' })
    expect((await one.call(['eve'])).waiting).toMatchObject({ for: 'approval' })
    expect((await one.call('max')).waiting).toBeUndefined()
  })

  it('of no to a call whose resource is unknown is valid for such calls, and is listed as one', async () => {
    const one = await fixture()
    const { operationId: unnamed } = await one.call(['eve'])
    const { operationId: all } = await one.call('eve', { tool: 'purge' })
    await one.answer(unnamed, NEVER, OWNER)
    await one.answer(all, NEVER, OWNER)
    // Both are of the same moment, so either may come first.
    const grants = (await one.grants()).toSorted((a, b) => a.operation.localeCompare(b.operation))
    expect(grants).toMatchObject([
      { operation: 'mail.purge', scope: null, isUnnamed: false },
      { operation: 'mail.send', scope: null, isUnnamed: true },
    ])
    expect(await failureOf(one.call(['max']))).toMatchObject({ code: 'CONSENT_DENIED' })
    expect((await one.call('max')).waiting).toMatchObject({ for: 'approval' })
  })

  it('is refused rather than cut where it is to last longer than any may', async () => {
    const one = await fixture({ settings: { grantHours: 2 } })
    const { operationId: id } = await one.call('eve')
    const day = { decision: 'allow', lasting: 'time', minutes: 1_440 } as const
    expect(await failureOf(one.answer(id, day, OWNER))).toMatchObject({
      code: 'REQUEST_REFUSED',
      message: expect.stringContaining('2 hours at most'),
    })
  })

  it('decides what else waits for the same, and nothing else', async () => {
    const one = await fixture()
    const [first, second] = [await one.call('eve'), await one.call('eve', { more: 1 })]
    const apart = [
      await one.call('max'),
      await one.call('eve', { agent: 'bob' }),
      await one.call('eve', { tool: 'resend' }),
    ].map(({ operationId }) => operationId)
    await one.answer(first.operationId, ALWAYS, OWNER)
    await one.hub.clock.advance(0)
    expect(await one.state(second.operationId)).toBe('succeeded')
    // Asked in the same millisecond, so in any order.
    expect((await one.open()).map(({ id }) => id).toSorted()).toEqual(apart.toSorted())
    expect(one.runs).toHaveLength(2)
    expect(await one.hub.consentServices('default').request(second.operationId)).toMatchObject({
      state: 'allowed',
      answeredBy: 'owner',
      lasting: 'always',
    })
  })

  it('of no ends what else waits for the same', async () => {
    const one = await fixture()
    const calls = [await one.call('eve'), await one.call('eve', { more: 1 }), await one.call('eve', { tool: 'resend' })]
    const [first = '', ...others] = calls.map(({ operationId }) => operationId)
    await one.answer(first, NEVER, OWNER)
    for (const id of others) expect(await one.state(id)).toBe('denied')
    expect(await one.open()).toEqual([])
    expect(await one.grants()).toHaveLength(1)
    expect(one.runs).toEqual([])
  })
})

describe('what may be allowed once only', () => {
  const allow = { capabilities: { main: {} }, consent: { allow: ['mail.purge', 'mail.send'] } }

  it('is asked for each time, also where the agent’s file allows it', async () => {
    const one = await fixture({ agents: { ada: allow } })
    expect((await one.call('eve')).waiting).toBeUndefined()
    for (const more of [1, 2])
      expect((await one.call('eve', { tool: 'purge', more })).waiting).toMatchObject({ for: 'approval' })
    expect(one.runs).toHaveLength(1)
  })

  it('is shown with the agent that allows it', async () => {
    const one = await fixture({ agents: { ada: allow } })
    expect(one.hub.agents.problems('ada')).toMatchObject([
      { severity: 'warning', message: expect.stringMatching(/"ada".*"mail\.purge"/) },
    ])
  })
})

describe('the grants that count', () => {
  it('are without those for calls that have ended, in lists and when they are taken back', async () => {
    const one = await fixture()
    const done = await one.call('eve')
    await one.answer(done.operationId, ONCE, OWNER)
    await one.hub.clock.advance(0)
    expect(await one.state(done.operationId)).toBe('succeeded')
    const lasting = await one.call('max')
    await one.answer(lasting.operationId, ALWAYS, OWNER)
    await one.hub.clock.advance(0)
    const now = one.hub.clock.now()
    await one.store.commit([insert('grants', grantRow('grant_unused', now, { usedBy: null, usedAt: null }))])
    expect(await one.grants()).toMatchObject([{ scope: 'max', lasting: 'always' }])
    expect(await one.revoke({ agent: 'ada' }, OWNER)).toBe(1)
    expect(await one.revoke({ agent: 'ada' }, OWNER)).toBe(0)
  })
})

describe('an agent that asks for more than a person can answer', () => {
  it('is refused beyond its share, also when it asks at once, and others are not', async () => {
    const one = await fixture({ settings: { approvalsPerAgent: 3 } })
    const calls = await Promise.allSettled(Array.from({ length: 10 }, (_, i) => one.call(`x${i}`)))
    expect(calls.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(3)
    const [first] = await one.open()
    while ((await one.open()).length < 3) await one.call('again')
    expect(await failureOf(one.call('more'))).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: expect.stringContaining('quartermaster approvals'),
    })
    expect((await one.call('eve', { agent: 'bob' })).waiting).toMatchObject({ for: 'approval' })
    await one.answer(first?.id ?? '', { decision: 'deny', lasting: 'once' }, OWNER)
    expect((await one.call('more')).waiting).toMatchObject({ for: 'approval' })
  })

  it('hides no other agent’s in a list that cannot hold all', async () => {
    const one = await fixture()
    const now = one.hub.clock.now()
    const request = (id: string, workspace: string, createdAt: number) =>
      insert('approvals', {
        id,
        workspace,
        organisation: 'default',
        callerKind: 'agent',
        callerName: workspace,
        tool: 'send',
        definitionHash: 'h',
        // Each about another call: equal ones are listed as one.
        digest: String(createdAt).padEnd(64, 'a'),
        asks: [],
        state: 'open',
        createdAt,
        expiresAt: now + 1_000,
      })
    await one.store.commit(Array.from({ length: 1_200 }, (_, i) => request(`op_a${i}`, 'ada', now + i)))
    await one.store.commit([request('op_b', 'bob', now + 5_000)])
    const open = await one.open()
    expect([open.length, open[0]?.id, open.at(-1)?.id]).toEqual([1_000, 'op_a0', 'op_b'])
    expect(await one.open('bob')).toHaveLength(1)
  })
})
