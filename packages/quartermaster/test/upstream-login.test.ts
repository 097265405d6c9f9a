import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import { type OAuthPlace, type OAuthQuirks, oauthPlace } from '../src/adapters/mcp-upstream/testing/oauth-fixture.ts'
import { makeProject, quartermaster, type RunningUp, startProcess, startUp } from './support/product.ts'
import { rawCall } from './support/raw-call.ts'

/** A person who types the command and says yes in the browser, or a program that pastes where that ended and stays. */
async function signIn(place: OAuthPlace, cwd: string, ...options: '--paste'[]) {
  const child = startProcess(['login', 'tracker', '--json', ...options], { cwd })
  let stdout = ''
  child.stdout?.on('data', data => (stdout += String(data)))
  const closed = new Promise<number | null>(resolve => child.once('close', resolve))
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    const url = /https?:\S+/.exec(line)?.[0]
    if (url === undefined) continue
    if (options.length > 0) child.stdin?.write(`${place.approve(url)}\n`)
    else await fetch(place.approve(url))
    break
  }
  return { code: await closed, stdout }
}

async function stateOf(cwd: string): Promise<string> {
  const answer = await quartermaster(['upstreams', '--json'], { cwd })
  return answer.json<{ state: string }[]>()[0]?.state ?? 'none'
}

async function reaches(cwd: string, state: string): Promise<void> {
  while ((await stateOf(cwd)) !== state);
}

/** Calls as a client of the gateway does, with more headers than it needs; answers what it is told. */
async function call(up: RunningUp, token: string): Promise<unknown> {
  const send = await rawCall({ up, tokenFor: async () => token }, { headers: { 'x-private': 'of the front' } })
  const { content } = (await send('tracker_count', {})) as { content: { text: string }[] }
  return content[0]?.text
}

/** An `up` with a server at which a person has signed in. */
async function signedIn(quirks: OAuthQuirks = {}) {
  const place = await oauthPlace({ serve: visit => answerLegacy(visit), ...quirks })
  const cwd = await makeProject({
    'quartermaster.config.json': JSON.stringify({ mcpServers: { tracker: { url: place.upstream.url } } }),
    'agents/default.json': JSON.stringify({ capabilities: { tracker: {} } }),
  })
  const up = await startUp(cwd)
  await reaches(cwd, 'needsLogin')
  expect((await signIn(place, cwd)).code).toBe(0)
  await reaches(cwd, 'up')
  return { place, cwd, up }
}

async function filesUnder(dir: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return new Map(await Promise.all(paths.map(async path => [path, await readFile(path)] as const)))
}

