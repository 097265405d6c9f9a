import { afterEach, describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { startHttpServer, type TestServer, type TestServerOptions } from '../../testing/http-server.ts'

let server: TestServer | undefined

async function started(options: TestServerOptions = {}): Promise<TestServer> {
  server = await startHttpServer(options)
  return server
}

afterEach(async () => {
  await server?.close(0)
  server = undefined
})

describe('/health and /ready', () => {
  it('says that it lives, without a credential', async () => {
    const { url } = await started({ isReady: () => false })
    const response = await fetch(`${url}/health`)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ status: 'ok', version: '1.2.3', generation: 7 })
  })

  it('answers HEAD like GET, without a body', async () => {
    const { url } = await started()
    const response = await fetch(`${url}/health`, { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([200, ''])
  })

  it('proves who it is to one who asks with a challenge', async () => {
    const { url, port } = await started({ prove: (challenge, port) => `${challenge}@${port}` })
    const challenge = 'a-fresh-challenge-of-32-characters'
    const response = await fetch(`${url}/health?challenge=${challenge}`)
    expect(await response.json()).toMatchObject({ proof: `${challenge}@${port}` })
  })

  it.each(['', 'short', 'x'.repeat(129), 'not%20a%20plain%20word%20but%20long'])(
    'proves nothing for the challenge "%s"',
    async challenge => {
      const { url } = await started({ prove: () => 'proof' })
      expect(await (await fetch(`${url}/health?challenge=${challenge}`)).json()).not.toHaveProperty('proof')
    },
  )

  it('is ready when the registry is, and says why when it is not', async () => {
    let ready = false
    const { url } = await started({ isReady: () => ready })
    const before = await fetch(`${url}/ready`)
    expect(before.status).toBe(503)
    expect(before.headers.get('retry-after')).toBe('1')
    expect(await before.json()).toMatchObject({
      status: 'starting',
      reason: expect.stringContaining('still being checked'),
    })
    ready = true
    const after = await fetch(`${url}/ready`)
    expect([after.status, await after.json()]).toEqual([200, { status: 'ready' }])
  })

  it('is not ready while the store does not answer, and healthy all the same', async () => {
    let answers = false
    const { url } = await started({ storeAnswers: async () => answers })
    const away = await fetch(`${url}/ready`)
    expect([away.status, away.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await away.json()).toEqual({ status: 'away', reason: expect.stringContaining('store does not answer') })
    expect((await fetch(`${url}/health`)).status).toBe(200)
    answers = true
    expect((await fetch(`${url}/ready`)).status).toBe(200)
  })
})

describe('a server that is still starting', () => {
  const mounts = [{ path: '/mcp' as const, handle: async () => new Response('here you are') }]

  it('has everybody wait who wants more than to know how it is', async () => {
    const opening = deferred()
    const { url } = await started({ mounts, opened: opening.promise, isReady: () => false })
    const early = [fetch(`${url}/mcp`), fetch(`${url}/api/v1/control/status`, { method: 'POST' })]
    const isAnswered = Promise.race(early).then(() => true)
    expect((await fetch(`${url}/health`)).status).toBe(200)
    expect((await fetch(`${url}/ready`)).status).toBe(503)
    expect(await Promise.race([isAnswered, Promise.resolve(false)])).toBe(false)
    opening.resolve()
    const answers = await Promise.all(early)
    expect(answers.map(({ status }) => status)).toEqual([200, 401])
    expect(await answers[0]?.text()).toBe('here you are')
  })

  it('says so when it ends before', async () => {
    const opening = deferred()
    const { url } = await started({ mounts, opened: opening.promise })
    const early = fetch(`${url}/mcp`)
    await fetch(`${url}/health`)
    opening.reject(new AppError('STOPPING', 'Quartermaster is stopping.'))
    const answer = await early
    expect([answer.status, await answer.json()]).toEqual([503, expect.objectContaining({ code: 'STOPPING' })])
  })
})

describe('a mounted endpoint', () => {
  const mounts = [
    {
      path: '/mcp' as const,
      handle: async (request: Request) => new Response(`${request.method} ${await request.text()}`),
    },
  ]

  it('is asked whatever the method', async () => {
    const { url } = await started({ mounts })
    expect(await (await fetch(`${url}/mcp`, { method: 'POST', body: 'hello' })).text()).toBe('POST hello')
    expect(await (await fetch(`${url}/mcp`, { method: 'DELETE' })).text()).toBe('DELETE ')
  })

  it('is not asked by a foreign origin', async () => {
    const { url } = await started({ mounts })
    expect((await fetch(`${url}/mcp`, { headers: { origin: 'https://evil.example' } })).status).toBe(403)
  })
})

describe('the page', () => {
  it('tells people what runs here, without scripts', async () => {
    const { url } = await started({ status: () => ({ version: '1.0 <b>"&', generation: 3 }) })
    const response = await fetch(url)
    const html = await response.text()
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(html).toContain('Quartermaster')
    expect(html).toContain('1.0 &lt;b>&quot;&amp;')
    expect(html).not.toContain('<script')
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'/,
    )
  })
})

describe('every answer', () => {
  it('is a problem document when nothing is there', async () => {
    const { url } = await started()
    const response = await fetch(`${url}/nowhere?secret=1`)
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await response.json()).toEqual({
      type: 'urn:quartermaster:error:NAME_UNKNOWN',
      title: 'Name unknown',
      status: 404,
      detail: 'Nothing is at "/nowhere".',
      code: 'NAME_UNKNOWN',
      kind: 'notFound',
      retry: 'never',
    })
  })

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])('refuses %s where there is only reading', async method => {
    const { url } = await started()
    const response = await fetch(`${url}/health`, { method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it.each(['/', '/health', '/ready', '/nowhere', '/api/v1/control/status'])(
    'carries the safe headers on %s',
    async path => {
      const { url } = await started()
      const { headers } = await fetch(url + path)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      const names = [...headers.keys()]
      expect(names.filter(name => /^(server|x-powered-by|access-control-.*)$/.test(name))).toEqual([])
    },
  )

  it('is logged without query, headers or body', async () => {
    const { post, url, lines } = await started()
    await post('status', { secret: 'in-the-body' }, { headers: { Authorization: 'Bearer in-the-token' } })
    await fetch(`${url}/nowhere?key=in-the-query`)
    expect(lines).toHaveLength(2)
    expect(lines.join('\n')).toContain('"path":"/nowhere"')
    expect(lines.join('\n')).not.toMatch(/in-the/)
  })
})
