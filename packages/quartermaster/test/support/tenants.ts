import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { launchUp, writeFiles } from './product.ts'

/** What an API answered. */
export interface Answered {
  readonly status: number
  readonly text: string
}

/** Two organisations in one `up`: everything that is named here is in the first, the strangers are of the second. */
export interface Tenants {
  /** One of each thing that a path can name. */
  readonly ids: Readonly<Record<Thing, string>>
  /** Tokens of the other organisation, and of a workspace of the first that reaches none of it. */
  readonly strangers: Readonly<Record<'workspace' | 'person' | 'cousin', string>>
  /** Tokens that were taken back. */
  readonly revoked: string
  /** Texts that nobody else may ever see. */
  readonly private: readonly string[]
  ask(method: string, path: string, token: string | undefined, body?: object | string): Promise<Answered>
  close(): Promise<void>
}

export type Thing = 'workspace' | 'token' | 'person' | 'joinCode' | 'activity' | 'attachment' | 'memory' | 'delegation'

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
  const other = await seated('other')
  const cousin = await seated('cousin', { parent: other.id })
  await made('/organisations', { name: 'acme' })
  const stranger = await seated('stranger', { query: '?organisation=acme' })
  const mallory = await made('/persons?organisation=acme', { name: 'mallory' })
  await made('/persons', { name: 'ada' })
  const gone = await made(`/workspaces/${helper.id}/tokens`, {})
  await ask('DELETE', `/tokens/${gone.facts.id}`, owner)
  const attachment = await made('/attachments?name=plan.txt', 'the secret plan', helper.token)
  const message = await made('/messages', { to: 'lead', text: 'the secret word' }, helper.token)
  const task = await made('/delegations', { to: 'lead', task: 'the secret task' }, helper.token)
  const inbox = await ask('GET', '/inbox', lead.token)
  return {
    ids: {
      workspace: helper.id,
      token: (await made(`/workspaces/${helper.id}/tokens`, {})).facts.id,
      person: 'ada',
      joinCode: (await made('/join-codes', { name: 'late' })).facts.id,
      activity: (JSON.parse(inbox.text) as { messages: { activityId: string }[] }).messages[0]?.activityId ?? '',
      attachment: attachment.id,
      delegation: task.id,
      memory: (await made('/memories', { content: 'the secret fact' }, helper.token)).memory.id,
    },
    strangers: { workspace: stranger.token, person: mallory.token, cousin: cousin.token },
    revoked: gone.token,
    private: ['the secret', 'plan.txt', 'helper', lead.id, helper.id, message.conversationId],
    ask,
    async close() {
      await up.stop()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** Whatever was made has some of these. */
interface Made {
  readonly id: string
  readonly token: string
  readonly conversationId: string
  readonly facts: { readonly id: string }
  readonly memory: { readonly id: string }
}
