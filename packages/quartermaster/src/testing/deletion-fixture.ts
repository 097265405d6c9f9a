import type { OperationSummary } from '../contracts/index.ts'
import type { AnyTool } from '../core/catalogue/index.ts'
import type { CallRequest } from '../core/operations/index.ts'
import { type FaultyStorage, faultyStorage } from './faulty-storage.ts'
import { createHub, type Hub, type HubOptions, simpleCapability, simpleTool } from './hub.ts'

/** Who answers, and how. */
export const OWNER = { name: 'the owner', via: 'owner' } as const
export const ONCE = { decision: 'allow', lasting: 'once' } as const
export const NO = { decision: 'deny', lasting: 'once' } as const

/** What its tools need consent for. */
export const OPERATIONS = [
  { name: 'files.delete', reason: 'It deletes a file.', weight: 'moderate', scope: '{path}' },
  { name: 'files.shred', reason: 'Nothing brings it back.', weight: 'high', grantable: 'once' },
  { name: 'post.send', reason: 'It sends.', weight: 'low' },
] as const

interface FixtureOptions extends Omit<HubOptions, 'storage'> {
  readonly tool?: Partial<AnyTool>
  readonly storage?: FaultyStorage
}

/** A tool `delete_file`, which a person has to allow, and how often it ran. */
export async function deletionFixture({ tool, storage = faultyStorage(), ...more }: FixtureOptions = {}) {
  const runs: unknown[] = []
  const handler: AnyTool['handler'] = input => {
    runs.push(input)
    return 'deleted'
  }
  const facts = { mutates: true, consent: ['files.delete'], handler }
  const tools = [
    simpleTool('delete_file', { ...facts, ...tool }),
    simpleTool('shred_file', { ...facts, consent: ['files.delete', 'files.shred'] }),
    simpleTool('send', { ...facts, consent: ['post.send'] }),
    simpleTool('tidy', { mutates: true, handler: (_, { call }) => call('delete_file', { path: 'a' }) }),
  ]
  const capability = simpleCapability('main', tools, { consentOperations: [...OPERATIONS] })
  const told: OperationSummary[] = []
  const hub = await createHub({
    units: { main: { capabilities: [capability] } },
    agents: { ada: { capabilities: { main: {} } }, bob: { capabilities: { main: {} } } },
    storage,
    tellEnd: end => void told.push(end),
    ...more,
  })
  hub.work()
  const call = (path = 'a', options: Partial<CallRequest> = {}, name = 'delete_file') =>
    hub.callAs('ada', name, { path }, options)
  const { store } = storage
  const open = () => hub.consentServices('default').open()
  const row = (id: string) => store.get('operations', id)
  return { hub, store, storage, runs, told, call, open, row, answer: hub.consentServices('default').answer }
}

/** Lets work come to where it waits. */
export async function settle(hub: Hub): Promise<void> {
  for (let i = 0; i < 20; i++) await hub.clock.breathe()
}

/** A call that waits, and what it asks for. */
export async function asked(one: Awaited<ReturnType<typeof deletionFixture>>, ...given: Parameters<typeof one.call>) {
  const answer = one.call(...given)
  // A later await takes its rejection.
  answer.catch(() => {})
  await settle(one.hub)
  const request = (await one.open()).at(-1)
  return { answer, id: request?.id ?? '', request }
}
