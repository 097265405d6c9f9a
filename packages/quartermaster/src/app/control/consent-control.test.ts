import { expect, it } from 'vitest'
import { faultyStorage } from '../../testing/faulty-storage.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { createConsentControl, createFollower, createPersonControl, OWNER } from './operations.ts'

const events = async () => ({})
const SECRET = { to: 'eve', text: 'hunter2\u202e ' }

/** An agent whose call waits for somebody to allow it, and what the owner can do about it. */
async function waiting({ isBrief = false } = {}) {
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
  const follower = isBrief ? createFollower(hub) : undefined
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

it('shows the owner what waits, and its whole arguments only where one is asked for', async () => {
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

it('answers in the owner’s name, and forgets the arguments of what was denied', async () => {
  const { control, id } = await waiting()
  const answered = await control.answerApproval({ id, decision: 'deny', lasting: 'once' })
  expect(answered).toMatchObject({ id, state: 'denied' })
  const facts = await control.approval({ id })
  expect(facts).toMatchObject({ state: 'denied', answeredBy: 'owner', via: 'owner', lasting: 'once' })
  expect(facts).not.toHaveProperty('arguments')
  const again = control.answerApproval({ id, decision: 'allow', lasting: 'once' })
  expect(await failureOf(again)).toMatchObject({ code: 'REQUEST_REFUSED' })
})

it('gives grants that last a part of a minute, shows them, and takes them back', async () => {
  const { hub, control, id } = await waiting()
  await control.answerApproval({ id, decision: 'allow', lasting: 'time', minutes: 1 / 3 })
  const [grant] = await control.grants({ agent: 'ada', operation: 'post.send' })
  expect(grant).toMatchObject({ agent: 'ada', scope: 'eve', decision: 'allow', lasting: 'time', grantedBy: 'owner' })
  expect(grant?.expiresAt).toBe(hub.clock.now() + 20_000)
  expect(grant).not.toHaveProperty('digest')
  expect(await control.revokeGrants({ id: grant?.id })).toEqual({ count: 1 })
  expect([await control.grants({}), await control.revokeGrants({ agent: 'ada' })]).toEqual([[], { count: 0 }])
})

it('stays for the run that the answer leads to, where the process would be gone', async () => {
  const { hub, control, id, sent } = await waiting({ isBrief: true })
  const answered = control.answerApproval({ id, decision: 'allow', lasting: 'once' })
  await hub.clock.advance(0)
  expect(await answered).toMatchObject({ id, state: 'succeeded' })
  expect(sent).toEqual([SECRET])
})

it('lets a person answer in their own name, and tells them nothing of what the tool answered', async () => {
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
