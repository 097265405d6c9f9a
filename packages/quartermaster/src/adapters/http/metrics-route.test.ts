import { describe, expect, it, onTestFinished } from 'vitest'
import type { Settings } from '../../contracts/index.ts'
import { ADMIN_TOKEN, startHttpServer } from '../../testing/http-server.ts'

async function started(access: Settings['metricsAccess']) {
  const server = await startHttpServer({
    allowedHosts: () => ['box.lan'],
    metrics: { text: () => '# EOF\n', access: () => access },
  })
  onTestFinished(() => server.close(0))
  const ask = (...headers: string[]) =>
    server.raw(['GET /metrics HTTP/1.1', 'Connection: close', ...headers, '', ''].join('\r\n'))
  return { ...server, ask, host: `Host: localhost:${server.port}`, token: `Authorization: Bearer ${ADMIN_TOKEN}` }
}

describe('/metrics', () => {
  it('is the text format of Prometheus', async () => {
    const { url } = await started('loopback')
    const response = await fetch(`${url}/metrics`)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(await response.text()).toBe('# EOF\n')
    expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405)
  })

  it('is for programs on this machine, and for others with the admin token', async () => {
    const { ask, host, token } = await started('loopback')
    expect(await ask(host)).toMatch(/^HTTP\/1\.1 200/)
    expect(await ask('Host: box.lan')).toMatch(/^HTTP\/1\.1 401/)
    expect(await ask(host, 'X-Forwarded-For: 192.0.2.7')).toMatch(/^HTTP\/1\.1 401/)
    expect(await ask('Host: box.lan', token)).toMatch(/^HTTP\/1\.1 200/)
  })

  it('can be closed to everyone without the admin token, or opened to all', async () => {
    const closed = await started('token')
    expect(await closed.ask(closed.host)).toMatch(/^HTTP\/1\.1 401/)
    expect(await closed.ask(closed.host, closed.token)).toMatch(/^HTTP\/1\.1 200/)
    const open = await started('open')
    expect(await open.ask('Host: box.lan')).toMatch(/^HTTP\/1\.1 200/)
    expect(await open.ask('Host: evil.example')).toMatch(/^HTTP\/1\.1 403/)
  })
})