/** A listener on this machine that counts connections. */
async function doorstep() {
  let knocks = 0
  const server = createServer(socket => {
    knocks++
    socket.destroy()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  return { port, knocks: () => knocks, knock: (host: string) => once(connect({ host, port }).resume(), 'close') }
}

it('signs in at an upstream, calls it with its own token and never with ours, and stays signed in over a restart', async () => {
  const place = await oauthPlace({ serve: visit => answerLegacy(visit) })
  const cwd = await makeProject({
    'quartermaster.config.json': JSON.stringify({ mcpServers: { tracker: { url: place.upstream.url } } }),
    'agents/default.json': JSON.stringify({ capabilities: { tracker: {} } }),
  })
  const up = await startUp(cwd)
  await reaches(cwd, 'needsLogin')

  const login = await signIn(place, cwd)
  expect(login.code).toBe(0)
  expect(JSON.parse(login.stdout)).toMatchObject({
    upstream: 'tracker',
    issuer: place.endpoint.origin,
    renewable: true,
  })
  await reaches(cwd, 'up')
  const { token } = (await quartermaster(['tokens', 'create', 'default', '--json'], { cwd })).json<{ token: string }>()
  expect(await call(up, token)).toContain('3 issues')

  const sent = place.endpoint.visits.map(({ headers, text }) => JSON.stringify(headers) + text).join('\n')
  expect(sent).toContain('Bearer access-1')
  expect(sent).not.toContain(token)
  expect(sent).not.toContain('of the front')

  await up.stop()
  expect(up.stderr() + login.stdout).not.toMatch(/access-\d|refresh-\d|code-\d|state_/)
  const again = await startUp(cwd)
  await reaches(cwd, 'up')
  expect(await call(again, token)).toContain('3 issues')
  expect(place.tokenRequests).toHaveLength(1)

  const out = await quartermaster(['logout', 'tracker', '--json'], { cwd })
  expect(out.json()).toEqual({ wasSignedIn: true })
  await reaches(cwd, 'needsLogin')
})

it('renews a token that its server takes no more, and the call that met that succeeds', async () => {
  const { place, cwd, up } = await signedIn()
  const { token } = (await quartermaster(['tokens', 'create', 'default', '--json'], { cwd })).json<{ token: string }>()
  place.accept('nothing that was given out')
  expect(await call(up, token)).toContain('3 issues')
  expect(place.tokenRequests.map(form => form.get('grant_type'))).toEqual(['authorization_code', 'refresh_token'])
  const calls = place.endpoint.visits.filter(({ body }) => body.method === 'tools/call')
  expect(calls.map(({ headers }) => headers.authorization)).toEqual(['Bearer access-1', 'Bearer access-2'])

  await up.stop()
  const again = await startUp(cwd)
  await reaches(cwd, 'up')
  expect(await call(again, token)).toContain('3 issues')
  expect(place.tokenRequests).toHaveLength(2)
})

it('keeps no token of a login in clear in any file, neither while up runs nor after it', async () => {
  const tokens = { access_token: 'plain-access-of-a-test', refresh_token: 'plain-refresh-of-a-test' }
  const { cwd, up } = await signedIn({ tokens, takes: token => token === tokens.access_token })
  const whileUp = await filesUnder(join(cwd, '.quartermaster'))
  expect([...whileUp.keys()]).toContainEqual(expect.stringMatching(/-wal$/))
  await up.stop()
  for (const files of [whileUp, await filesUnder(join(cwd, '.quartermaster'))]) {
    const holding = (text: string) => [...files].filter(([, bytes]) => bytes.includes(text)).map(([name]) => name)
    expect(holding('A login at http://127.0.0.1')).toContainEqual(expect.stringContaining('.db'))
    expect(Object.values(tokens).flatMap(holding)).toEqual([])
  }
})

it('signs in with the first line of a pipe that stays open', async () => {
  const place = await oauthPlace({ serve: visit => answerLegacy(visit) })
  const cwd = await makeProject({
    'quartermaster.config.json': JSON.stringify({ mcpServers: { tracker: { url: place.upstream.url } } }),
  })
  const { code, stdout } = await signIn(place, cwd, '--paste')
  expect({ code, facts: JSON.parse(stdout) }).toMatchObject({ code: 0, facts: { upstream: 'tracker' } })
})

it('tells a login that is over from one that was never there, wherever that is shown', async () => {
  const place = await oauthPlace({
    serve: visit => answerLegacy(visit),
    onToken(visit) {
      const isRenewal = visit.text.includes('grant_type=refresh_token')
      if (isRenewal) visit.json(400, { error: 'invalid_grant' })
      return isRenewal
    },
  })
  const cwd = await makeProject({
    'quartermaster.config.json': JSON.stringify({ mcpServers: { tracker: { url: place.upstream.url } } }),
    'agents/default.json': JSON.stringify({ capabilities: { tracker: {} } }),
  })
  const up = await startUp(cwd)
  const shown = async () => (await quartermaster(['upstreams'], { cwd })).stdout
  const fix = 'Sign in: quartermaster login tracker'
  await reaches(cwd, 'needsLogin')
  expect(await shown()).toContain(`"tracker" requires a login.\n  └ ${fix}\n`)
  await signIn(place, cwd)
  await reaches(cwd, 'up')
  place.accept('nothing more')
  const { token } = (await quartermaster(['tokens', 'create', 'default', '--json'], { cwd })).json<{ token: string }>()
  const over = 'The login at "tracker" is over: its server does not take it any more.'
  expect(await call(up, token)).toContain(`${over} ${fix}`)
  await reaches(cwd, 'needsLogin')
  expect(await shown()).toContain(`${over}\n  └ ${fix}\n`)
  const { stdout } = await quartermaster(['doctor'], { cwd })
  expect(stdout).toContain(`Upstream "tracker" needs a login: ${over}\n  Fix: ${fix}\n`)
})

it('signs in for no agent that there is not, and says which one may be meant', async () => {
  const place = await oauthPlace()
  const cwd = await makeProject({
    'quartermaster.config.json': JSON.stringify({ mcpServers: { tracker: { url: place.upstream.url } } }),
    'agents/researcher.json': JSON.stringify({ capabilities: { tracker: {} } }),
  })
  const { code, stderr } = await quartermaster(['login', 'tracker', '--agent', 'reseacher', '--no-browser'], { cwd })
  expect(code).toBe(4)
  expect(stderr).toContain('There is no agent "reseacher". Did you mean "researcher"?')
  expect(place.registered).toEqual([])
})

it('connects to no address inside for a login that the configuration does not name, wherever the server names it', async () => {
  const inside = await doorstep()
  // Leads to this machine, and is none of its names.
  const host = '0.0.0.0'
  const url = `https://${host}:${inside.port}`
  const places = {
    challenge: await oauthPlace({ challenge: `Bearer resource_metadata="${url}/meta"` }),
    issuer: await oauthPlace({ resource: { authorization_servers: [url] } }),
    registration: await oauthPlace({ metadata: { registration_endpoint: `${url}/register` } }),
    token: await oauthPlace({ metadata: { token_endpoint: `${url}/token` } }),
  }
  const servers = Object.entries(places).map(([name, { upstream }]) => [name, { url: upstream.url }])
  const cwd = await makeProject({
    'quartermaster.config.json': JSON.stringify({ mcpServers: Object.fromEntries(servers) }),
  })
  for (const name of Object.keys(places)) {
    const { code, stderr } = await quartermaster(['login', name, '--no-browser'], { cwd })
    expect({ code, stderr }).toEqual({ code: 8, stderr: expect.stringContaining('leads to an address inside') })
  }
  // An earlier connection would have been counted before this one, which shows that the address was reachable.
  await inside.knock(host)
  expect(inside.knocks()).toBe(1)
})
