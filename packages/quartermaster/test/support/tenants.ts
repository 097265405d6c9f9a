import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { launchUp, writeFiles } from './product.ts'

/** What an API answered. */
export interface Answered {
  readonly status: number
  readonly text: string
}

/** Organisations in one `up`: everything that is named here is in the first, the strangers are of others. */
export interface Tenants {
  readonly dir: string
  readonly url: string
  /** The admin token. */
  readonly owner: string
  /** One of each thing that a path can name. */
  readonly ids: Readonly<Record<Thing, string>>
  /**
   * Tokens of the other organisation, and of a workspace of the first that reaches none of it. A twin has the names that
   * an agent of the first has: its own, and that of the one above it.
   */
  readonly strangers: Readonly<Record<'workspace' | 'person' | 'cousin' | 'twin', string>>
  /** Whose everything is, and who is above the twin. */
  readonly tokens: Readonly<Record<'helper' | 'aboveTwin', string>>
  /** Tokens that were taken back. */
  readonly revoked: string
  /** A workspace beside the helper that was archived, and its token. */
  readonly archived: { readonly id: string; readonly token: string }
  /** The workspace that the twin reaches. */
  readonly aboveTwin: string
  /** Texts that no other workspace may ever see. */
  readonly private: readonly string[]
  ask(method: string, path: string, token: string | undefined, body?: object | string): Promise<Answered>
  /** A client with this token, closed in the end. */
  connect(token: string, era?: 'auto' | 'legacy'): Promise<Client>
  close(): Promise<void>
}

export type Thing =
  | 'workspace'
  | 'token'
  | 'person'
  | 'joinCode'
  | 'activity'
  | 'attachment'
  | 'memory'
  | 'delegation'
  | 'operation'
  | 'externalPeer'

/** What a caller names a call, so that it can be repeated. Each of them uses the same. */
export const SAME_KEY = { _meta: { 'quartermaster/idempotencyKey': 'the-same' } }

