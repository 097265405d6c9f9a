import { expect, it, onTestFinished } from 'vitest'
import { AppError, type CapabilityDescriptor, type Control } from '../../contracts/index.ts'
import { fakeControl } from '../../testing/fake-control.ts'
import { ADMIN_TOKEN, startHttpServer } from '../../testing/http-server.ts'

const CAPABILITIES: CapabilityDescriptor[] = [
  {
    key: 'mail',
    title: 'Mail',
    short: 'Sends mail.',
    tools: [{ name: 'send_mail', title: 'Send mail', short: 'Sends a mail.' }],
    configSchema: { type: 'object' },
  },
]

async function asking(capabilities: Control['capabilities'] = async () => CAPABILITIES) {
  const server = await startHttpServer({ control: fakeControl({ capabilities }) })
  onTestFinished(() => server.close(0))
  return (init: RequestInit = {}) =>
    fetch(`${server.url}/api/v1/capabilities`, { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` }, ...init })
}

it('answers every capability with its tools and configuration schema to the administrator', async () => {
  const ask = await asking()
  const response = await ask()
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
  expect(await response.json()).toEqual(CAPABILITIES)
  expect((await ask({ method: 'HEAD' })).status).toBe(200)
})

it('tells nobody else what there is', async () => {
  const ask = await asking()
  for (const headers of [{}, { Authorization: 'Bearer qm_an-agents-token' }]) {
    const response = await ask({ headers })
    expect(response.status).toBe(401)
    expect(await response.text()).not.toContain('mail')
  }
  expect((await ask({ method: 'POST', headers: {} })).status).toBe(401)
})

it('takes no other method', async () => {
  const response = await (await asking())({ method: 'POST' })
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
})

it('answers errors as problem documents', async () => {
  const ask = await asking(async () => {
    throw new AppError('STOPPING', 'Quartermaster is stopping.')
  })
  const response = await ask()
  expect([response.status, response.headers.get('content-type')]).toEqual([503, 'application/problem+json'])
  expect(await response.json()).toMatchObject({ code: 'STOPPING' })
})
