import { describe, expect, it } from 'vitest'
import { httpFixture, sendJson, testSite } from '../../testing/op-fixture.ts'

const text = { type: 'string' }
const needed = { type: 'string', required: true }
const near = { privateHosts: ['localhost'] }
const echo = () => testSite(({ method, url, body }, response) => sendJson(response, { method, url, body }))

describe('a request that is written down', () => {
  it('is sent with the values of a call in their places, and its answer is handed on as data', async () => {
    const site = await testSite((_, response) =>
      sendJson(response, { main: { temp: 21.5 }, list: [{ n: 'a' }, { n: 'b' }] }),
    )
    const desk = await httpFixture({
      parameters: { city: needed, units: text, tags: { type: 'array', items: text } },
      with: {
        url: `${site.origin}/v1/cities/{city}/weather`,
        query: { units: '{units}', tag: '{tags}', fixed: 7 },
        response: { temperature: '/main/temp', names: '/list/*/n', absent: '/nothing' },
        ...near,
      },
    })
    const said = await desk.call({ city: 'São Paulo/é', tags: ['a b', 'c&d=e'] })
    expect(said).toMatchObject({ ok: true, data: { temperature: 21.5, names: ['a', 'b'] } })
    expect(JSON.parse(said.text)).toEqual({ temperature: 21.5, names: ['a', 'b'] })
    expect(site.seen[0]?.url).toBe('/v1/cities/S%C3%A3o%20Paulo%2F%C3%A9/weather?tag=a%20b&tag=c%26d%3De&fixed=7')
  })

  it('has a body of values, none of which can be more than it is', async () => {
    const site = await echo()
    const desk = await httpFixture({
      parameters: { title: needed, count: { type: 'integer' }, labels: { type: 'array', items: text }, note: text },
      with: {
        method: 'POST',
        url: `${site.origin}/issues`,
        body: {
          json: {
            title: '{title}',
            text: 'About {title} {{braces}}',
            count: '{count}',
            labels: '{labels}',
            note: '{note}',
          },
        },
        ...near,
      },
    })
    await desk.call({ title: '","admin":true,"x":"', count: 3, labels: ['a'] })
    const title = '","admin":true,"x":"'
    expect(JSON.parse(site.seen[0]?.body ?? '')).toEqual({
      title,
      text: `About ${title} {braces}`,
      count: 3,
      labels: ['a'],
    })
    expect(site.seen[0]?.headers['content-type']).toBe('application/json')
  })

  it('sends null where it was given, and no body where there is nothing to send', async () => {
    const site = await echo()
    const maybe = { type: ['string', 'null'] }
    const at = { method: 'POST', url: `${site.origin}/x`, ...near }
    const fields = await httpFixture({
      parameters: { a: maybe, b: maybe },
      with: { ...at, query: { a: '{a}' }, body: { json: { a: '{a}', list: ['{a}', '{b}'], text: 'b is {b}' } } },
    })
    const whole = await httpFixture({ parameters: { a: maybe }, with: { ...at, body: { json: '{a}' } } })
    const plain = await httpFixture({ parameters: { a: maybe }, with: { ...at, body: { text: '{a}' } } })
    await fields.call({ a: null })
    await whole.call({ a: null })
    await whole.call({})
    await plain.call({})
    expect(site.seen.map(({ url, body, headers }) => [url, body, headers['content-type']])).toEqual([
      ['/x', '{"a":null,"list":[null]}', 'application/json'],
      ['/x', 'null', 'application/json'],
      ['/x', '', undefined],
      ['/x', '', undefined],
    ])
    const path = await httpFixture({
      parameters: { a: { ...maybe, required: true } },
      with: { url: `${site.origin}/cities/{a}`, ...near },
    })
    expect(await path.call({ a: null })).toMatchObject({ ok: false, text: expect.stringContaining('"a" is part of') })
    expect(site.seen).toHaveLength(4)
  })

  it('can be a form, or a text', async () => {
    const site = await echo()
    const parameters = { name: needed }
    const at = { method: 'PUT', url: `${site.origin}/`, ...near }
    const form = await httpFixture({ parameters, with: { ...at, body: { form: { name: '{name}', fixed: 'x' } } } })
    const plain = await httpFixture({ parameters, with: { ...at, body: { text: 'Hello {name}' } } })
    await form.call({ name: 'a&b=c' })
    await plain.call({ name: 'a&b' })
    expect(site.seen.map(({ body }) => body)).toEqual(['name=a%26b%3Dc&fixed=x', 'Hello a&b'])
  })

  it('stays in its place in the path, whatever a value is', async () => {
    const site = await echo()
    const desk = await httpFixture({
      parameters: { city: needed },
      with: { url: `${site.origin}/cities/{city}/weather`, ...near },
    })
    for (const city of [
      '..',
      '.',
      '',
      '../admin',
      'a/../../admin',
      '..\\admin',
      '%2e%2e',
      '%2e%2e%2fadmin',
      '%252e%252e%252Fadmin',
      '..;',
      '..;x/admin',
      'a\nb',
    ])
      expect(await desk.call({ city })).toMatchObject({ ok: false, text: expect.stringContaining('"city"') })
    expect(site.seen).toEqual([])
  })

  it('refuses what would begin another header', async () => {
    const site = await echo()
    const desk = await httpFixture({
      parameters: { who: needed },
      with: { url: site.origin, headers: { 'X-Who': '{who}' }, ...near },
    })
    expect(await desk.call({ who: 'a\r\nX-Admin: 1' })).toMatchObject({
      ok: false,
      text: expect.stringContaining('"who"'),
    })
    await desk.call({ who: 'me' })
    expect(site.seen.map(({ headers }) => headers['x-who'])).toEqual(['me'])
  })

  it('goes to a host of a parameter only where the declaration lists it', async () => {
    const site = await echo()
    const declared = {
      parameters: { place: needed },
      with: { url: `http://{place}:${site.port}/`, hosts: ['localhost'], ...near },
    }
    const desk = await httpFixture(declared)
    expect(await desk.call({ place: 'localhost' })).toMatchObject({ ok: true })
    for (const place of ['127.0.0.1', 'evil.example', 'localhost:1/', 'localhost@evil.example', 'localhost#'])
      expect(await desk.call({ place })).toMatchObject({ ok: false })
    expect(site.seen).toHaveLength(1)
  })

  it('carries the same key on every attempt, for servers that know a repeat by it', async () => {
    const site = await echo()
    const desk = await httpFixture({
      with: { method: 'POST', url: site.origin, idempotencyHeader: 'Idempotency-Key', ...near },
    })
    await desk.call()
    expect(site.seen[0]?.headers['idempotency-key']).toMatch(/.{8}/)
  })

  it('keeps what the server says about its failure', async () => {
    const site = await testSite((_, response) =>
      response.writeHead(500, { 'content-type': 'text/plain' }).end('bad city'),
    )
    const desk = await httpFixture({ with: { url: `${site.origin}/x`, ...near } })
    await expect(desk.call()).rejects.toThrow('status 500:\nbad city')
  })

  it('changes nothing when it only asks', async () => {
    const facts = async (method: string) => {
      const desk = await httpFixture({ with: { method, url: 'https://api.example.com' } })
      const { mutates, idempotent } = desk.hub.catalogue.current().tools.get('it') ?? {}
      return [mutates, idempotent]
    }
    expect(await facts('GET')).toEqual([false, true])
    expect(await facts('POST')).toEqual([true, false])
    expect(await facts('DELETE')).toEqual([true, true])
    const search = await httpFixture({ mutates: false, with: { method: 'POST', url: 'https://api.example.com' } })
    expect(search.hub.catalogue.current().tools.get('it')?.mutates).toBe(false)
    const lax = await httpFixture({ mutates: false, with: { method: 'DELETE', url: 'https://api.example.com' } })
    expect(lax.problems()).toEqual([expect.stringContaining('mutates cannot be false')])
  })
})