export async function launchTenants(): Promise<Tenants> {
  const dir = await mkdtemp(join(tmpdir(), 'tenants-'))
  await writeFiles(dir, { 'quartermaster.config.json': JSON.stringify({ settings: { requestsPerMinute: 100_000 } }) })
  const up = await launchUp(dir, {})
  const owner = (await readFile(join(dir, '.quartermaster', 'admin-token'), 'utf8')).trim()
  const ask: Tenants['ask'] = async (method, path, token, body) => {
    const type = typeof body === 'string' ? 'application/octet-stream' : 'application/json'
    const headers = { 'content-type': type, connection: 'close', ...(token && { authorization: `Bearer ${token}` }) }
    const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const answer = await fetch(`${up.url}/api/v1${path}`, { method, headers, ...sent })
    return { status: answer.status, text: await answer.text() }
  }
  const made = async (path: string, body: object | string, token = owner): Promise<Made> => {
    const { status, text } = await ask('POST', path, token, body)
    if (status !== 201) throw new Error(`${path}: ${status} ${text}`)
    return JSON.parse(text) as Made
  }
  /** A workspace and its token. */
  const seated = async (name: string, { parent, query = '' }: { parent?: string; query?: string } = {}) => {
    const { id } = await made(`/workspaces${query}`, { name, ...(parent && { parent }) })
    return { id, token: (await made(`/workspaces/${id}/tokens${query}`, {})).token }
  }

  const lead = await seated('lead')
  const helper = await seated('helper', { parent: lead.id })
  const archived = await seated('left', { parent: lead.id })
  await ask('POST', `/workspaces/${archived.id}/archive`, owner)
  const other = await seated('other')
  const cousin = await seated('cousin', { parent: other.id })
  await made('/organisations', { name: 'acme' })
  const stranger = await seated('stranger', { query: '?organisation=acme' })
  await made('/organisations', { name: 'mirror' })
  const aboveTwin = await seated('lead', { query: '?organisation=mirror' })
  const twin = await seated('helper', { parent: 'lead', query: '?organisation=mirror' })
  const mallory = await made('/persons?organisation=acme', { name: 'mallory' })
  await made('/persons', { name: 'ada' })
  const gone = await made(`/workspaces/${helper.id}/tokens`, {})
  await ask('DELETE', `/tokens/${gone.facts.id}`, owner)
  const attachment = await made('/attachments?name=plan.txt', 'the secret plan', helper.token)
  const message = await made('/messages', { to: 'lead', text: 'the secret word' }, helper.token)
  const task = await made('/delegations', { to: 'lead', task: 'the secret task' }, helper.token)
  const agent = await a2aAgent()
  const peer = await made('/external-peers', { name: 'painter', cardUrl: agent.url, parent: lead.id })
  const inbox = await ask('GET', '/inbox', lead.token)
  const clients: Client[] = []
  const connect: Tenants['connect'] = async (token, mode = 'auto') => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    clients.push(client)
    const requestInit = { headers: { authorization: `Bearer ${token}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${up.url}/mcp`), { requestInit }))
    return client
  }
  const committed = (await (
    await connect(helper.token)
  ).callTool({
    name: 'commit_memory',
    arguments: { content: 'the secret of a call' },
    ...SAME_KEY,
  })) as CallToolResult
  return {
    dir,
    url: up.url,
    owner,
    tokens: { helper: helper.token, aboveTwin: aboveTwin.token },
    connect,
    ids: {
      operation: String(committed._meta?.['quartermaster/operationId']),
      workspace: helper.id,
      token: (await made(`/workspaces/${helper.id}/tokens`, {})).facts.id,
      person: 'ada',
      joinCode: (await made('/join-codes', { name: 'late' })).facts.id,
      activity: (JSON.parse(inbox.text) as { messages: { activityId: string }[] }).messages[0]?.activityId ?? '',
      attachment: attachment.id,
      delegation: task.id,
      externalPeer: peer.id,
      memory: (await made('/memories', { content: 'the secret fact' }, helper.token)).memory.id,
    },
    strangers: { workspace: stranger.token, person: mallory.token, cousin: cousin.token, twin: twin.token },
    revoked: gone.token,
    archived,
    aboveTwin: aboveTwin.id,
    private: ['the secret', 'plan.txt', 'helper', 'painter', lead.id, helper.id, message.conversationId],
    ask,
    async close() {
      await Promise.all(clients.map(client => client.close().catch(() => {})))
      await up.stop()
      await agent.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** Where the card of an A2A agent is, and nothing else. */
async function a2aAgent(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const url = `http://${request.headers.host}/a2a`
    const supportedInterfaces = [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
    response.end(JSON.stringify({ name: 'x', description: 'the secret trade', supportedInterfaces }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise(resolve => void server.close(() => resolve())),
  }
}

/** For each thing one that is not there. */
export function guessesOf(ids: Tenants['ids']): Tenants['ids'] {
  return Object.fromEntries(Object.entries(ids).map(([thing, id]) => [thing, guess(id)])) as Tenants['ids']
}

/** As many characters of the same kinds, and nothing that is there. Names are short, and stand in other words. */
function guess(id: string): string {
  if (id.length < 8) return `not-${id}`
  return id.replaceAll(/[a-z](?=[^_]*$)/g, letter => (letter === 'q' ? 'z' : 'q'))
}

/** An answer may repeat what was asked. */
export function without(text: string, ids: Tenants['ids']): string {
  return Object.values(ids)
    .toSorted((a, b) => b.length - a.length)
    .reduce((left, id) => left.replaceAll(id, '…'), text)
}

/** Whatever was made has some of these. */
interface Made {
  readonly id: string
  readonly token: string
  readonly conversationId: string
  readonly facts: { readonly id: string }
  readonly memory: { readonly id: string }
}
