import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { httpEndpoint } from '../testing/http-endpoint.ts'
import { createGuardedFetch } from './guarded-fetch.ts'

const HOME = new URL('https://mcp.example/mcp')
const clock = createFakeClock()

describe('a fetch of what others told us', () => {
  it('reaches the host that the configuration names, and others that it lists', async () => {
    const server = await httpEndpoint(({ json }) => json(200, { ok: true }))
    const home = new URL(server.url)
    expect(await (await createGuardedFetch({ home, clock })(server.origin)).json()).toEqual({ ok: true })
    const listed = createGuardedFetch({ home: HOME, hosts: ['127.0.0.1'], clock })
    expect((await listed(`${server.origin}/x`)).status).toBe(200)
  })

  it('reaches nothing inside otherwise, and asks nobody before it has looked', async () => {
    const server = await httpEndpoint(({ json }) => json(200))
    const fetch = createGuardedFetch({ home: HOME, clock, resolve: async () => [{ address: '127.0.0.1', family: 4 }] })
    for (const url of [
      server.origin.replace('http', 'https'),
      `https://rebound.example:${server.port}/`,
      server.origin,
    ]) {
      await expect(fetch(url)).rejects.toBeInstanceOf(TypeError)
    }
    expect(server.visits).toEqual([])
  })

  it('reaches another port of this machine where that is what the configuration names, and nothing else inside', async () => {
    const issuer = await httpEndpoint(({ json }) => json(200, { ok: true }))
    const home = new URL('http://localhost:1/mcp')
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    const fetch = createGuardedFetch({ home, clock, resolve })
    expect((await fetch(issuer.origin)).status).toBe(200)
    for (const url of [
      'https://192.168.0.7/',
      'https://169.254.169.254/',
      'https://[fe80::1]/',
      `https://named.example:${issuer.port}/`,
    ])
      await expect(fetch(url)).rejects.toThrow(/leads to an address inside/)
    await expect(fetch('http://169.254.169.254/')).rejects.toThrow(/is not reached by https:/)
    expect(issuer.visits).toHaveLength(1)
  })

  it('reaches neither this machine nor a neighbour for a server inside the network', async () => {
    const fetch = createGuardedFetch({ home: new URL('https://192.168.0.7/mcp'), clock })
    for (const url of ['https://127.0.0.1/', 'https://[::1]/', 'https://192.168.0.8/'])
      await expect(fetch(url)).rejects.toThrow(/leads to an address inside/)
  })

  it('uses plain http only on this machine and to the very server that was named', async () => {
    const fetch = createGuardedFetch({ home: new URL('http://mcp.lan/mcp'), hosts: ['sso.lan'], clock })
    await expect(fetch('http://sso.lan/token')).rejects.toThrow(/is not reached by https:/)
    await expect(fetch('http://mcp.lan:81/token')).rejects.toThrow(/is not reached by https:/)
    await expect(fetch('ftp://mcp.lan/')).rejects.toThrow(/is not reached by https:/)
  })

  it('leaves redirects to whoever asked', async () => {
    const server = await httpEndpoint(({ json }) => json(302, undefined, { location: 'https://elsewhere.example/' }))
    const response = await createGuardedFetch({ home: new URL(server.url), clock })(server.url)
    expect([response.status, response.headers.get('location')]).toEqual([302, 'https://elsewhere.example/'])
  })

  it('reads no more than a megabyte', async () => {
    const server = await httpEndpoint(({ response }) => response.end('x'.repeat(1024 * 1024 + 1)))
    await expect(createGuardedFetch({ home: new URL(server.url), clock })(server.url)).rejects.toThrow(/longer than/)
  })

  it('waits fifteen seconds for an answer', async () => {
    const server = await httpEndpoint(() => {})
    const own = createFakeClock()
    const waiting = createGuardedFetch({ home: new URL(server.url), clock: own })(server.url)
    waiting.catch(() => {})
    await server.arrived(1)
    await own.advance(15_000)
    await expect(waiting).rejects.toThrow(/no answer within 15000 ms/)
  })

  it('waits no longer for one that begins and does not end, and lets go of the connection', async () => {
    const server = await httpEndpoint(({ path, response, json }) => {
      if (path === '/later') return json(200)
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{')
    })
    const own = createFakeClock()
    const waiting = createGuardedFetch({ home: new URL(server.url), clock: own })(server.url)
    waiting.catch(() => {})
    await server.arrived(1)
    const closed = new Promise(resolve => server.visits[0]?.response.once('close', resolve))
    // What was written before this was asked is there when it is answered.
    await fetch(`${server.origin}/later`)
    await own.advance(15_000)
    await expect(waiting).rejects.toThrow(/no answer within 15000 ms/)
    await closed
  })
})
