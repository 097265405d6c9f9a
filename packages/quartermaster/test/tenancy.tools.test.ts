import type { CallToolResult, Client } from '@modelcontextprotocol/client'
import { beforeAll, describe, expect, it } from 'vitest'
import { A2A_REQUESTS, type A2aPlace, type A2aRequest } from './support/a2a-requests.ts'
import { quartermaster } from './support/product.ts'
import { guessesOf, launchTenants, SAME_KEY, type Tenants, without } from './support/tenants.ts'

/** Every tool that a workspace has, with what it is asked for where it names something. */
const TOOLS: Readonly<Record<string, (ids: Tenants['ids']) => object>> = {
  list_peers: () => ({}),
  get_workspace_info: () => ({}),
  delegate_task: ({ workspace }) => ({ workspace_id: workspace, task: 'something' }),
  delegate_task_async: ({ workspace }) => ({ workspace_id: workspace, task: 'something' }),
  check_task_status: ({ workspace, delegation }) => ({ workspace_id: workspace, task_id: delegation }),
  cancel_task: ({ delegation }) => ({ task_id: delegation }),
  inbox_peek: () => ({}),
  inbox_pop: ({ activity }) => ({ activity_id: activity }),
  wait_for_message: () => ({ timeout_secs: 1 }),
  reply: ({ activity }) => ({ activity_id: activity, message: 'hello' }),
  broadcast_message: () => ({ message: 'hello' }),
  read_attachment: ({ attachment }) => ({ attachment_id: attachment }),
  send_message_to_user: ({ workspace, attachment }) => ({
    message: 'hello',
    workspace_id: workspace,
    attachments: [attachment],
  }),
  commit_memory: ({ memory }) => ({ content: 'other', memory_id: memory }),
  recall_memory: () => ({ query: 'secret' }),
  forget_memory: ({ memory }) => ({ memory_id: memory }),
  chat_history: ({ workspace }) => ({ peer_id: workspace }),
}

let at: Tenants
beforeAll(async () => {
  at = await launchTenants()
  return () => at.close()
})

/** The outcome of a call, as its caller sees it. */
async function outcome(client: Client, name: string, args: object, more: object = {}): Promise<CallToolResult> {
  return (await client.callTool({ name, arguments: { ...args }, ...more })) as CallToolResult
}

/** As a text that is the same for the same answer: what is about the call itself is left out. */
function textOf({ content, structuredContent, isError }: CallToolResult, ids: Tenants['ids']): string {
  const text = JSON.stringify({ content, structuredContent, isError })
  return without(text, ids).replaceAll(/"?(op|ev|err)_[\w-]+"?/g, '…')
}

/** What was refused, and in which words. */
async function refusal(asked: Promise<unknown>, ids: Tenants['ids']): Promise<string> {
  return asked.then(
    found => `found ${JSON.stringify(found)}`,
    error => without(String(error), ids),
  )
}

const STRANGERS = ['workspace', 'twin', 'cousin'] as const

describe.each(['auto', 'legacy'] as const)('over MCP (%s)', era => {
  it.each(STRANGERS)('a workspace of any organisation has the tools of the platform: %s', async kind => {
    const { tools } = await (await at.connect(at.strangers[kind], era)).listTools()
    expect(tools.map(({ name }) => name).toSorted()).toEqual(Object.keys(TOOLS).toSorted())
  })

  it.each(STRANGERS)('the token of a %s gets for what is there what it gets for what is not', async kind => {
    const client = await at.connect(at.strangers[kind], era)
    const guesses = guessesOf(at.ids)
    for (const [name, argsFor] of Object.entries(TOOLS)) {
      const real = await outcome(client, name, argsFor(at.ids))
      const guessed = await outcome(client, name, argsFor(guesses))
      expect([name, textOf(real, at.ids)]).toEqual([name, textOf(guessed, guesses)])
      const text = JSON.stringify(real)
      const names = kind === 'twin' ? ['helper', 'lead'] : []
      const secrets = at.private.filter(secret => !names.includes(secret) && !Object.values(at.ids).includes(secret))
      expect([name, secrets.filter(secret => text.includes(secret))]).toEqual([name, []])
    }
  })

  it.each(STRANGERS)('the token of a %s reads no operation and no result of others', async kind => {
    const client = await at.connect(at.strangers[kind], era)
    const guesses = guessesOf(at.ids)
    for (const uri of [
      'quartermaster://operations/ID',
      'quartermaster://results/ID',
      'quartermaster://results/ID?offset=5',
    ]) {
      const read = (ids: Tenants['ids']) => refusal(client.readResource({ uri: uri.replace('ID', ids.operation) }), ids)
      const real = await read(at.ids)
      expect(real).toEqual(await read(guesses))
      expect(real).not.toMatch(/^found/)
    }
    const { contents } = await client.readResource({ uri: 'quartermaster://operations' })
    expect(JSON.stringify(contents)).not.toContain(at.ids.operation)
  })

  it('refuses a revoked token, and a person’s', async () => {
    for (const token of [at.revoked, at.strangers.person, 'qm_nonsense'])
      await expect(at.connect(token, era)).rejects.toThrow(/401|TOKEN_INVALID|valid token/)
  })
})

