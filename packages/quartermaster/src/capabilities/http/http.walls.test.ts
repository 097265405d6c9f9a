import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { WebService } from '../../core/catalogue/index.ts'
import { httpFixture, sendJson, testSite } from '../../testing/op-fixture.ts'

const near = { privateHosts: ['localhost'] }

describe('addresses inside this machine and network', () => {
  it('are not gone to unless they are named', async () => {
    const site = await testSite((_, response) => sendJson(response, {}))
    for (const host of [
      'localhost',
      '127.0.0.1',
      '[::1]',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '[::ffff:127.0.0.1]',
    ]) {
      const desk = await httpFixture({ with: { url: `http://${host}:${site.port}/` } })
      const said = expect.stringMatching(/leads to an address inside .* does not name it under "privateHosts"/)
      expect(await desk.call()).toMatchObject({ ok: false, text: said })
    }
    const metadata = await httpFixture({ with: { url: 'http://169.254.169.254/latest/meta-data/' } })
    expect(await metadata.call()).toMatchObject({
      ok: false,
      text: expect.stringMatching(/leads to an address inside/),
    })
    expect(site.seen).toEqual([])
  })

  it('are not reached by a name that means another address the second time', async () => {
    const site = await testSite((_, response) => sendJson(response, {}))
    const controller = new AbortController()
    const answers = ['93.184.215.14', '127.0.0.1']
    const desk = await httpFixture(
      { with: { url: `http://rebind.example:${site.port}/` } },
      {
        async resolve() {
          controller.abort()
          return [{ address: answers.shift() ?? '', family: 4 }]
        },
      },
    )
    await expect(desk.call({}, { signal: controller.signal })).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(await desk.call()).toMatchObject({ ok: false, text: expect.stringMatching(/leads to an address inside/) })
    expect(answers).toEqual([])
    const mixed = await httpFixture(
      { with: { url: `http://mixed.example:${site.port}/` } },
      {
        resolve: async () => [
          { address: '93.184.215.14', family: 4 },
          { address: '127.0.0.1', family: 4 },
        ],
      },
    )
    expect(await mixed.call()).toMatchObject({ ok: false, text: expect.stringMatching(/leads to an address inside/) })
    expect(site.seen).toEqual([])
  })
})

