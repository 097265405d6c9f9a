import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { effectFixture } from './testing/effect-fixture.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A real server on this machine that answers as the test says at the moment. */
async function service(first: Answer) {
  let answer = first
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    answer(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const desk = effectFixture({ projectDir: '/project' })
  const become = (next: Answer) => () => {
    answer = next
  }
  return { ...desk, asked, port, become, base: `http://127.0.0.1:${port}` }
}

const says =
  (status: number, text = ''): Answer =>
  (_request, response) =>
    response.writeHead(status).end(text)

const HOSTS = ['127.0.0.1']

describe('httpState', () => {
  it('is verified by a status that was another before', async () => {
    const { verifyAround, become, base, asked } = await service(says(404))
    const spec = { kind: 'httpState', url: `${base}/items/{input.id}`, hosts: HOSTS, status: 200 }
    const values = { input: { id: 'a/../b ?#%' } }
    expect(await verifyAround(spec, () => {}, values)).toMatchObject({ state: 'absent' })
    expect(await verifyAround(spec, become(says(200)), values)).toMatchObject({ state: 'verified' })
    expect(await verifyAround(spec, () => {}, values)).toMatchObject({ state: 'absent', seen: 'there' })
    expect(new Set(asked)).toEqual(new Set(['GET /items/a%2F..%2Fb%20%3F%23%25']))
  })

  it('is verified by a resource that is gone, when that is the status', async () => {
    const { verifyAround, become, base, asked } = await service(says(200))
    const spec = { kind: 'httpState', url: `${base}/a`, hosts: HOSTS, status: [404, 410], method: 'HEAD' }
    expect(await verifyAround(spec, become(says(410)))).toMatchObject({ state: 'verified' })
    expect(await verifyAround(spec, become(says(404)))).toMatchObject({ state: 'absent', seen: 'there' })
    expect(asked[0]).toBe('HEAD /a')
  })

  it('is verified by a text that was not in the answer before', async () => {
    const { verifyAround, become, base } = await service(says(200, '{"state":"open"}'))
    const spec = { kind: 'httpState', url: `${base}/a`, hosts: HOSTS, contains: '"state":"{input.state}"' }
    const closed = become(says(200, '{"state":"closed"}'))
    expect(await verifyAround(spec, closed, { input: { state: 'closed' } })).toMatchObject({ state: 'verified' })
    expect(await verifyAround(spec, closed, { input: { state: 'closed' } })).toMatchObject({ state: 'absent' })
    expect(await verifyAround(spec, closed, { input: { state: 'open' } })).toMatchObject({
      state: 'absent',
      reason: 'The answer does not have the text.',
    })
  })

  it.each([500, 503, 429, 401, 403, 302])('says nothing about the resource with status %i', async status => {
    const { look, base } = await service(says(status))
    const spec = { kind: 'httpState', url: `${base}/a`, hosts: HOSTS, contains: 'a' }
    expect(await look(spec)).toEqual({ seen: 'unclear', reason: `It answered with status ${status}.` })
  })

  it('follows no redirect', async () => {
    const { look, base, asked } = await service((request, response) =>
      request.url === '/there' ? says(200)(request, response) : response.writeHead(307, { location: '/there' }).end(),
    )
    expect(await look({ kind: 'httpState', url: `${base}/a`, hosts: HOSTS, status: 200 })).toMatchObject({
      seen: 'unclear',
    })
    expect(asked).toEqual(['GET /a'])
  })

  it('reads one MiB of an answer', async () => {
    const padding = 'x'.repeat(1024 * 1024)
    const { look, base } = await service(says(200, `early ${padding} late`))
    const spec = { kind: 'httpState', url: `${base}/a`, hosts: HOSTS }
    expect(await look({ ...spec, contains: 'early' })).toMatchObject({ seen: 'there', count: 1 })
    expect(await look({ ...spec, contains: 'late' })).toMatchObject({ seen: 'unclear' })
    expect(await look({ ...spec, contains: 'missing' })).toMatchObject({ seen: 'unclear' })
  })

  it('is unclear when nobody answers, or the answer breaks off', async () => {
    const { look, base } = await service((_request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half', () => response.destroy())
    })
    const spec = { kind: 'httpState', hosts: HOSTS, contains: 'a' }
    expect(await look({ ...spec, url: `${base}/a` })).toMatchObject({ seen: 'unclear' })
    expect(await look({ ...spec, url: 'http://127.0.0.1:1/' })).toMatchObject({ seen: 'unclear' })
  })

  it('asks only hosts that are named, by their port where one is given', async () => {
    const { look, base, port, asked } = await service(says(200))
    const seen = async (url: string, hosts: string[]) =>
      (await look({ kind: 'httpState', url, hosts, status: 200 }, { input: { host: 'evil.example', up: '..' } })).seen
    expect(await seen(`${base}/`, [`127.0.0.1:${port}`])).toBe('there')
    const before = asked.length
    const refused = { code: 'INPUT_INVALID' }
    await expect(seen(`${base}/`, ['127.0.0.1:80'])).rejects.toMatchObject(refused)
    await expect(seen(`${base}/`, ['localhost'])).rejects.toMatchObject(refused)
    await expect(seen('http://{input.host}/', HOSTS)).rejects.toMatchObject(refused)
    await expect(seen('http://127.0.0.1.{input.host}/', HOSTS)).rejects.toMatchObject(refused)
    await expect(seen('http://me:secret@127.0.0.1/', HOSTS)).rejects.toMatchObject(refused)
    await expect(seen('file:///etc/passwd', HOSTS)).rejects.toMatchObject(refused)
    await expect(seen(`${base}/a/{input.up}/b`, HOSTS)).rejects.toMatchObject(refused)
    await expect(seen(`${base}/a/{input.up}`, HOSTS)).rejects.toMatchObject(refused)
    await expect(seen('nonsense', HOSTS)).rejects.toMatchObject(refused)
    expect(asked).toHaveLength(before)
  })

  it('takes a base address from the configuration as it is', async () => {
    const { look, base } = await service(says(200))
    const spec = { kind: 'httpState', url: '{config.url}/a', hosts: HOSTS, status: 200 }
    expect(await look(spec, { config: { url: base } })).toMatchObject({ seen: 'there' })
  })

  it.each([
    [{}, 'needs "status" or "contains"'],
    [{ contains: 'a', method: 'HEAD' }, 'HEAD has no text'],
    [{ status: 200, hosts: [] }, 'hosts'],
    [{ status: 200, hosts: ['*.example.com'] }, 'must be a host'],
    [{ status: 200, hosts: ['{config.host}'] }, 'must be a host'],
    [{ status: 200, method: 'POST' }, 'method'],
    [{ status: 99 }, 'status'],
  ])('refuses %j when definitions load', (fields, problem) => {
    const { kind } = effectFixture({ projectDir: '/project' })
    const spec = { name: 'a', kind: 'httpState', url: 'http://127.0.0.1/', hosts: HOSTS, ...fields }
    expect(kind('httpState').check(spec).join()).toContain(problem)
  })
})
