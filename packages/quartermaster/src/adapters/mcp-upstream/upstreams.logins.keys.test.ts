import { describe, expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import type { Visit } from './testing/http-endpoint.ts'
import { answerLegacy } from './testing/legacy-answers.ts'
import { oauthPlace } from './testing/oauth-fixture.ts'
import { SIGNAL, stage } from './testing/upstreams-fixture.ts'

const ADAS_KEY = { agents: { ada: { headers: { Authorization: 'Bearer key-of-ada' } } } }
const KEY_OF_ALL = { headers: { Authorization: 'Bearer key-of-all' } }

const whoIn = ({ headers }: Visit) => String(headers.authorization).replace('Bearer ', '')

interface Situation {
  /** In the entry beside its address. */
  readonly entry?: object
  /** Who is let in, beside those who show a key. */
  takes?(token: string): boolean
  readonly expiresIn?: number
}

/** A server whose tool says by which key or token it was called, and an issuer that can be told how to renew nothing more. */
async function namingServer({ entry = {}, takes = () => true, expiresIn = 3600 }: Situation = {}) {
  let refusal: readonly [status: number, answer: object] | undefined
  const place = await oauthPlace({
    tokens: { expires_in: expiresIn },
    takes: token => token.startsWith('key-') || takes(token),
    onToken(visit) {
      const said = visit.text.includes('grant_type=refresh_token') ? refusal : undefined
      if (said) visit.json(...said)
      return said !== undefined
    },
    serve: visit => answerLegacy(visit, { 'tools/call': () => ({ content: [{ type: 'text', text: whoIn(visit) }] }) }),
  })
  const desk = await stage()
  const configure = (more: object) =>
    desk.configure({
      desk: UpstreamConfig.parse({ url: place.upstream.url, era: 'legacy', newTools: 'offer', ...more }),
    })
  const owner = (agent?: string) => ({ upstream: 'desk', agent })
  const signIn = async (agent?: string) => {
    const attempt = await desk.auth.begin(owner(agent), place.upstream)
    await attempt.take(place.approve(attempt.url))
    await desk.upstreams.loginChanged(owner(agent))
  }
  const calledBy = async (agent: string) => {
    const [tool] = (await desk.units())[0]?.definitions.capabilities?.[0]?.tools ?? []
    const context = { caller: { name: agent }, client: 'one', signal: SIGNAL, canAnswer: () => false, progress() {} }
    const answer = await tool?.handler({} as never, context as never)
    return (answer as { content: { text: string }[] } | undefined)?.content[0]?.text
  }
  const shown = () => place.endpoint.visits.filter(({ body }) => body.method === 'tools/list').map(whoIn)
  await configure(entry)
  const renewWith = (answer: typeof refusal) => void (refusal = answer)
  const revoke = () => renewWith([400, { error: 'invalid_grant' }])
  return { ...desk, place, configure, signIn, calledBy, shown, revoke, renewWith }
}

describe('an agent with a key of its own', () => {
  it('is known by that alone, whoever has signed in for all', async () => {
    const { signIn, isUp, calledBy } = await namingServer({ entry: ADAS_KEY })
    await signIn()
    await isUp('desk')
    expect([await calledBy('ada'), await calledBy('bob')]).toEqual(['key-of-ada', 'access-1'])
  })

  it('is known by that in the place of the one of all, and told of that alone, however often that is written', async () => {
    const keyOf = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
    const agents = { ada: keyOf('key-of-ada'), cy: keyOf('wrong') }
    const headers = { ...keyOf('key-of-all').headers, ...KEY_OF_ALL.headers }
    const { isUp, calledBy } = await namingServer({ entry: { headers, agents }, takes: () => false })
    await isUp('desk')
    expect([await calledBy('ada'), await calledBy('bob')]).toEqual(['key-of-ada', 'key-of-all'])
    await expect(calledBy('cy')).rejects.toMatchObject({
      message: expect.stringContaining('Change "agents.cy.headers.authorization" in its entry'),
    })
  })

  it('is told to change that key once it is not taken, and not to sign in', async () => {
    const wrong = { agents: { ada: { headers: { Authorization: 'Bearer wrong' } } } }
    const { signIn, isUp, calledBy } = await namingServer({ entry: wrong, takes: token => token === 'access-1' })
    await signIn()
    await isUp('desk')
    await expect(calledBy('ada')).rejects.toMatchObject({
      message: expect.stringContaining('Change "agents.ada.headers.Authorization" in its entry'),
    })
  })
})

describe('keys whose names are written in capitals here and not there', () => {
  it('are one: that of the agent goes, and is the one to change', async () => {
    const entry = {
      headers: { Authorization: 'Bearer access-1' },
      agents: { ada: { headers: { authorization: 'Bearer wrong' } } },
    }
    const { isUp, calledBy } = await namingServer({ entry, takes: token => token === 'access-1' })
    await isUp('desk')
    await expect(calledBy('ada')).rejects.toMatchObject({
      message: expect.stringContaining('Change "agents.ada.headers.authorization" in its entry'),
    })
    expect(await calledBy('bob')).toBe('access-1')
  })
})

describe('a key of all in the entry', () => {
  it('goes before the login of all, and the login of an agent before that key', async () => {
    const { signIn, isUp, calledBy } = await namingServer({ entry: KEY_OF_ALL })
    await signIn()
    await signIn('ada')
    await isUp('desk')
    expect([await calledBy('ada'), await calledBy('bob')]).toEqual(['access-2', 'key-of-all'])
  })

  it('is used in the place of a login from the moment that it stands there', async () => {
    const { signIn, isUp, calledBy, configure } = await namingServer()
    await signIn()
    await isUp('desk')
    expect(await calledBy('bob')).toBe('access-1')
    await configure(KEY_OF_ALL)
    await isUp('desk')
    expect(await calledBy('bob')).toBe('key-of-all')
  })
})

describe('a login that is over and that nobody renews any more', () => {
  it('is not exchanged for the key of all: its agent is told to sign in, and others are not troubled', async () => {
    const takes = () => false
    const { signIn, isUp, calledBy, revoke } = await namingServer({ entry: KEY_OF_ALL, takes, expiresIn: 0 })
    await signIn('ada')
    await isUp('desk')
    revoke()
    await expect(calledBy('ada')).rejects.toMatchObject({
      message: expect.stringContaining('Sign in: quartermaster login desk --agent ada'),
    })
    expect(await calledBy('bob')).toBe('key-of-all')
  })

  it('is not exchanged for none where the server takes whoever comes: somebody has to sign in', async () => {
    const { signIn, isUp, status, shown, revoke } = await namingServer({ takes: token => token === '', expiresIn: 0 })
    await isUp('desk')
    const before = shown().length
    revoke()
    await signIn()
    await expect.poll(() => status('desk')?.state).toBe('needsLogin')
    expect(shown().slice(before)).toEqual([])
  })
})

describe('a login of all that nobody can renew for now', () => {
  it('takes the server from no agent with credentials of its own, and is tried again', async () => {
    const taken = new Set(['access-2'])
    const { signIn, isUp, calledBy, renewWith } = await namingServer({ takes: token => taken.has(token) })
    renewWith([503, {}])
    await signIn()
    await signIn('ada')
    await isUp('desk')
    expect(await calledBy('ada')).toBe('access-2')
    await expect(calledBy('bob')).rejects.toMatchObject({ message: expect.stringContaining('could not be renewed') })
    renewWith(undefined)
    taken.add('access-1')
    await expect.poll(() => calledBy('bob').catch(() => 'not yet')).toBe('access-1')
    expect(await calledBy('ada')).toBe('access-2')
  })

  it('is no reason to ask a person for anything where the login of an agent is over for good', async () => {
    const { signIn, status, revoke, renewWith } = await namingServer({ takes: () => false })
    revoke()
    await signIn('ada')
    await expect.poll(() => status('desk')?.state).toBe('needsLogin')
    renewWith([503, {}])
    await signIn()
    await expect.poll(() => status('desk')?.lastError?.message).toMatch(/could not be renewed/)
    expect(status('desk')?.state).not.toBe('needsLogin')
  })
})

describe('a server that lets nobody in, whatever is shown', () => {
  const login = 'Sign in: quartermaster login desk'
  const ofAda = `${login} --agent ada`
  const key = { headers: { Authorization: 'Bearer no' } }
  it.each([
    ['the login of all, where there is one', { isForAll: true, entry: {} }, 'needsLogin', login],
    [
      'the key of all, where there is one',
      { isForAll: false, entry: key },
      'keyRefused',
      '"headers.Authorization" in its entry',
    ],
    ['the login of an agent otherwise', { isForAll: false, entry: {} }, 'needsLogin', ofAda],
  ])('has everybody told of %s', async (_, { isForAll, entry }, state, told) => {
    const { signIn, status, place, revoke } = await namingServer({ entry, takes: () => false })
    revoke()
    if (isForAll) await signIn()
    await signIn('ada')
    // The one that was issued last is hers.
    const hers = `access-${isForAll ? 2 : 1}`
    const isShown = () => place.endpoint.visits.some(visit => visit.path === '/mcp' && whoIn(visit) === hers)
    await expect.poll(() => [isShown(), status('desk')?.state]).toEqual([true, state])
    const message = status('desk')?.lastError?.message ?? ''
    expect([message.includes(told), message.includes(ofAda)]).toEqual([true, told === ofAda])
  })
})