describe('a server that sends a request on', () => {
  it('is followed to hosts that are named, and secrets stay where they were meant for', async () => {
    const end = await testSite((_, response) => sendJson(response, { there: true }))
    const start = await testSite(({ url }, response) => {
      if (url === '/start') response.writeHead(302, { location: '/next' }).end()
      else response.writeHead(307, { location: `${end.origin}/end` }).end()
    })
    const desk = await httpFixture(
      {
        with: {
          url: `${start.origin}/start`,
          headers: { Authorization: 'Bearer ${secret:KEY}', 'X-Key': '${secret:KEY}', 'X-Kind': 'plain' },
          hosts: [`localhost:${end.port}`],
          ...near,
        },
      },
      { secrets: { KEY: 'top-secret-1' } },
    )
    expect(await desk.call()).toMatchObject({ ok: true, data: { there: true } })
    expect(start.seen.map(({ headers }) => headers['x-key'])).toEqual(['top-secret-1', 'top-secret-1'])
    const [last] = end.seen
    expect(last?.headers).toMatchObject({ 'x-kind': 'plain' })
    expect(JSON.stringify(last?.headers)).not.toContain('top-secret-1')
  })

  it('is not followed to a host that is not named, nor inside', async () => {
    const targets = [
      'http://127.0.0.1:1/',
      'https://evil.example/',
      'http://169.254.169.254/',
      'file:///etc/passwd',
      'http://a:b@localhost/',
    ]
    const site = await testSite(({ url }, response) => {
      response.writeHead(302, { location: targets[Number(url.slice(1))] }).end()
    })
    for (const at of targets.keys()) {
      const desk = await httpFixture({ with: { url: `${site.origin}/${at}`, ...near } })
      expect(await desk.call()).toMatchObject({ ok: false, text: expect.stringMatching(/sends? it on|sent on/) })
    }
    const other = await testSite((_, response) => sendJson(response, {}))
    targets.push(other.origin)
    const port = await httpFixture({ with: { url: `${site.origin}/${targets.length - 1}`, ...near } })
    expect(await port.call()).toMatchObject({
      ok: false,
      text: expect.stringContaining(`sends it on to localhost:${other.port}, which the declaration does not name`),
    })
    expect(other.seen).toEqual([])
    const listed = await httpFixture({ with: { url: `${site.origin}/2`, hosts: ['169.254.169.254'], ...near } })
    expect(await listed.call()).toMatchObject({ ok: false, text: expect.stringMatching(/leads to an address inside/) })
  })

  it('is not followed from https to http, unless the host is named', async () => {
    const sent: string[] = []
    const web: WebService = {
      async send({ url }) {
        sent.push(url.href)
        const headers = { location: url.href.replace('https:', 'http:') }
        const answer = { status: url.protocol === 'https:' ? 307 : 204, headers, body: new Uint8Array(), receivedAt: 0 }
        return { kind: 'answer', answer }
      },
    }
    const end = async (host: string, url = 'https://api.example.com/x') => {
      const settings = { method: 'POST', url, body: { text: 'x' }, privateHosts: [host] }
      const { ok, text } = await (await httpFixture({ with: settings }, { web })).call()
      return { ok, text, sent: sent.splice(0) }
    }
    const [safe, open] = ['https://api.example.com/x', 'http://api.example.com/x']
    expect(await end('localhost')).toEqual({ ok: false, text: expect.stringContaining('without TLS'), sent: [safe] })
    expect(await end('api.example.com')).toMatchObject({ ok: true, sent: [safe, open] })
    expect(await end('localhost', open)).toMatchObject({ ok: true, sent: [open] })
  })

  it('is followed five times', async () => {
    const site = await testSite(({ url }, response) => {
      response.writeHead(302, { location: `/${Number(url.slice(1)) + 1}` }).end()
    })
    const desk = await httpFixture({ with: { url: `${site.origin}/0`, ...near } })
    expect(await desk.call()).toMatchObject({ ok: false, text: expect.stringContaining('more than 5 times') })
    expect(site.seen).toHaveLength(6)
  })

  it('has done what it was sent, or may have, when where it sends us cannot be gone to', async () => {
    const site = await testSite(({ url }, response) => {
      const [, status, to] = url.split('/')
      if (Number(status) < 400) response.writeHead(Number(status), { location: ENDS[to ?? ''] ?? url }).end()
      else response.writeHead(Number(status)).end()
    })
    const ENDS: Record<string, string> = {
      away: 'https://evil.example/',
      closed: 'http://localhost:1/',
      busy: '/503',
      none: '/404',
    }
    const end = async (path: string, method = 'POST') => {
      const desk = await httpFixture({
        with: { method, url: `${site.origin}/${path}`, hosts: ['localhost:1'], ...near },
      })
      return desk.call().then(
        ({ text }) => text,
        (error: { code: string }) => error.code,
      )
    }
    for (const to of ['away', 'closed', 'busy', 'loop'])
      expect(await end(`302/${to}`), `led to ${to}`).toBe('OUTCOME_UNKNOWN')
    expect(await end('303/away')).toMatch(/^It was carried out, but .* sends it on to evil\.example/)
    expect(await end('303/none')).toMatch(/^It was carried out, but .* answered with status 404/)
    expect(await end('303/busy')).toBe('OUTCOME_UNKNOWN')
    expect(await end('307/away')).toMatch(/^localhost sends it on to evil\.example/)
    expect(await end('302/busy', 'GET')).toBe('DEPENDENCY_UNAVAILABLE')
  })

  it('gets a question where it was sent something, as browsers do', async () => {
    const site = await testSite(({ url }, response) => {
      if (url === '/303' || url === '/308') response.writeHead(Number(url.slice(1)), { location: '/end' }).end()
      else sendJson(response, {})
    })
    for (const status of [303, 308]) {
      const desk = await httpFixture({
        with: { method: 'POST', url: `${site.origin}/${status}`, body: { text: 'x' }, ...near },
      })
      await desk.call()
    }
    const ends = site.seen.filter(({ url }) => url === '/end')
    expect(ends.map(({ method, body }) => [method, body])).toEqual([
      ['GET', ''],
      ['POST', 'x'],
    ])
  })
})

