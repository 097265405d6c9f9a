import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { z } from 'zod'
import {
  API,
  type ApiOperation,
  type ApiRoute,
  AppError,
  DEFAULT_SETTINGS,
  ORGANISATION_ROUTES,
  type Settings,
} from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { ADMIN_TOKEN, startHttpServer } from '../../testing/http-server.ts'
import { openOrganisation } from '../../testing/organisation-fixture.ts'

interface Asked {
  readonly id?: string
  readonly query?: string
  readonly body?: unknown
  /** The owner's when absent; none when empty. */
  readonly token?: string
  readonly headers?: Record<string, string>
}

/** As much of an answer as these tests look at. */
interface Body {
  readonly id: string
  readonly token: string
  readonly code: string
  readonly facts: { readonly id: string }
}

interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
}

interface Document {
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: object
}

interface Operation {
  readonly operationId: string
  readonly responses: Record<string, Described>
}

interface Described {
  readonly description: string
  readonly content: Record<string, { readonly schema: object }>
}

async function open(settings: Partial<Settings> = {}) {
  const at = await openOrganisation({ settings })
  const { organisation, service, clock } = at
  const server = await startHttpServer({
    api: {
      service,
      clock,
      identify: organisation.identify,
      expectOrganisation: organisation.organisations.expect,
      settings: { ...DEFAULT_SETTINGS, ...settings },
    },
  })
  onTestFinished(() => server.close(0))
  const send = async (method: string, path: string, { token = ADMIN_TOKEN, body, ...more }: Asked = {}) => {
    const headers = {
      ...(token !== '' && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...more.headers,
    }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const answer = await fetch(`${server.url}/api/v1${path}`, init)
    const answered: Answered = {
      status: answer.status,
      headers: answer.headers,
      body: (await answer.json()) as Body,
    }
    return answered
  }
  const ask = (operation: ApiOperation, asked: Asked = {}) => {
    const { method, path } = API[operation]
    const target = path.replace(/\{\w+\}/, asked.id ?? '')
    return send(method, asked.query === undefined ? target : `${target}?${asked.query}`, asked)
  }
  /** A workspace with a token of its own. */
  const member = async (name: string, query?: string) => {
    const within = query === undefined ? {} : { query }
    const { id } = (await ask('createWorkspace', { body: { name }, ...within })).body
    const { token, facts } = (await ask('createToken', { id, body: {}, ...within })).body
    return { id, token, tokenId: facts.id }
  }
  const document = async () => (await send('GET', '/openapi.json', { token: '' })).body as unknown as Document
  return { ...at, ask, send, member, server, document }
}

describe('the API', () => {
  it('answers every operation of its table as the OpenAPI document says', async () => {
    const { ask, ...at } = await open()
    const document = await at.document()
    const seen = new Set<string>()
    const check = async (operation: ApiOperation, asked: Asked = {}) => {
      const answered = await ask(operation, asked)
      const route: ApiRoute = API[operation]
      expect([operation, answered.status, answered.body]).toEqual([
        operation,
        route.status ?? 200,
        (route.output as z.ZodType).parse(answered.body),
      ])
      expect([operation, objectionsTo(document, route, answered)]).toEqual([operation, []])
      seen.add(operation)
      return answered.body
    }
    await check('listOrganisations')
    await check('createOrganisation', { body: { name: 'acme', title: 'Acme' } })
    const { id } = await check('createWorkspace', { body: { name: 'ada', abilities: ['broadcast'] } })
    await check('listWorkspaces', { query: 'limit=1&status=active' })
    await check('showWorkspace', { id })
    await check('changeWorkspace', { id, body: { role: 'Leads.' } })
    await check('workspaceCard', { id })
    const wish = { label: 'laptop', ttlMs: 60_000, scopes: ['read'] }
    const { id: tokenId } = (await check('createToken', { id, body: wish })).facts
    await check('listTokens', { id })
    await check('rotateToken', { id: tokenId, body: {} })
    await check('revokeToken', { id: tokenId })
    await check('createPerson', { body: { name: 'eve' } })
    await check('createPersonToken', { id: 'eve', body: {} })
    await check('listPersons')
    await check('removePerson', { id: 'eve' })
    const { code, facts } = await check('createJoinCode', { body: { name: 'joiner' } })
    await check('listJoinCodes')
    const { token } = await check('join', { token: '', body: { code } })
    await check('revokeJoinCode', { id: facts.id })
    const skills = [{ id: 's', name: 'S', description: '', tags: ['t'] }]
    const card = { description: 'D.', version: '1', url: 'https://a.example', skills }
    await check('register', { token, body: { delivery: 'push', capacity: 2, card } })
    await check('heartbeat', { token })
    await check('me', { token })
    await check('peers', { token })
    await check('archiveWorkspace', { id })
    expect([...seen].toSorted()).toEqual(Object.keys(ORGANISATION_ROUTES).toSorted())
  })

  it('has every operation of the table in its document, and no other', async () => {
    const document = await (await open()).document()
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`),
    )
    expect(documented.toSorted()).toEqual(
      Object.entries(API)
        .map(([operation, { method, path }]) => `${operation} ${method} ${path}`)
        .toSorted(),
    )
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '1.2.3' }, servers: [{ url: '/api/v1' }] })
  })

  it('refuses methods that a path does not have, and says which it has', async () => {
    const { send } = await open()
    const answers = await Promise.all([send('PUT', '/workspaces'), send('POST', '/me'), send('POST', '/openapi.json')])
    expect(answers.map(({ status, headers }) => [status, headers.get('allow')])).toEqual([
      [405, 'GET, HEAD, POST'],
      [405, 'GET, HEAD'],
      [405, 'GET, HEAD'],
    ])
  })
})

describe('what is refused for how it was asked', () => {
  it('is described for every operation: another method, and a body that is no JSON', async () => {
    const { send, document: read, member, organisation } = await open()
    const document = await read()
    const { token: workspace } = await member('ada')
    const { token: person } = await organisation.persons.issueToAny('default', 'eve', {})
    const tokens = { owner: ADMIN_TOKEN, person, workspace, anyone: '' }
    const validate = problemsIn(document)
    for (const route of Object.values<ApiRoute>(API)) {
      const token = tokens[route.who[0] ?? 'owner']
      const path = route.path.replaceAll(/\{\w+\}/g, 'x')
      const check = (answered: Answered, status: number, code: string) => {
        const described = document.paths[route.path]?.[route.method.toLowerCase()]?.responses[status]
        expect([path, answered.status, answered.body['code']]).toEqual([path, status, code])
        expect([path, described?.description]).toEqual([path, expect.stringContaining(code)])
        expect([path, validate(answered.body)]).toEqual([path, true])
      }
      check(await send('PUT', path, { token }), 405, 'REQUEST_REFUSED')
      if (!route.body) continue
      const headers = { 'Content-Type': 'text/plain' }
      check(await send(route.method, path, { token, body: {}, headers }), 415, 'INPUT_INVALID')
    }
  })

  it.each(['STORE_BUSY', 'STORE_UNAVAILABLE', 'OUTCOME_UNKNOWN'] as const)(
    'is described where the store says %s',
    async code => {
      const { ask, storage, document } = await open()
      const { post } = (await document()).paths['/workspaces'] ?? {}
      storage.fault = () => ({ error: new AppError(code, 'The store is away.') })
      const { status, body } = await ask('createWorkspace', { body: { name: 'ada' } })
      expect(body).toMatchObject({ code })
      expect(post?.responses[status]?.description).toContain(code)
    },
  )
})

describe('whoever asks', () => {
  it('is let in by the table: each operation with every kind of token', async () => {
    const { ask, member, organisation } = await open()
    const { token: workspace } = await member('ada')
    const { token: person } = await organisation.persons.issueToAny('default', 'eve', {})
    const kinds = { owner: ADMIN_TOKEN, person, workspace, nobody: '', stranger: 'qm_nonsense' }
    const asked = Object.entries(API).flatMap(([operation, route]) =>
      Object.entries(kinds).map(([kind, token]) => ({ operation: operation as ApiOperation, kind, token, route })),
    )
    for (const { operation, kind, token, route } of asked) {
      const { status } = await ask(operation, { id: 'x', token, ...(route.method !== 'GET' && { body: ' ' }) })
      expect([operation, kind, doorOf(status)]).toEqual([operation, kind, expectedDoor(route, kind)])
    }
  })

  it('of another organisation gets what one gets who asks for what is not there', async () => {
    const { ask, member } = await open()
    const ada = await member('ada')
    await ask('createOrganisation', { body: { name: 'acme' } })
    const eve = await member('eve', 'organisation=acme')
    const same = async (operation: ApiOperation, id: string, asked: Asked) => {
      const [theirs, nothing] = [await ask(operation, { id, ...asked }), await ask(operation, { id: 'zz_1', ...asked })]
      expect([operation, theirs.status]).toEqual([operation, 404])
      expect(JSON.stringify(theirs.body).replaceAll(id, 'zz_1')).toBe(JSON.stringify(nothing.body))
    }
    const { token } = eve
    for (const operation of ['showWorkspace', 'workspaceCard', 'listTokens'] as const)
      await same(operation, ada.id, { token })
    await same('rotateToken', ada.tokenId, { token, body: {} })
    await same('revokeToken', ada.tokenId, { token })
    const query = 'organisation=acme'
    for (const operation of ['showWorkspace', 'archiveWorkspace', 'listTokens'] as const)
      await same(operation, ada.id, { query })
    await same('changeWorkspace', ada.id, { query, body: { role: 'x' } })
    const theirs = await ask('me', { token, query: 'organisation=default' })
    const nowhere = await ask('me', { token, query: 'organisation=nowhere' })
    expect([theirs.status, theirs.body]).toEqual([404, nowhere.body])
  })

  it('with a token that was taken back, ran out or belongs to something archived is nobody', async () => {
    const { ask, member, clock } = await open()
    const [ada, bob] = [await member('ada'), await member('bob')]
    const short = await ask('createToken', { id: ada.id, body: { ttlMs: 1_000 } })
    await ask('revokeToken', { id: ada.tokenId })
    await ask('archiveWorkspace', { id: bob.id })
    await clock.advance(1_000)
    const answers = await Promise.all(
      [ada.token, bob.token, short.body.token, 'qm_never'].map(token => ask('me', { token })),
    )
    const [first] = answers
    expect(first).toMatchObject({ status: 401, body: { code: 'TOKEN_INVALID' } })
    for (const { status, body } of answers) expect([status, body]).toEqual([401, first?.body])
  })
})

describe('what is sent', () => {
  it.each([
    ['an unknown field', { name: 'ada', colour: 'red' }, 'body has unknown fields: "colour"'],
    ['a bad name', { name: 'a b' }, 'body.name must be'],
    ['an ability that there is not', { name: 'ada', abilities: ['all'] }, 'body.abilities.0'],
    ['an ability twice', { name: 'ada', abilities: ['broadcast', 'broadcast'] }, 'must not name one twice'],
    ['a role that is too long', { name: 'ada', role: 'x'.repeat(201) }, 'body.role'],
  ])('is checked: %s', async (_, body, detail) => {
    const { ask } = await open()
    const answered = await ask('createWorkspace', { body })
    expect(answered).toMatchObject({
      status: 400,
      body: { code: 'INPUT_INVALID', detail: expect.stringContaining(detail) },
    })
  })

  it('is text that every database keeps, and ends at a time that one can', async () => {
    const { ask, member } = await open()
    const { id } = await member('ada')
    for (const text of ['a\0b', '\ud800']) {
      expect((await ask('createWorkspace', { body: { name: 'bob', role: text } })).status).toBe(400)
      expect((await ask('createToken', { id, body: { label: text } })).status).toBe(400)
    }
    expect((await ask('createToken', { id, body: { ttlMs: Number.MAX_SAFE_INTEGER } })).status).toBe(400)
  })

  it('is bounded, and says that it is JSON', async () => {
    const { ask, server } = await open()
    const large = await ask('createWorkspace', { body: { name: 'ada', description: 'x'.repeat(1_100_000) } })
    expect(large).toMatchObject({ status: 413, body: { code: 'LIMIT_EXCEEDED' } })
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'text/plain' }
    const plain = await fetch(`${server.url}/api/v1/workspaces`, { method: 'POST', headers, body: '{"name":"ada"}' })
    expect(plain.status).toBe(415)
    expect((await ask('listWorkspaces', { query: 'limit=0' })).status).toBe(400)
    expect((await ask('listWorkspaces', { query: 'colour=red' })).status).toBe(400)
  })
})

describe('how often somebody asks', () => {
  it('is limited for each token, which is told when to come back', async () => {
    const { ask, member, clock } = await open({ requestsPerMinute: 6 })
    const [ada, bob] = [await member('ada'), await member('bob')]
    for (let n = 0; n < 6; n++) expect((await ask('heartbeat', { token: ada.token })).status).toBe(200)
    const refused = await ask('heartbeat', { token: ada.token })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10'])
    expect(refused.body).toMatchObject({ code: 'RATE_LIMITED' })
    expect((await ask('heartbeat', { token: bob.token })).status).toBe(200)
    await clock.advance(10_000)
    expect((await ask('heartbeat', { token: ada.token })).status).toBe(200)
  })

  it('is limited for each token also in what it has under way', async () => {
    const { ask, member, storage } = await open({ requestsAtOnce: 1 })
    const [ada, bob] = [await member('ada'), await member('bob')]
    const [begun, held] = [deferred(), deferred()]
    storage.fault = async () => {
      begun.resolve()
      await held.promise
      return undefined
    }
    const first = ask('register', { token: ada.token, body: {} })
    await begun.promise
    expect((await ask('me', { token: ada.token })).status).toBe(429)
    expect((await ask('me', { token: bob.token })).status).toBe(200)
    held.resolve()
    expect((await first).status).toBe(200)
  })

  it('is limited also where the answer is no', async () => {
    const { ask, member } = await open({ requestsPerMinute: 3 })
    const { token } = await member('ada')
    const asked = [
      await ask('createPerson', { token, body: { name: 'eve' } }),
      await ask('me', { token, query: 'organisation=acme' }),
      await ask('listWorkspaces', { token }),
      await ask('listWorkspaces', { token }),
    ]
    expect(asked.map(({ status }) => status)).toEqual([403, 404, 403, 429])
  })

  it('takes no place from whoever went away before it had one', async () => {
    const { ask, member, store, server } = await open({ requestsAtOnce: 1 })
    const { token } = await member('ada')
    const [begun, held, left] = [deferred(), deferred(), new AbortController()]
    const { find } = store
    Object.assign(store, {
      async find(...given: Parameters<typeof find>) {
        begun.resolve()
        await held.promise
        return find(...given)
      },
    })
    const gone = fetch(`${server.url}/api/v1/me`, {
      headers: { Authorization: `Bearer ${token}` },
      signal: left.signal,
    })
    await begun.promise
    left.abort()
    await expect(gone).rejects.toThrow()
    // Another request is answered only after the server has heard of it.
    await fetch(`${server.url}/health`)
    held.resolve()
    await expect.poll(async () => (await ask('me', { token })).status).toBe(200)
  })

  it('is limited for each address that tries to join', async () => {
    const { ask } = await open({ joinAttemptsPerMinute: 3 })
    const attempt = () => ask('join', { token: '', body: { code: 'qmjoin_guess', name: 'eve' } })
    const statuses = [await attempt(), await attempt(), await attempt(), await attempt()].map(({ status }) => status)
    expect(statuses).toEqual([401, 401, 401, 429])
  })
})

/** Whether somebody was let in, whatever became of it then. */
function doorOf(status: number): string {
  if (status === 401) return 'unknown'
  return status === 403 ? 'refused' : 'let in'
}

function expectedDoor({ who }: ApiRoute, kind: string): string {
  if (who.some(one => one === 'anyone' || one === kind)) return 'let in'
  return kind === 'nobody' || kind === 'stranger' ? 'unknown' : 'refused'
}

const ajv = new Ajv2020({ strict: false })
// The package is CommonJS, and its types name the module where the function stands.
;(addFormats as unknown as (to: Ajv2020) => void)(ajv)

function problemsIn({ components }: Document): (body: unknown) => boolean {
  const validate = ajv.compile({ $ref: '#/components/schemas/Problem', components })
  return body => validate(body) as boolean
}

/** What the document has against an answer. */
function objectionsTo(document: Document, { method, path }: ApiRoute, { status, body }: Answered): unknown[] {
  const operation = document.paths[path]?.[method.toLowerCase()]
  const described = operation?.responses[status]?.content['application/json']
  if (!described) return ['not described']
  const validate = ajv.compile({ ...described.schema, components: document.components })
  return validate(body) ? [] : (validate.errors ?? [])
}