describe('a declaration of a request that is wrong', () => {
  const wrong = async (declared: Parameters<typeof httpFixture>[0]) => (await httpFixture(declared)).problems()

  it('is told of all at once, also when some of it is no setting at all', async () => {
    const settings = { url: 'https://example.com/{citty}', headers: { Host: 'x' }, maxBytes: 0 }
    const found = await wrong({ parameters: { city: { type: 'string' } }, with: settings })
    expect(found).toEqual([
      expect.stringContaining('with.headers.Host is a header'),
      expect.stringContaining('with.maxBytes'),
      expect.stringContaining('with.url has "{citty}", which is none of the parameters. Did you mean "city"'),
    ])
  })

  it('says which names are no parameters, and which parameters nothing uses', async () => {
    const problems = await wrong({
      parameters: { city: needed, unit: text },
      with: { url: 'https://api.example.com/{ctiy}' },
    })
    expect(problems).toEqual([
      'declaration "desk/it": with.url has "{ctiy}", which is none of the parameters. Did you mean "city"?',
      expect.stringContaining('parameters.city is used by nothing under "with"'),
      expect.stringContaining('parameters.unit is used by nothing under "with"'),
    ])
  })

  it.each<{ says: string; with: Record<string, unknown>; parameters?: Record<string, unknown> }>([
    { says: 'with.url must begin with', with: { url: 'ftp://example.com' } },
    { says: 'with.url must have no account', with: { url: 'https://me:pw@example.com/' } },
    { says: 'with.url has a "{" by itself', with: { url: 'https://example.com/{' } },
    { says: 'with.url has a secret', with: { url: 'https://example.com/${secret:KEY}' } },
    { says: 'no reference to a secret', with: { url: 'https://example.com', headers: { a: '${env:KEY}' } } },
    {
      says: 'must begin with "https://", because a secret',
      with: { url: 'http://example.com', headers: { a: '${secret:K}' } },
    },
    { says: 'with.body is nothing that a GET has', with: { url: 'https://example.com', body: { text: 'x' } } },
    {
      says: 'with.headers.Host is a header that is set automatically',
      with: { url: 'https://example.com', headers: { Host: 'x' } },
    },
    ...['application/json; charset=utf-8', 'application/problem+json', 'application/x-www-form-urlencoded'].map(
      type => ({
        says: 'with.body.text has a parameter in a text that is',
        with: { method: 'POST', url: 'https://example.com', body: { text: '{{"a":"{t}"}}', type } },
        parameters: { t: text },
      }),
    ),
    { says: 'with.hosts.0', with: { url: 'https://example.com', hosts: ['https://x'] } },
    { says: 'with.response', with: { url: 'https://example.com', response: 'main' } },
  ])('$says: $with', async ({ says, with: settings, parameters }) => {
    expect(await wrong({ with: settings, ...(parameters && { parameters }) })).toEqual([expect.stringContaining(says)])
  })

  it('has no parameter in its host without a list of hosts, and none in its path that may be missing', async () => {
    expect(await wrong({ parameters: { h: needed }, with: { url: 'https://{h}.example.com/' } })).toEqual([
      expect.stringContaining('has a parameter in its host'),
    ])
    expect(await wrong({ parameters: { p: text }, with: { url: 'https://example.com/{p}' } })).toEqual([
      expect.stringContaining('"required: true"'),
    ])
  })
})