describe('secrets of a request', () => {
  it('are sent and never seen: not in results, not in refusals', async () => {
    const key = 'k-1234567890/+"x'
    const site = await testSite(({ url, headers }, response) => {
      const status = url.startsWith('/no') ? 400 : 200
      sendJson(response, { url, auth: headers.authorization }, status)
    })
    for (const path of ['yes', 'no']) {
      const desk = await httpFixture(
        {
          with: {
            url: `${site.origin}/${path}`,
            query: { key: '${secret:KEY}' },
            headers: { Authorization: 'Bearer ${secret:KEY}' },
            ...near,
          },
        },
        { secrets: { KEY: key } },
      )
      const said = await desk.call()
      expect(said.ok).toBe(path === 'yes')
      expect(said.text).toContain('[secret]')
      expect(JSON.stringify(said.result)).not.toContain('1234567890')
    }
    expect(site.seen[0]?.headers.authorization).toBe(`Bearer ${key}`)
  })

  it.each([
    { secret: 'abcdef/ghijkl', said: '{"k":"abcdef\\/ghijkl"}' },
    { secret: 'abcdef-ühijkl', said: '{"abcdef-\\u00fchijkl":{"k":["Bearer abcdef-\\u00FChijkl"]}}' },
    { secret: 'abcdef+hijkl', said: '{"k":"{\\"inner\\":\\"abcdef\\\\u002Bhijkl\\"}"}' },
    { secret: 'abcdef', said: '{"k":"\\u0061bcdef"}', only: ['200/json', '404/json'] },
    { secret: '12345678901234567890', said: '{"k":12345678901234567890,"list":[-12345678901234567890.5]}' },
  ])('are masked however a server spells them in JSON: $said', async ({ secret, said, only }) => {
    const site = await testSite(({ url }, response) => {
      const [, status, type] = url.split(/[/?]/)
      response
        .writeHead(Number(status), { 'content-type': type === 'json' ? 'application/json' : 'text/plain' })
        .end(said)
    })
    for (const path of only ?? ['200/json', '404/json', '200/text']) {
      const desk = await httpFixture(
        { with: { url: `${site.origin}/${path}`, query: { key: '${secret:KEY}' }, ...near } },
        { secrets: { KEY: secret } },
      )
      const { text, data, result } = await desk.call()
      expect(text).toContain('[secret]')
      const shown = JSON.stringify(result).replaceAll('\\', '')
      expect(shown).not.toMatch(/bcdef|hijkl|345678/)
      // What was JSON is still data.
      expect(Object.keys(data).length > 0).toBe(path === '200/json')
    }
  })

  it('are a dependency: without one the tool is disabled and says which', async () => {
    const secrets: Record<string, string> = {}
    const desk = await httpFixture(
      { with: { url: 'https://api.example.com', headers: { 'X-Key': '${secret:WEATHER.KEY}' } } },
      { secrets },
    )
    await expect(desk.call()).rejects.toMatchObject({
      code: 'TOOL_DISABLED',
      message: expect.stringContaining('There is no secret named "WEATHER.KEY"'),
    })
  })

  it('that no header can hold are refused without being shown', async () => {
    const site = await testSite((_, response) => sendJson(response, {}))
    const desk = await httpFixture(
      { with: { url: site.origin, headers: { 'X-Key': '${secret:KEY}' }, ...near } },
      { secrets: { KEY: 'abc\r\ndef' } },
    )
    const said = await desk.call()
    expect(said).toMatchObject({ ok: false, text: expect.stringContaining('The secret "KEY"') })
    expect(said.text).not.toContain('abc')
  })
})

