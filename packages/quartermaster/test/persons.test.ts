import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { type ApprovalFacts, CONTROL, type GrantFacts } from '../src/contracts/index.ts'
import { quartermaster } from './support/product.ts'
import { openFixture, type UpstreamFixture } from './support/upstream-fixture.ts'

/** An `up` whose agent may write files when a person allows it. */
function fixture(): Promise<UpstreamFixture> {
  const agents = { default: { capabilities: { files: { dirs: ['.'] } } } }
  return openFixture({ mcpServers: {}, agents, settings: { consentWaitSeconds: 0 } })
}

interface Refused {
  readonly status: number
  readonly body: { code?: string; detail?: string }
}

async function post({ up }: UpstreamFixture, path: string, token: string, input: object = {}): Promise<Refused> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' }
  const answer = await fetch(`${up.url}${path}`, { method: 'POST', headers, body: JSON.stringify(input) })
  return { status: answer.status, body: (await answer.json()) as Refused['body'] }
}

/** A call of the agent's that waits for a person; answers its id. */
async function waiting(at: UpstreamFixture, path: string): Promise<string> {
  const input = { path, content: 'one' }
  const call = { agent: 'default', tool: 'write_file', input, waits: true }
  return (await at.control<{ operationId: string }>('call', call)).operationId
}

it('lets persons answer what agents ask, and do nothing else; agents answer nothing', async () => {
  const at = await fixture()
  const { token: eve } = await at.control<{ token: string }>('createToken', { person: 'eve' })
  const agent = await at.tokenFor('default')
  const open: string[] = []
  const refusals = new Set<string>()
  for (const operation of [...Object.keys(CONTROL), 'call/answer']) {
    const path = `/api/v1/control/${operation}`
    expect(await post(at, path, agent)).toMatchObject({
      status: 401,
      body: { code: 'TOKEN_INVALID', detail: expect.stringContaining('tokens create --person') },
    })
    const { status, body } = await post(at, path, eve)
    if (status !== 403) open.push(operation)
    else refusals.add(`${body.code}: ${body.detail?.replace(/^"\w+"|^This/, 'It')}`)
  }
  expect([...refusals]).toEqual([
    expect.stringMatching(/^REQUEST_REFUSED: It is for the owner of the data folder\. .* Ask the owner\.$/),
  ])
  expect(open).toEqual(['approvals', 'approval', 'answerApproval', 'grants', 'revokeGrants', 'events'])
  const front = await post(at, '/mcp', eve, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
  expect(front).toMatchObject({ status: 401 })
  expect(JSON.stringify(front.body)).toContain('token of a person opens nothing here')
  const rest = await fetch(`${at.up.url}/api/v1/capabilities`, { headers: { authorization: `Bearer ${eve}` } })
  expect(rest.status).toBe(401)
  for (const name of ['owner', 'e\u200bve', '', 'a'.repeat(65)])
    expect(await at.control('createToken', { person: name })).toMatchObject({ code: 'INPUT_INVALID' })
  expect(await at.control('createToken', { person: 'eve', agent: 'default' })).toMatchObject({ code: 'INPUT_INVALID' })
})

it('records whose word it was, and stops hearing a token that was taken back', async () => {
  const at = await fixture()
  const made = await at.run('tokens', 'create', '--person', 'eve', '--label', 'phone', '--json')
  const { token, id: tokenId } = made.json<{ token: string; id: string }>()
  const env = { QUARTERMASTER_TOKEN: token, QUARTERMASTER_URL: at.up.url }
  // Somewhere where there is no data folder.
  const asEve = (...args: string[]) => quartermaster(args, { cwd: tmpdir(), env })

  const id = await waiting(at, 'a.txt')
  const shown = (await asEve('approvals', 'show', id, '--json')).json<ApprovalFacts>()
  expect(shown.arguments).toEqual({ path: 'a.txt', content: 'one' })
  expect(await asEve('approvals', 'allow', id, '--always', '--yes')).toMatchObject({ code: 0 })
  expect((await at.run('approvals', 'show', id)).stdout).toContain('allowed by eve (person)')
  const audited = async () => JSON.stringify(await at.control('audit'))
  await expect.poll(audited).toContain('"by":"person eve"')
  const denied = await waiting(at, 'b.txt')
  const no = { id: denied, decision: 'deny', lasting: 'once' }
  expect(await post(at, '/api/v1/control/answerApproval', token, no)).toMatchObject({ status: 200 })
  expect(await at.control('approval', { id: denied })).toMatchObject({ answeredBy: 'eve', via: 'person' })

  const third = await waiting(at, 'c.txt')
  await at.control('revokeToken', { id: tokenId })
  // Also where the owner's own credential lies at hand.
  const late = await quartermaster(['approvals', 'allow', third, '--yes'], {
    cwd: at.dir,
    env: { QUARTERMASTER_TOKEN: token },
  })
  expect(late).toMatchObject({ code: 9, stdout: '', stderr: expect.stringContaining('nor a valid token of a person') })
  expect(await at.control('approval', { id: third })).toMatchObject({ state: 'open' })

  expect(await at.control<GrantFacts[]>('grants', { by: 'eve' })).toMatchObject([
    { scope: expect.stringMatching(/[\\/]a\.txt$/), via: 'person' },
  ])
  expect(await at.control('revokeGrants', { by: 'eve' })).toEqual({ count: 1 })
})

it('shows a person of another organisation nothing that is asked here, not even that it is', async () => {
  const at = await fixture()
  await at.control('createOrganisation', { name: 'acme' })
  // Of the same name as a person here.
  const { token: eve } = await at.control<{ token: string }>('createToken', { person: 'eve' })
  const { token } = await at.control<{ token: string }>('createToken', { person: 'eve', organisation: 'acme' })
  const id = await waiting(at, 'a.txt')
  const ask = (operation: string, input: object, who = token) => post(at, `/api/v1/control/${operation}`, who, input)
  expect(await ask('approvals', {}, eve)).toMatchObject({ status: 200, body: [{ id }] })
  expect(await ask('approvals', {})).toEqual({ status: 200, body: [] })
  const always = { decision: 'allow', lasting: 'always' }
  for (const [operation, more] of [
    ['approval', {}],
    ['answerApproval', always],
  ] as const) {
    const real = await ask(operation, { id, ...more })
    const guessed = await ask(operation, { id: 'op_nothing', ...more })
    expect(real).toMatchObject({ status: 404, body: { code: 'NAME_UNKNOWN' } })
    expect(JSON.stringify(real).replaceAll(id, 'op_nothing')).toBe(JSON.stringify(guessed))
  }
  const elsewhere = await Promise.all(['default', 'nowhere'].map(organisation => ask('approvals', { organisation })))
  expect(elsewhere[0]).toEqual(elsewhere[1])
  expect(elsewhere[0]).toMatchObject({ status: 404, body: { code: 'NAME_UNKNOWN' } })
  await ask('answerApproval', { id, ...always }, eve)
  expect(await ask('grants', { by: 'eve' })).toEqual({ status: 200, body: [] })
  expect(await ask('revokeGrants', { by: 'eve' })).toEqual({ status: 200, body: { count: 0 } })
  expect(await at.control<GrantFacts[]>('grants', { by: 'eve' })).toHaveLength(1)
})
