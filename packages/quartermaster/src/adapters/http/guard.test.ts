import { afterEach, describe, expect, it } from 'vitest'
import { startHttpServer, type TestServer } from '../../testing/http-server.ts'

let server: TestServer | undefined

afterEach(async () => {
  await server?.close(0)
  server = undefined
})

/** The status of a request with these header lines; `PORT` stands for the bound port. */
async function statusOf(
  headers: string[],
  options: { allowed?: string[]; path?: string; version?: string } = {},
): Promise<number> {
  server = await startHttpServer({ allowedHosts: () => options.allowed ?? [] })
  const { port } = server
  const lines = [
    `GET ${options.path ?? '/health'} HTTP/${options.version ?? '1.1'}`,
    ...headers,
    'Connection: close',
    '',
    '',
  ]
  const answer = await server.raw(lines.join('\r\n').replaceAll('PORT', String(port)))
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])
}

describe('the Host header', () => {
  it.each(['localhost:PORT', '127.0.0.1:PORT', '[::1]:PORT', 'LocalHost:PORT'])('may be %s', async host => {
    expect(await statusOf([`Host: ${host}`])).toBe(200)
  })

  it.each([
    'evil.example',
    'evil.example:PORT',
    'localhost',
    'localhost:1',
    'localhost.evil.example:PORT',
    'localhost.:PORT',
    '127.0.0.1.nip.io:PORT',
    '0.0.0.0:PORT',
  ])('may not be %s', async host => {
    expect(await statusOf([`Host: ${host}`])).toBe(403)
  })

  it.each([
    'user@localhost:PORT',
    'localhost:PORT/x',
    'local host:PORT',
    '\\\\localhost',
    '%6cocalhost:PORT',
    '[::ffff:127.0.0.1]:PORT',
  ])('must be well formed, unlike %s', async host => {
    expect([400, 403]).toContain(await statusOf([`Host: ${host}`]))
  })

  it.each([
    { headers: [], why: 'missing' },
    { headers: ['Host:'], why: 'empty' },
    { headers: ['Host: localhost:PORT', 'Host: evil.example'], why: 'doubled' },
    { headers: ['Host: evil.example', 'Host: localhost:PORT'], why: 'doubled the other way round' },
  ])('may not be $why', async ({ headers }) => {
    expect([400, 403]).toContain(await statusOf(headers))
  })

  it('may not be missing in HTTP/1.0 either', async () => {
    expect(await statusOf([], { version: '1.0' })).toBe(400)
  })

  it.each([
    { allowed: 'box.lan', host: 'box.lan', status: 200 },
    { allowed: 'box.lan', host: 'BOX.lan:8443', status: 200 },
    { allowed: 'box.lan:8443', host: 'box.lan:8443', status: 200 },
    { allowed: 'box.lan:8443', host: 'box.lan', status: 403 },
    { allowed: 'localhost:8080', host: 'localhost:8080', status: 200 },
    { allowed: 'fd00::7', host: '[fd00::7]:7420', status: 200 },
    { allowed: 'box.lan', host: 'notbox.lan', status: 403 },
    { allowed: '*', host: 'evil.example', status: 403 },
  ])('$host is answered with $status where $allowed is allowed', async ({ allowed, host, status }) => {
    expect(await statusOf([`Host: ${host}`], { allowed: [allowed] })).toBe(status)
  })

  it('is not overruled by the request target', async () => {
    expect(await statusOf(['Host: localhost:PORT'], { path: 'http://evil.example/health' })).toBe(403)
    await server?.close(0)
    expect(await statusOf(['Host: localhost:PORT'], { path: '*' })).toBe(400)
  })
})

describe('the Origin header', () => {
  it.each(['http://localhost:PORT', 'https://localhost:PORT'])('may be our own: %s', async origin => {
    expect(await statusOf(['Host: localhost:PORT', `Origin: ${origin}`])).toBe(200)
  })

  it.each([
    'null',
    'http://evil.example',
    'http://localhost',
    'http://localhost:1',
    'http://127.0.0.1:PORT',
    'http://localhost:PORT/',
    'http://localhost:PORT@evil.example',
    'http://localhost:PORT, http://evil.example',
    'file://localhost:PORT',
    'chrome-extension://localhost',
  ])('may not be %s', async origin => {
    expect(await statusOf(['Host: localhost:PORT', `Origin: ${origin}`])).toBe(403)
  })

  it('may be the page of an allowed host behind a proxy', async () => {
    expect(await statusOf(['Host: box.lan', 'Origin: https://box.lan'], { allowed: ['box.lan'] })).toBe(200)
  })
})

it('explains a refusal as a problem document', async () => {
  server = await startHttpServer()
  const response = await fetch(`${server.url}/health`, { headers: { Origin: 'http://evil.example' } })
  expect([response.status, response.headers.get('content-type')]).toEqual([403, 'application/problem+json'])
  expect(await response.json()).toMatchObject({
    code: 'REQUEST_REFUSED',
    kind: 'denied',
    detail: expect.stringContaining('evil.example'),
  })
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
})