describe('what a server answers', () => {
  const from = async (answer: Parameters<typeof testSite>[0], more: Record<string, unknown> = {}) => {
    const site = await testSite(answer)
    return httpFixture({ with: { url: `${site.origin}/x`, ...near, ...more } })
  }

  it('is a text, a picture or a file, by its type', async () => {
    const typed = (type: string) =>
      from((_, response) => void response.writeHead(200, { 'content-type': type }).end('abc'))
    const block = async (type: string) => (await (await typed(type)).call()).result.content[0]
    expect(await block('text/plain; charset=utf-8')).toEqual({ type: 'text', text: 'abc' })
    expect(await block('image/png')).toEqual({ type: 'image', mimeType: 'image/png', data: 'YWJj' })
    expect(await block('application/pdf')).toMatchObject({
      type: 'resource',
      resource: { mimeType: 'application/pdf', blob: 'YWJj' },
    })
  })

  it('is a list or a value as well, and then stands under "value"', async () => {
    const desk = await from((_, response) => sendJson(response, { items: [1, 2] }), { response: '/items' })
    expect(await desk.call()).toMatchObject({ ok: true, text: '[1,2]', data: { value: [1, 2] } })
    const none = await from((_, response) => sendJson(response, {}), { response: '/items' })
    expect(await none.call()).toMatchObject({ ok: false, text: expect.stringContaining('nothing at "/items"') })
    const page = await from((_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'), {
      response: '/items',
    })
    expect(await page.call()).toMatchObject({ ok: false, text: expect.stringContaining('did not answer with JSON') })
    const nothing = await from((_, response) => void response.writeHead(204).end())
    expect(await nothing.call()).toMatchObject({ ok: true, data: { status: 204 } })
  })

  it('keeps numbers in its text as they are written, and nothing that is masked', async () => {
    const said = '{ "id": 12345678901234567890,\n  "words": "a  b", "n": 1.50 }'
    const long = await from(
      (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(said),
    )
    expect((await long.call()).text).toBe('{"id":12345678901234567890,"words":"a  b","n":1.50}')
  })

  it('is read in every compression that we know, and in no other', async () => {
    const coded = async (coding: string, body: Uint8Array | '', method = 'GET') => {
      const headers = { 'content-type': 'text/plain', 'content-encoding': coding }
      const desk = await from((_, response) => void response.writeHead(200, headers).end(body), { method })
      return desk.call().then(
        ({ text }) => text,
        (error: { code: string; message: string }) => `${error.code} ${error.message}`,
      )
    }
    expect(await coded('gzip', gzipSync('abc'))).toBe('abc')
    expect(await coded('gzip, Br', brotliCompressSync(gzipSync('abc')))).toBe('abc')
    expect(await coded('identity', Buffer.from('abc'))).toBe('abc')
    expect(await coded('gzip', '', 'POST')).toContain('answered with status 200')
    expect(await coded('gzip', '', 'HEAD')).toContain('answered with status 200')
    expect(await coded('odd', '', 'POST')).toContain('answered with status 200')
    expect(await coded('utf-8', Buffer.from('abc'), 'POST')).toContain('abc')
    const unread = /cannot be read: it is compressed in a way that is not known here/
    expect(await coded('odd', gzipSync('abc'), 'POST')).toMatch(/cannot be read.*was carried out with status 200/)
    for (const coding of ['odd', 'odd, gzip', 'gzip, odd']) expect(await coded(coding, gzipSync('abc'))).toMatch(unread)
  })

  it('is bounded', async () => {
    const desk = await from(
      (_, response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(2_000)),
      { maxBytes: 1_000 },
    )
    expect(await desk.call()).toMatchObject({ ok: false, text: expect.stringContaining('is longer than') })
  })

  it('is what its status says, however long it is', async () => {
    const end = async (status: number, method = 'POST') => {
      const site = await testSite((_, response) => {
        response.writeHead(status, { 'content-type': 'text/plain', location: '/x' }).end('no such thing '.repeat(200))
      })
      const desk = await httpFixture(
        { with: { method, url: site.origin, query: { k: '${secret:KEY}' }, maxBytes: 1_000, ...near } },
        { secrets: { KEY: 'such thing no such' } },
      )
      return desk.call().then(
        ({ text }) => text,
        (error: { code: string }) => error.code,
      )
    }
    expect(await end(404)).toMatch(/answered with status 404:\nno \[secret\]/)
    expect(await end(404)).not.toMatch(/such thing no su?c?h?…?$/)
    expect(await end(503)).toBe('DEPENDENCY_UNAVAILABLE')
    expect(await end(500)).toBe('OUTCOME_UNKNOWN')
    expect(await end(200)).toContain('It was carried out with status 200.')
    expect(await end(200, 'GET')).toContain('Ask for less.')
  })

  it('is its no, in its own words, when it says no', async () => {
    const desk = await from((_, response) =>
      sendJson(response, { error: 'no such city', more: 'x'.repeat(5_000) }, 404),
    )
    const said = await desk.call()
    expect(said).toMatchObject({
      ok: false,
      text: expect.stringMatching(/answered with status 404:\n\{"error":"no such city"/),
    })
    expect(said.text.length).toBeLessThan(2_200)
  })

  it('is an error that can pass when it says not now, and in doubt when something was sent', async () => {
    const answering = (status: number) => (_: unknown, response: Parameters<typeof sendJson>[0]) =>
      void response.writeHead(status, { 'retry-after': '7' }).end()
    const end = async (status: number, method: string) => {
      const desk = await from(answering(status), { method })
      return desk.call().then(
        ({ ok }) => ok,
        (error: { code: string }) => error.code,
      )
    }
    expect(await end(429, 'GET')).toBe('DEPENDENCY_UNAVAILABLE')
    expect(await end(500, 'GET')).toBe('DEPENDENCY_UNAVAILABLE')
    expect(await end(503, 'POST')).toBe('DEPENDENCY_UNAVAILABLE')
    expect(await end(502, 'POST')).toBe('OUTCOME_UNKNOWN')
    expect(await end(501, 'POST')).toBe(false)
    const broken = await from((_, response) => void response.destroy(), { method: 'POST' })
    await expect(broken.call()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  })

  it('waits to be asked for again where the declaration says so', async () => {
    const site = await testSite((_, response) => void response.writeHead(503).end())
    const desk = await httpFixture({
      retry: 'replay',
      with: { method: 'PUT', url: `${site.origin}/x`, idempotencyHeader: 'Idempotency-Key', ...near },
    })
    const { waiting } = await desk.hub.callAs('worker', 'it', {})
    expect(waiting).toMatchObject({ status: 'waiting', for: 'retry' })
  })

  it('is not waited for when the caller goes away', async () => {
    const controller = new AbortController()
    const desk = await from(() => controller.abort())
    await expect(desk.call({}, { signal: controller.signal })).rejects.toMatchObject({ code: 'CANCELLED' })
  })
})
