import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import { type OAuthPlace, oauthPlace } from '../src/adapters/mcp-upstream/testing/oauth-desk.ts'
import { makeProject, quartermaster, startProcess, startUp } from './support/product.ts'

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

/** Calls as a client of the gateway does, with more headers than it needs. */
async function call(url: string, token: string): Promise<string> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'tracker_count',
      'x-private': 'of the front',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'tracker_count', arguments: {}, _meta },
    }),
  })
  return answer.text()
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
  expect(await call(up.url, token)).toContain('3 issues')

  const sent = place.endpoint.visits.map(({ headers, text }) => JSON.stringify(headers) + text).join('\n')
  expect(sent).toContain('Bearer access-1')
  expect(sent).not.toContain(token)
  expect(sent).not.toContain('of the front')

  await up.stop()
  expect(up.stderr() + login.stdout).not.toMatch(/access-\d|refresh-\d|code-\d|state_/)
  const again = await startUp(cwd)
  await reaches(cwd, 'up')
  expect(await call(again.url, token)).toContain('3 issues')
  expect(place.tokenRequests).toHaveLength(1)

  const out = await quartermaster(['logout', 'tracker', '--json'], { cwd })
  expect(out.json()).toEqual({ wasSignedIn: true })
  await reaches(cwd, 'needsLogin')
}, 60_000)

it('signs in with the first line of a pipe that stays open', async () => {
  const place = await oauthPlace({ serve: visit => answerLegacy(visit) })
  const cwd = await makeProject({
    'quartermaster.config.json': JSON.stringify({ mcpServers: { tracker: { url: place.upstream.url } } }),
  })
  const { code, stdout } = await signIn(place, cwd, '--paste')
  expect({ code, facts: JSON.parse(stdout) }).toMatchObject({ code: 0, facts: { upstream: 'tracker' } })
}, 60_000)

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
  const mend = 'Sign in: quartermaster login tracker'
  await reaches(cwd, 'needsLogin')
  expect(await shown()).toContain(`"tracker" lets nobody in who has not signed in.\n  └ ${mend}\n`)
  await signIn(place, cwd)
  await reaches(cwd, 'up')
  place.accept('nothing more')
  const { token } = (await quartermaster(['tokens', 'create', 'default', '--json'], { cwd })).json<{ token: string }>()
  const over = 'The login at "tracker" is over: its server does not take it any more.'
  expect(JSON.parse(await call(up.url, token)).result.content[0].text).toContain(`${over} ${mend}`)
  await reaches(cwd, 'needsLogin')
  expect(await shown()).toContain(`${over}\n  └ ${mend}\n`)
  const { stdout } = await quartermaster(['doctor'], { cwd })
  expect(stdout).toContain(`Upstream "tracker" needs a login: ${over}\n  Mend: ${mend}\n`)
}, 60_000)

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
}, 60_000)
