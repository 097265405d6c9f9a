import { expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { httpEndpoint, type Visit } from './testing/http-endpoint.ts'
import { answerLegacy } from './testing/legacy-answers.ts'
import { SIGNAL, stage } from './testing/upstreams-fixture.ts'

/** A server that each agent has a connection to, and that is silent the next time it is asked something. */
async function silentServer(
  method: 'initialize' | 'tools/call',
  { connection = 'perAgent', key }: { connection?: string; key?: string } = {},
) {
  const { upstreams, configure, units, status, isUp } = await stage()
  const asked = deferred<Visit>()
  let isSilent = false
  const methods: unknown[] = []
  const server = await httpEndpoint(visit => {
    methods.push(visit.body.method)
    if (!isSilent || visit.body.method !== method) return answerLegacy(visit)
    isSilent = false
    asked.resolve(visit)
  })
  const config = UpstreamConfig.parse({ url: server.url, era: 'legacy', connection })
  if (key === undefined) await configure({ tracker: config })
  else upstreams.mount({ name: 'tracker', key, agent: 'ada', config })
  await isUp('tracker')
  const [unit] = await units()
  const [tool] = unit?.definitions.capabilities?.[0]?.tools ?? []
  const context = { caller: { name: 'ada' }, client: 'one', signal: SIGNAL, canAnswer: () => false, progress() {} }
  const call = async () => tool?.handler({} as never, context as never)
  const connections = () => status('tracker')?.connections
  isSilent = true
  const waiting = call()
  // It is looked at later, also where it fails before.
  waiting.catch(() => {})
  const times = (what: string) => methods.filter(one => one === what).length
  return { upstreams, configure, call, waiting, visit: await asked.promise, connections, times, url: server.url }
}

const LOST = {
  code: 'DEPENDENCY_UNAVAILABLE',
  message: expect.stringContaining('"ada" no longer has "tracker"'),
}
const DONE = { content: [{ type: 'text', text: '3 issues' }] }

it.each([
  ['the server', 'tracker'],
  ['all servers', undefined],
])('opens nothing more for an agent that loses %s while its call waits for that', async (_, lost) => {
  const { upstreams, waiting, visit, connections, times, call } = await silentServer('initialize')
  upstreams.dismiss('ada', lost)
  await expect(waiting).rejects.toMatchObject(LOST)
  answerLegacy(visit)
  await expect.poll(connections).toBe(1)
  expect([times('initialize'), times('tools/call')]).toEqual([2, 0])
  // Whoever has it again is served at once.
  expect(await call()).toMatchObject(DONE)
})

it('sends nothing again for an agent that has lost the server meanwhile, and opens nothing for that', async () => {
  const { upstreams, waiting, visit, connections, times } = await silentServer('tools/call')
  upstreams.dismiss('ada', 'tracker')
  visit.drop()
  await expect(waiting).rejects.toMatchObject(LOST)
  await expect.poll(connections).toBe(1)
  expect([times('initialize'), times('tools/call')]).toEqual([2, 1])
})

it('opens nothing at the server in its place either, for an agent that has lost it since that is there', async () => {
  const { upstreams, configure, waiting, visit, connections, times, url } = await silentServer('tools/call')
  const next = UpstreamConfig.parse({ url, era: 'legacy', connection: 'perAgent', headers: { 'x-next': '1' } })
  await configure({ tracker: next })
  upstreams.dismiss('ada', 'tracker')
  visit.drop()
  await expect(waiting).rejects.toMatchObject(LOST)
  await expect.poll(connections).toBe(1)
  expect(times('tools/call')).toBe(1)
})

it('lets a call end that was under way, and those of others', async () => {
  const { upstreams, waiting, visit, call } = await silentServer('tools/call')
  upstreams.dismiss('ada', 'tracker')
  upstreams.dismiss('bob')
  answerLegacy(visit)
  expect(await waiting).toMatchObject(DONE)
  const next = call()
  upstreams.dismiss('ada', 'another')
  upstreams.dismiss('bob', 'tracker')
  expect(await next).toMatchObject(DONE)
})

it('sends nothing over what all share either, for an agent that has lost the server meanwhile', async () => {
  const { upstreams, waiting, visit, times } = await silentServer('tools/call', { connection: 'shared' })
  upstreams.dismiss('ada', 'tracker')
  visit.drop()
  await expect(waiting).rejects.toMatchObject(LOST)
  expect(times('tools/call')).toBe(1)
})

it('opens and sends nothing more for an agent that has lost the capability which names the server', async () => {
  const { upstreams, waiting, visit, times } = await silentServer('tools/call', { key: 'issues' })
  upstreams.dismiss('ada', 'issues')
  visit.drop()
  await expect(waiting).rejects.toMatchObject(LOST)
  expect([times('initialize'), times('tools/call')]).toEqual([2, 1])
  // Nobody else has it.
  await expect.poll(() => upstreams.statuses()).toEqual([])
})
