import { describe, expect, it } from 'vitest'
import { deferred } from '../../../testing/deferred.ts'
import { httpEndpoint, type Visit } from '../testing/http-endpoint.ts'
import { authFixture, OWNER, oauthPlace } from '../testing/oauth-fixture.ts'

const visit = (url: string, init?: RequestInit) => fetch(url, { redirect: 'manual', ...init })

describe('signing in at an upstream', () => {
  it('ends in a token that is kept, with proof of the code and a page for the person', async () => {
    const place = await oauthPlace()
    const { auth } = authFixture()
    const attempt = await auth.begin(OWNER, place.upstream)
    const page = await visit(place.approve(attempt.url))
    expect(await attempt.ended).toMatchObject({ issuer: place.endpoint.origin, accessToken: 'access-1', scope: 'read' })
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('You can close this window')])
    expect(await auth.for(OWNER, place.upstream).token()).toBe('access-1')
  })

  it('asks for what the server wants, for this server, as a program that keeps no secret', async () => {
    const place = await oauthPlace({ challenge: 'Bearer scope="files:read files:write"' })
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    const asked = new URL(attempt.url).searchParams
    expect(Object.fromEntries(asked)).toMatchObject({
      response_type: 'code',
      client_id: 'made',
      scope: 'files:read files:write',
      resource: place.upstream.url,
      code_challenge_method: 'S256',
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
      state: expect.stringMatching(/^.{40,}$/),
    })
    expect(place.registered).toMatchObject([
      { redirect_uris: [asked.get('redirect_uri')], token_endpoint_auth_method: 'none' },
    ])
    attempt.cancel()
  })

  it('uses the configured client, otherwise the document that describes one where that is understood', async () => {
    const configured = await oauthPlace({}, { clientId: 'mine', clientMetadataUrl: 'https://x.example/client.json' })
    const document = await oauthPlace(
      { metadata: { client_id_metadata_document_supported: true } },
      { clientMetadataUrl: 'https://x.example/client.json' },
    )
    for (const [place, id] of [
      [configured, 'mine'],
      [document, 'https://x.example/client.json'],
    ] as const) {
      const attempt = await authFixture().auth.begin(OWNER, place.upstream)
      expect(new URL(attempt.url).searchParams.get('client_id')).toBe(id)
      expect(place.registered).toEqual([])
      attempt.cancel()
    }
  })

  it('registers where the document that describes a client is not understood', async () => {
    const place = await oauthPlace({}, { clientMetadataUrl: 'https://x.example/client.json' })
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    expect(new URL(attempt.url).searchParams.get('client_id')).toBe('made')
    expect(place.registered).toMatchObject([{ client_name: 'Quartermaster' }])
    attempt.cancel()
  })

  it('takes the address by hand when the browser is elsewhere', async () => {
    const place = await oauthPlace()
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    expect(await attempt.take(` ${place.approve(attempt.url)}\n`)).toMatchObject({ accessToken: 'access-1' })
  })

  it('goes on waiting when something comes that belongs to another attempt', async () => {
    const place = await oauthPlace()
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    const foreign = place.approve(attempt.url, redirect => redirect.searchParams.set('state', 'guess'))
    const page = await visit(foreign)
    expect([page.status, await page.text()]).toEqual([400, expect.stringContaining('belongs to another attempt')])
    await expect(attempt.take(foreign)).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
    await expect(attempt.take('https://evil.example/callback?code=1')).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
    expect(place.tokenRequests).toEqual([])
    await visit(place.approve(attempt.url))
    expect(await attempt.ended).toMatchObject({ accessToken: 'access-1' })
  })

  it('takes what comes back once, so that a replay gets nothing', async () => {
    const place = await oauthPlace()
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    const redirect = place.approve(attempt.url)
    await attempt.take(redirect)
    await expect(attempt.take(redirect)).rejects.toMatchObject({ message: expect.stringContaining('over') })
    expect(place.tokenRequests).toHaveLength(1)
  })

  it('fails when the code is refused, and sends it no second time', async () => {
    const place = await oauthPlace({
      onToken: ({ json }) => (json(400, { error: 'invalid_grant', error_description: 'code-1 was used' }), true),
    })
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    const error: Error = await attempt.take(place.approve(attempt.url)).catch(reason => reason)
    expect(error).toMatchObject({ code: 'LOGIN_FAILED', message: expect.stringContaining('"invalid_grant"') })
    expect(error.message).not.toContain('code-1')
    expect(place.tokenRequests).toHaveLength(1)
  })

  it.each([
    ['another one than was asked', { iss: 'https://evil.example' }],
    ['none, where one was promised', {}],
  ])('fails before the code is used when the issuer of the answer is %s', async (_, given) => {
    const place = await oauthPlace({ metadata: { authorization_response_iss_parameter_supported: true } })
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    const redirect = place.approve(attempt.url, url => {
      for (const [name, value] of Object.entries(given)) url.searchParams.set(name, value)
      url.searchParams.set('error', 'access_denied')
    })
    const error: Error = await attempt.take(redirect).catch(reason => reason)
    expect(error).toMatchObject({ code: 'LOGIN_FAILED', message: expect.stringContaining('another issuer') })
    expect(error.message).not.toContain('evil')
    expect(place.tokenRequests).toEqual([])
  })

  it('believes no refusal of another issuer than was asked', async () => {
    const place = await oauthPlace()
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    const redirect = place.approve(attempt.url, ({ searchParams }) => {
      searchParams.delete('code')
      searchParams.set('error', 'access_denied')
      searchParams.set('iss', 'https://evil.example')
    })
    await expect(attempt.take(redirect)).rejects.toMatchObject({ message: expect.stringContaining('another issuer') })
  })

  it.each(['https://evil.example', 'https://evil.example/', '', '/'])(
    'fails when metadata claims to be of another issuer, and names both: "%s"',
    async issuer => {
      const place = await oauthPlace({ metadata: { issuer } })
      const { origin } = place.endpoint
      await expect(authFixture().auth.begin(OWNER, place.upstream)).rejects.toMatchObject({
        code: 'LOGIN_FAILED',
        message: expect.stringContaining(
          `names "${origin}" as its issuer, and the metadata there is of another issuer, "${issuer}"`,
        ),
      })
      expect(place.registered).toEqual([])
    },
  )

  it('takes a slash at the end for no other issuer', async () => {
    const metadata: Record<string, unknown> = {}
    const place = await oauthPlace({ metadata })
    metadata.issuer = `${place.endpoint.origin}/`
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    await expect(attempt.take(place.approve(attempt.url))).resolves.toBeDefined()
  })

  it.each([
    [{ code_challenge_methods_supported: ['plain'] }, 'its issuer takes no proof of the code by S256 (PKCE)'],
    [
      { code_challenge_methods_supported: undefined },
      'its issuer does not say that it takes a proof of the code (PKCE)',
    ],
    [{ response_types_supported: ['token'] }, 'its issuer gives no codes'],
  ])('says what an issuer lacks that signs nobody in as we do: %j', async (metadata, what) => {
    const place = await oauthPlace({ metadata })
    const begun = authFixture().auth.begin(OWNER, place.upstream)
    await expect(begun).rejects.toMatchObject({ code: 'LOGIN_FAILED', message: expect.stringContaining(what) })
    expect(place.registered).toEqual([])
  })

  it.each(['bearer', 'BEARER'])('takes a token of the type "%s"', async token_type => {
    const place = await oauthPlace({ tokens: { token_type } })
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    await expect(attempt.take(place.approve(attempt.url))).resolves.toBeDefined()
  })

  it('takes no token that is sent otherwise than as a bearer token', async () => {
    const place = await oauthPlace({ tokens: { token_type: 'mac' } })
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    await expect(attempt.take(place.approve(attempt.url))).rejects.toMatchObject({
      code: 'LOGIN_FAILED',
      message: expect.stringContaining('its issuer gives no bearer tokens'),
    })
  })

  it('says so when a server does not seem to want any', async () => {
    const { url } = await httpEndpoint(({ json }) => json(404, {}))
    const upstream = { ...(await oauthPlace()).upstream, url }
    await expect(authFixture().auth.begin(OWNER, upstream)).rejects.toMatchObject({
      code: 'LOGIN_FAILED',
      message: expect.stringContaining('may not require a login at all'),
    })
  })

  it('fails when a server wants a token that is for another one', async () => {
    const place = await oauthPlace({ resource: { resource: 'https://bank.example/mcp' } })
    await expect(authFixture().auth.begin(OWNER, place.upstream)).rejects.toMatchObject({
      message: expect.stringContaining('for another server'),
    })
  })

  it('says so when the person said no', async () => {
    const place = await oauthPlace()
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    const redirect = place.approve(attempt.url, ({ searchParams }) => {
      searchParams.delete('code')
      searchParams.set('error', 'access_denied')
    })
    await expect(attempt.take(redirect)).rejects.toMatchObject({ message: expect.stringContaining('"access_denied"') })
    await expect(attempt.ended).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
  })

  it('waits for ten minutes and then for nobody', async () => {
    const place = await oauthPlace()
    const { auth, clock } = authFixture()
    const attempt = await auth.begin(OWNER, place.upstream)
    const redirect = place.approve(attempt.url)
    await clock.advance(600_000)
    await expect(attempt.ended).rejects.toMatchObject({
      code: 'LOGIN_FAILED',
      message: expect.stringContaining('10 minutes'),
    })
    await expect(visit(redirect)).rejects.toThrow()
  })

  it.each(['given up', 'too late'])('keeps nothing once it was %s, though the issuer answers then', async why => {
    const asked = deferred<Visit>()
    const place = await oauthPlace({ onToken: visit => (asked.resolve(visit), true) })
    const { auth, clock, storage } = authFixture()
    const attempt = await auth.begin(OWNER, place.upstream)
    await clock.advance(590_000)
    const page = visit(place.approve(attempt.url))
    const { json, response } = await asked.promise
    if (why === 'given up') attempt.cancel()
    else await clock.advance(10_000)
    await expect(attempt.ended).rejects.toMatchObject({ code: why === 'given up' ? 'CANCELLED' : 'LOGIN_FAILED' })
    expect((await page).status).toBe(400)
    const later = await oauthPlace()
    const next = await auth.begin(OWNER, { ...place.upstream, url: later.upstream.url })
    await next.take(later.approve(next.url))
    json(200, { access_token: 'of somebody else', token_type: 'Bearer' })
    await new Promise(done => response.once('close', done))
    // What was answered before this was asked has been read when it is answered.
    await visit(later.endpoint.origin)
    expect(await storage.store.count('secrets')).toBe(1)
    expect(await auth.for(OWNER, later.upstream).token()).toBe('access-1')
  })

  it('is not given up any more once it is being kept: whoever is told so would have signed in all the same', async () => {
    const place = await oauthPlace()
    const { auth, storage } = authFixture()
    const attempt = await auth.begin(OWNER, place.upstream)
    const { commit } = storage.store
    storage.store.commit = (...args) => (attempt.cancel(), commit(...args))
    await expect(attempt.take(place.approve(attempt.url))).resolves.toMatchObject({ accessToken: 'access-1' })
    expect(await auth.for(OWNER, place.upstream).token()).toBe('access-1')
  })

  it('tells nobody the name and the password in the address of a server that is its own issuer', async () => {
    for (const metadata of [undefined, {}]) {
      const place = await oauthPlace({ hasNoResourceMetadata: true, metadata })
      const url = place.upstream.url.replace('http://', 'http://ada:pass-9@')
      const attempt = await authFixture().auth.begin({ ...OWNER, agent: 'ada' }, { ...place.upstream, url })
      expect(attempt.url).not.toContain('pass-9')
      const login = await attempt.take(place.approve(attempt.url))
      expect(new URL(login.issuer).href).toBe(`${place.endpoint.origin}/`)
      expect(JSON.stringify({ ...login, url: '' })).not.toContain('pass-9')
      expect(login.url).toBe(url)
    }
  })

  it('asks nobody at the usual addresses where the metadata of the issuer is said to be elsewhere', async () => {
    const elsewhere = await httpEndpoint(({ json }) => json(200, {}))
    const location = `${elsewhere.origin}/metadata?key=secret-9`
    const place = await oauthPlace({ onMetadata: ({ json }) => (json(302, undefined, { location }), true) })
    const error: Error = await authFixture()
      .auth.begin(OWNER, place.upstream)
      .catch(reason => reason)
    expect(error).toMatchObject({
      code: 'LOGIN_FAILED',
      message: expect.stringContaining(`sends us on to ${new URL(location).host}, which is not followed`),
    })
    expect(error.message).not.toContain('secret-9')
    expect([elsewhere.visits, place.registered]).toEqual([[], []])
  })

  it('takes metadata that is there, though an address before it leads elsewhere', async () => {
    const place = await oauthPlace({
      onMetadata({ path, json }) {
        const isFirst = path.endsWith('oauth-authorization-server')
        if (isFirst) json(302, undefined, { location: 'https://elsewhere.example/' })
        return isFirst
      },
    })
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    expect(new URL(attempt.url).pathname).toBe('/authorize')
    expect(place.endpoint.visits.map(({ path }) => path)).toContain('/.well-known/openid-configuration')
    attempt.cancel()
  })

  it('listens to this machine under its own name only', async () => {
    const place = await oauthPlace()
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    const redirect = new URL(place.approve(attempt.url))
    const { port } = redirect
    expect((await visit(`http://localhost:${port}${redirect.pathname}${redirect.search}`)).status).toBe(404)
    expect((await visit(redirect.href, { method: 'POST' })).status).toBe(404)
    expect(place.tokenRequests).toEqual([])
    attempt.cancel()
  })

  it.each([
    'http://127.0.0.2:1/meta',
    'https://169.254.169.254/meta',
    'https://[::ffff:10.0.0.1]/meta',
    'https://192.168.1.1/',
  ])('does not ask %s, which nobody named', async url => {
    const place = await oauthPlace({ challenge: `Bearer resource_metadata="${url}"` })
    await expect(authFixture().auth.begin(OWNER, place.upstream)).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
  })

  it('does not ask a name that leads inside, whatever it led to before', async () => {
    const place = await oauthPlace({ resource: { authorization_servers: ['https://sso.example'] } })
    const { auth } = authFixture({
      resolve: async () => [
        { address: '93.184.216.34', family: 4 },
        { address: '10.0.0.7', family: 4 },
      ],
    })
    await expect(auth.begin(OWNER, place.upstream)).rejects.toMatchObject({
      code: 'LOGIN_FAILED',
      message: expect.stringContaining('oauth.hosts'),
    })
  })

  it.each(['javascript:alert(1)', 'file:///etc/passwd', 'http://elsewhere.example/authorize'])(
    'never sends a browser to %s',
    async authorization_endpoint => {
      const place = await oauthPlace({ metadata: { authorization_endpoint } })
      await expect(authFixture().auth.begin(OWNER, place.upstream)).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
    },
  )

  it('says so when the issuer that a server names has no address on the web', async () => {
    const place = await oauthPlace({ resource: { authorization_servers: ['file:///etc/passwd'] } })
    await expect(authFixture().auth.begin(OWNER, place.upstream)).rejects.toMatchObject({
      code: 'LOGIN_FAILED',
      message: expect.stringContaining('the issuer that it names has no address on the web.'),
    })
  })

  it('sends a code nowhere that a redirect points to', async () => {
    const elsewhere = await httpEndpoint(({ json }) => json(200, {}))
    const place = await oauthPlace({
      onToken: ({ json }) => (json(307, undefined, { location: `${elsewhere.origin}/token` }), true),
    })
    const attempt = await authFixture().auth.begin(OWNER, place.upstream)
    await expect(attempt.take(place.approve(attempt.url))).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
    expect(elsewhere.visits).toEqual([])
  })
})
