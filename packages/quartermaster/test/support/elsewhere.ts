import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CallToolResult, ClientOptions } from '@modelcontextprotocol/client'
import { type BridgedClient, connectClient, type Era } from './bridge.ts'
import { makeProject, type RunningUp, startUp } from './product.ts'

/** A server elsewhere, in which this laptop has a workspace. */
export interface Place {
  readonly name: string
  readonly dir: string
  readonly up: RunningUp
  readonly workspaceId: string
  readonly token: string
  /** A person writes to the laptop. */
  say(text: string): Promise<void>
  /** The texts that people see in the chat of the laptop, those of the laptop with `>`. */
  chat(): Promise<string[]>
  /** Asks the API, as the owner unless another token is given. */
  ask<T>(method: string, path: string, body?: object, token?: string): Promise<T>
  newToken(): Promise<{ readonly id: string; readonly token: string }>
}

interface PlaceOptions {
  readonly files?: Record<string, string>
  start?(dir: string): Promise<RunningUp>
}

const OPS = { 'agents/ops.json': '{ "capabilities": { "inbox": {} } }' }

/** A server with a person, an agent "ops" that may be given tasks, and the workspace "laptop". */
export async function openPlace(name: string, { files = OPS, start = startUp }: PlaceOptions = {}): Promise<Place> {
  const dir = await makeProject(files)
  const up = await start(dir)
  const owner = (await readFile(join(dir, '.quartermaster', 'admin-token'), 'utf8')).trim()
  const ask: Place['ask'] = async (method, path, body, token = owner) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' }
    const sent = body && { body: JSON.stringify(body) }
    const answer = await fetch(`${up.url}/api/v1${path}`, { method, headers, ...sent })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return JSON.parse(text)
  }
  const { id: workspaceId } = await ask<{ id: string }>('POST', '/workspaces', { name: 'laptop' })
  const newToken = async () => {
    const made = await ask<{ token: string; facts: { id: string } }>('POST', `/workspaces/${workspaceId}/tokens`, {})
    return { id: made.facts.id, token: made.token }
  }
  const { token } = await newToken()
  return {
    name,
    dir,
    up,
    workspaceId,
    token,
    ask,
    newToken,
    async say(text) {
      await ask('POST', `/workspaces/${workspaceId}/messages`, { text })
    },
    async chat() {
      const { entries } = await ask<{ entries: { text: string; from: { kind: string } }[] }>(
        'GET',
        `/workspaces/${workspaceId}/chat?limit=200`,
      )
      return entries.map(({ text, from }) => (from.kind === 'workspace' ? `> ${text}` : text))
    },
  }
}

export const entryOf = ({ up, token, name }: Place) => ({ url: up.url, token, name })

/** A real client whose server takes part in these places. */
export async function takePart(
  places: readonly object[],
  mode: Era = 'auto',
  options: ClientOptions & { dir?: string } = {},
): Promise<BridgedClient> {
  const env = { QUARTERMASTER_WORKSPACES: JSON.stringify(places) }
  return connectClient(options.dir ?? (await makeProject()), mode, { env, ...options })
}

/** What a tool answered: its structured content, its text, and whether it is an error. */
export async function call<T extends object = Record<string, never>>(
  { client }: BridgedClient,
  name: string,
  input: Record<string, unknown> = {},
) {
  const { content, structuredContent, isError } = (await client.callTool({ name, arguments: input })) as CallToolResult
  const text = content.map(one => ('text' in one ? one.text : '')).join('\n')
  return { data: (structuredContent ?? {}) as T, text, isError: isError === true }
}