it('has no session that goes on with the token of another', async () => {
  const headers = (token: string, more: object = {}) => ({
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    connection: 'close',
    ...more,
  })
  const post = (token: string, body: object, more?: object) =>
    fetch(`${at.url}/mcp`, { method: 'POST', headers: headers(token, more), body: JSON.stringify(body) })
  const clientInfo = { name: 'test', version: '1' }
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  const opened = await post(at.tokens.helper, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
  const session = opened.headers.get('mcp-session-id')
  await opened.text()
  expect(session).toEqual(expect.any(String))
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }
  const answers = []
  for (const id of [session, 'session_guessed'])
    answers.push(await post(at.strangers.twin, list, { 'mcp-session-id': id }))
  expect(answers.map(({ status }) => status)).toEqual([404, 404])
  const [real, guessed] = await Promise.all(answers.map(answer => answer.text()))
  expect(real).toBe(guessed)
})

it('answers a twin’s task id of the first organisation like one that is not there', async () => {
  const version = '2026-07-28'
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  }
  const guesses = guessesOf(at.ids)
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
    const ask = async (ids: Tenants['ids']) => {
      const more = method === 'tasks/update' ? { inputResponses: {} } : {}
      const answer = await fetch(`${at.url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${at.strangers.twin}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': version,
          'mcp-method': method,
          'mcp-name': ids.operation,
          connection: 'close',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method,
          params: { taskId: ids.operation, ...more, _meta: meta },
        }),
      })
      return without(await answer.text(), ids)
    }
    const real = await ask(at.ids)
    expect(real).toContain('error')
    expect(real).toBe(await ask(guesses))
  }
})

describe('over A2A', () => {
  /** What is answered, and whether that is an answer or a refusal. */
  async function asked({ method, path, body }: A2aRequest, place: A2aPlace, token: string) {
    const headers = {
      authorization: `Bearer ${token}`,
      'a2a-version': '1.0',
      'content-type': 'application/json',
      connection: 'close',
    }
    const sent = body ? { body: JSON.stringify(body(place)) } : {}
    const answer = await fetch(`${at.url}/a2a/${place.workspace}${path(place)}`, { method, headers, ...sent })
    const text = await answer.text()
    const isRefused = !answer.ok || text.includes('"error"')
    return { status: answer.status, text, isRefused }
  }

  const placeOf = ({ workspace, delegation: task }: Tenants['ids']): A2aPlace => ({ workspace, task })

  it.each([...STRANGERS, 'person'] as const)(
    'a %s gets of an agent that is there what it gets of one that is not',
    async kind => {
      const guesses = guessesOf(at.ids)
      for (const request of A2A_REQUESTS) {
        const real = await asked(request, placeOf(at.ids), at.strangers[kind])
        const guessed = await asked(request, placeOf(guesses), at.strangers[kind])
        expect([request.name, real.isRefused, real.status, without(real.text, at.ids)]).toEqual([
          request.name,
          true,
          guessed.status,
          without(guessed.text, guesses),
        ])
      }
    },
  )

  it('a twin that asks the agent it reaches for a task of others finds none', async () => {
    const guesses = guessesOf(at.ids)
    for (const request of A2A_REQUESTS.filter(({ isOfTask }) => isOfTask)) {
      const real = await asked(request, { ...placeOf(at.ids), workspace: at.aboveTwin }, at.strangers.twin)
      const guessed = await asked(request, { ...placeOf(guesses), workspace: at.aboveTwin }, at.strangers.twin)
      expect([request.name, real.isRefused, without(real.text, at.ids)]).toEqual([
        request.name,
        true,
        without(guessed.text, guesses),
      ])
    }
  })

  it('an agent with a revoked token, or in an archived workspace, gets nothing', async () => {
    for (const token of [at.revoked, at.archived.token, 'qm_nonsense'])
      for (const request of A2A_REQUESTS) {
        const { status, text } = await asked(request, placeOf(at.ids), token)
        expect([request.name, status]).toEqual([request.name, 401])
        expect(at.private.filter(secret => text.includes(secret))).toEqual([])
      }
  })

  it('an archived agent is hidden from its siblings', async () => {
    const guesses = guessesOf({ ...at.ids, workspace: at.archived.id })
    for (const request of A2A_REQUESTS) {
      const real = await asked(request, { ...placeOf(at.ids), workspace: at.archived.id }, at.tokens.helper)
      const guessed = await asked(request, placeOf(guesses), at.tokens.helper)
      expect([request.name, real.isRefused, without(real.text, { ...at.ids, workspace: at.archived.id })]).toEqual([
        request.name,
        true,
        without(guessed.text, guesses),
      ])
    }
  })
})

it('takes the same idempotency key of two organisations for two calls', async () => {
  const twin = await at.connect(at.strangers.twin)
  const own = { content: 'what the twin knows' }
  const first = await outcome(twin, 'commit_memory', own, SAME_KEY)
  expect(first.structuredContent).toMatchObject({ outcome: 'created', memory: { content: own.content } })
  const again = await outcome(twin, 'commit_memory', own, SAME_KEY)
  expect(again.structuredContent).toEqual(first.structuredContent)
  const helper = await at.connect(at.tokens.helper)
  const theirs = await outcome(helper, 'commit_memory', { content: 'the secret of a call' }, SAME_KEY)
  expect(theirs.structuredContent).toMatchObject({ memory: { content: 'the secret of a call' } })
  expect(theirs._meta?.['quartermaster/operationId']).toBe(at.ids.operation)
})

it('lets two workspaces of another organisation work for each other, and share what the first never sees', async () => {
  const [lead, helper] = await Promise.all([at.connect(at.tokens.aboveTwin), at.connect(at.strangers.twin)])
  const peers = await outcome(lead, 'list_peers', {})
  const found = (peers.structuredContent as { peers: { name: string; workspace_id: string; relation: string }[] }).peers
  expect(found.map(({ name, relation }) => [name, relation])).toEqual([
    ['helper', 'child'],
    ['root', 'parent'],
  ])
  const task = { workspace_id: found[0]?.workspace_id, task: 'Count the chairs.' }
  const working = outcome(lead, 'delegate_task', task)
  const { structuredContent } = await outcome(helper, 'wait_for_message', { timeout_secs: 30 })
  const { message } = structuredContent as { message: { activity_id: string; text: string; peer_name: string } }
  expect(message).toMatchObject({ peer_name: 'lead', text: 'Count the chairs.' })
  await outcome(helper, 'reply', { activity_id: message.activity_id, message: 'Twelve.', outcome: 'completed' })
  expect((await working).structuredContent).toMatchObject({ status: 'completed', result: 'Twelve.' })

  const root = await at.connect(await rootOfMirror())
  await outcome(helper, 'commit_memory', { content: 'Chairs are counted on Mondays.', scope: 'TEAM' })
  await outcome(root, 'commit_memory', { content: 'Chairs belong to the mirror.', scope: 'GLOBAL' })
  const recalled = async (client: Client) =>
    JSON.stringify((await outcome(client, 'recall_memory', { query: 'chairs' })).structuredContent)
  for (const text of ['Chairs are counted on Mondays.', 'Chairs belong to the mirror.'])
    expect(await recalled(lead)).toContain(text)
  for (const token of [at.tokens.helper, at.strangers.workspace, at.strangers.cousin])
    expect(await recalled(await at.connect(token))).not.toContain('Chairs')
})

it('shows the owner each organisation’s calls by themselves', async () => {
  const list = async (...more: string[]) =>
    (await quartermaster(['operations', 'list', '--json', ...more], { cwd: at.dir })).json<{
      operations: { id: string; agent: string }[]
    }>().operations
  expect((await list()).map(({ id }) => id)).toContain(at.ids.operation)
  const theirs = await list('--organisation', 'mirror')
  expect(theirs.map(({ agent }) => agent)).toContain('helper')
  expect(theirs.map(({ id }) => id)).not.toContain(at.ids.operation)
  const shown = ['operations', 'show', at.ids.operation, '--organisation', 'mirror', '--json']
  expect((await quartermaster(shown, { cwd: at.dir })).json()).toMatchObject({ error: { code: 'NAME_UNKNOWN' } })
  const unknown = ['operations', 'list', '--organisation', 'nowhere', '--json']
  expect((await quartermaster(unknown, { cwd: at.dir })).json()).toMatchObject({ error: { code: 'NAME_UNKNOWN' } })
  const logs = ['logs', '--organisation', 'mirror', '--json']
  expect((await quartermaster(logs, { cwd: at.dir })).stdout).not.toContain(at.ids.operation)
})

describe('a workspace that waits', () => {
  interface MadeWorkspace {
    readonly id: string
    readonly token: string
    readonly facts: { readonly id: string }
  }
  const made = async <T>(path: string, body: object, token = at.owner) =>
    JSON.parse((await at.ask('POST', path, token, body)).text) as T
  const tokenFor = (id: string) => made<MadeWorkspace>(`/workspaces/${id}/tokens`, {})

  const ENDS: Readonly<Record<string, (id: string, tokenId: string) => Promise<unknown>>> = {
    'its token is revoked': (_, tokenId) => at.ask('DELETE', `/tokens/${tokenId}`, at.owner),
    'it is archived': id => at.ask('POST', `/workspaces/${id}/archive`, at.owner),
  }

  it.each(Object.entries(ENDS))('gets nothing more in any of its requests once %s', async (way, end) => {
    const name = `waits-${Object.keys(ENDS).indexOf(way)}`
    const { id } = await made<MadeWorkspace>('/workspaces', { name, parent: 'lead' })
    const [{ token, facts }, another] = [await tokenFor(id), await tokenFor(id)]
    const task = await made<MadeWorkspace>('/delegations', { to: 'helper', task: 'Wait.' }, token)
    const headers = { authorization: `Bearer ${token}`, 'a2a-version': '1.0', 'content-type': 'application/json' }
    const send = async (path: string, body: (message: object) => object) => {
      const message = { messageId: `m-${path}`, role: 'ROLE_USER', parts: [{ text: 'Wait.' }] }
      const init = {
        method: 'POST',
        headers: { ...headers, connection: 'close' },
        body: JSON.stringify(body({ message })),
      }
      const answer = await fetch(`${at.url}/a2a/${at.ids.workspace}${path}`, init)
      return { status: answer.status, text: await answer.text() }
    }
    const waiting = [
      at.ask('GET', `/delegations/${task.id}?waitSeconds=60`, token),
      at.ask('GET', '/inbox?waitSeconds=60', token),
      send('/message:send', message => message),
      send('', params => ({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })),
    ]
    const given = async () => JSON.parse((await at.ask('GET', '/delegations?role=asker', token)).text).delegations
    await expect.poll(given).toHaveLength(3)
    await end(id, facts.id)
    await at.ask('POST', `/delegations/${task.id}/reply`, at.tokens.helper, { message: 'the secret end' })
    for (const { status, text } of await Promise.all(waiting)) {
      expect([status, text]).toEqual([401, expect.stringContaining('TOKEN_INVALID')])
      expect(text).not.toContain('the secret')
    }
    await at.ask('PATCH', `/workspaces/${id}`, at.owner, { status: 'active' })
    await at.ask('POST', `/workspaces/${id}/messages`, at.owner, { text: 'For whoever is there' })
    const { text } = await at.ask('GET', '/inbox', another.token)
    expect(text).toContain('For whoever is there')
    expect(text).not.toContain('heldByOthers')
  })
})

it('ends what a workspace of another organisation has open when it is archived, and lets it in again when it is back', async () => {
  const name = ['passing', '--organisation', 'acme'] as const
  const options = { cwd: at.dir }
  await quartermaster(['workspaces', 'create', ...name], options)
  const token = (await quartermaster(['tokens', 'create', ...name], options)).stdout.trim()
  const client = await at.connect(token)
  expect(await outcome(client, 'list_peers', {})).not.toHaveProperty('isError')
  await quartermaster(['workspaces', 'archive', ...name], options)
  await expect(outcome(client, 'list_peers', {})).rejects.toThrow()
  await expect(at.connect(token)).rejects.toThrow()
  await quartermaster(['workspaces', 'restore', ...name], options)
  expect((await (await at.connect(token)).listTools()).tools.length).toBeGreaterThan(0)
})

/** The token of who may write for the whole organisation. */
async function rootOfMirror(): Promise<string> {
  const made = await quartermaster(['tokens', 'create', 'root', '--organisation', 'mirror'], { cwd: at.dir })
  return made.stdout.trim()
}
