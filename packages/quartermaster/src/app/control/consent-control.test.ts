import { expect, it } from 'vitest'
import { faultyStorage } from '../../testing/faulty-storage.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { createConsentControl, createFollower, createPersonControl, OWNER } from './operations.ts'

const events = async () => ({})
const SECRET = { to: 'eve', text: 'hunter2\u202e ' }

/** A call that waits for approval, and the owner's control. */
async function waiting({ forOneCommand = false } = {}) {
  const sent: unknown[] = []
  const send = simpleTool('send', {
    mutates: true,
    consent: ['post.send'],
    handler: (input: unknown) => (sent.push(input), 'sent'),
  })
  const consentOperations = [{ name: 'post.send', reason: 'It sends.', weight: 'low' as const, scope: '{to}' }]
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [send], { consentOperations })] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage: faultyStorage(),
    settings: { consentWaitSeconds: 0 },
  })
  const follower = forOneCommand ? createFollower(hub) : undefined
  const control = createConsentControl({
    consentServices: hub.consentServices,
    within: async (named = 'default') => named,
    operations: hub.operations,
    by: OWNER,
    events,
    follower,
  })
  const call = hub.callAs('ada', 'send', SECRET)
  await hub.clock.advance(0)
  const { operationId: id } = await call
  return { hub, control, id, sent }
}

it('shows the owner waiting calls, and the arguments of a single one', async () => {
  const { control, id } = await waiting()
  const [listed] = await control.approvals({})
  expect(listed).toMatchObject({ id, agent: 'ada', tool: 'send', asks: [{ operation: 'post.send', scope: 'eve' }] })
  expect(JSON.stringify(listed)).not.toContain('hunter2')
  expect(await control.approvals({ agent: 'bob' })).toEqual([])
  expect(await control.approval({ id })).toEqual({
    ...listed,
    state: 'open',
    digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    arguments: SECRET,
  })
  expect(await failureOf(control.approval({ id: 'op_0' }))).toMatchObject({ code: 'NAME_UNKNOWN' })
})

it('creates grants for a part of a minute, shows them, and revokes them', async () => {
  const { hub, control, id } = await waiting()
  await control.answerApproval({ id, decision: 'allow', lasting: 'time', minutes: 1 / 3 })
  const [grant] = await control.grants({ agent: 'ada', operation: 'post.send' })
  expect(grant).toMatchObject({ agent: 'ada', scope: 'eve', decision: 'allow', lasting: 'time', grantedBy: 'owner' })
  expect(grant?.expiresAt).toBe(hub.clock.now() + 20_000)
  expect(grant).not.toHaveProperty('digest')
  expect(await control.revokeGrants({ id: grant?.id })).toEqual({ count: 1 })
  expect([await control.grants({}), await control.revokeGrants({ agent: 'ada' })]).toEqual([[], { count: 0 }])
})

it('waits for the run that the answer leads to, where the process would end', async () => {
  const { hub, control, id, sent } = await waiting({ forOneCommand: true })
  const answered = control.answerApproval({ id, decision: 'allow', lasting: 'once' })
  await hub.clock.advance(0)
  expect(await answered).toMatchObject({ id, state: 'succeeded' })
  expect(sent).toEqual([SECRET])
})

it('lets a person answer in their own name, and does not show them the result of the tool', async () => {
  const { hub, control, id, sent } = await waiting()
  const eve = createPersonControl(
    { organisation: 'default', name: 'eve' },
    { consentServices: hub.consentServices, operations: hub.operations, events },
  )
  const facts = await eve.answerApproval({ id, decision: 'allow', lasting: 'always' })
  expect(facts).not.toHaveProperty('result')
  await hub.clock.advance(0)
  expect(sent).toEqual([SECRET])
  expect(await control.approval({ id })).toMatchObject({ state: 'allowed', answeredBy: 'eve', via: 'person' })
  expect(await eve.grants({ by: 'eve' })).toMatchObject([{ grantedBy: 'eve', via: 'person' }])
  const lines = (await hub.operations.audit({ organisation: 'default' })).lines.map(({ code, consent }) => [
    code,
    consent?.by,
  ])
  expect(lines).toEqual(
    expect.arrayContaining([
      [null, 'person eve'],
      ['CONSENT_ALLOWED', 'person eve'],
    ]),
  )
  expect([await eve.revokeGrants({ by: 'owner' }), await eve.revokeGrants({ by: 'eve' })]).toEqual([
    { count: 0 },
    { count: 1 },
  ])
})
