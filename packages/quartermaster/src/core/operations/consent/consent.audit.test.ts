import { describe, expect, it } from 'vitest'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import type { ConsentAnswer } from '../index.ts'

const EVE = { name: 'eve', via: 'person' } as const
const OWNER = { name: 'owner', via: 'owner' } as const

/** A call that a person has answered. */
async function answered(answer: ConsentAnswer) {
  const storage = faultyStorage()
  const tool = simpleTool('delete_file', { mutates: true, consent: ['files.delete'], handler: () => 'deleted' })
  const consentOperations = [{ name: 'files.delete', reason: 'It deletes.', weight: 'moderate' }] as const
  const hub = await createHub({
    units: {
      main: { capabilities: [simpleCapability('main', [tool], { consentOperations: [...consentOperations] })] },
    },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
  })
  hub.work()
  const call = hub.callAs('ada', 'delete_file', { path: 'a' })
  call.catch(() => {})
  for (let i = 0; i < 20; i++) await hub.clock.breathe()
  const [request] = await hub.consentServices('default').open()
  const id = request?.id ?? ''
  await hub.consentServices('default').answer(id, answer, EVE)
  await call.catch(() => {})
  const lines = (code: string) => storage.store.find('audit', { where: { code }, limit: 1_000 })
  return { hub, storage, id, lines }
}

describe('the audit', () => {
  it('has each yes, with whose it is and how far it reaches, whether or not the call is run', async () => {
    const { id, lines } = await answered({ decision: 'allow', lasting: 'time', minutes: 5 })
    expect(await lines('CONSENT_ALLOWED')).toMatchObject([
      {
        operationId: id,
        tool: 'delete_file',
        callerName: 'ada',
        decision: 'allowed',
        outcome: 'notRun',
        consent: { operations: ['files.delete'], by: 'person eve', lasting: 'time' },
      },
    ])
  })

  it('has each no', async () => {
    const { id, lines } = await answered({ decision: 'deny', lasting: 'once' })
    expect(await lines('CONSENT_DENIED')).toMatchObject([
      {
        operationId: id,
        decision: 'refused',
        consent: { operations: ['files.delete'], by: 'person eve', lasting: 'once' },
      },
    ])
  })

  it('has each grant that is taken back, with who did it', async () => {
    const { hub, id, lines } = await answered({ decision: 'allow', lasting: 'always' })
    const told: unknown[] = []
    hub.emitter.on('grants.revoked', event => told.push(event))
    expect(await hub.consentServices('default').revoke({ agent: 'ada' }, OWNER)).toBe(1)
    expect(await lines('GRANT_REVOKED')).toMatchObject([
      {
        operationId: id,
        tool: 'delete_file',
        callerName: 'ada',
        decision: 'refused',
        outcome: 'notRun',
        consent: { operations: ['files.delete'], by: 'owner', lasting: 'always' },
      },
    ])
    expect(told).toEqual([{ organisation: 'default', agent: 'ada', by: 'owner', count: 1 }])
  })

  it('has a line for every one of many that are taken back at once', async () => {
    const { hub, storage, lines } = await answered({ decision: 'allow', lasting: 'always' })
    const [grant] = await storage.store.find('grants', {})
    const copies = Array.from({ length: 450 }, (_, i) => ({ ...grant, id: `grant_${i}` }) as NonNullable<typeof grant>)
    await storage.store.commit(copies.map(row => ({ kind: 'insert', table: 'grants', row }) as const))
    expect(await hub.consentServices('default').revoke({ agent: 'ada' }, OWNER)).toBe(451)
    expect(await lines('GRANT_REVOKED')).toHaveLength(451)
  })
})
