import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import type { UpstreamStatus } from '../../src/contracts/index.ts'
import { makeProject, quartermaster, type RunningUp, startUp } from './product.ts'

const testing = (name: string) =>
  fileURLToPath(new URL(`../../src/adapters/mcp-upstream/testing/${name}`, import.meta.url))

/** An ordinary server of either era, and one that can be as ill-behaved as a test needs; their flags stand at their top. */
export const SDK_SERVER = testing('sdk-server.mjs')
export const ILL_SERVER = testing('ill-server.mjs')

export type ClientEra = 'auto' | 'legacy'

/** An `up` with upstreams, and clients of its agents. */
export interface UpstreamDesk {
  readonly dir: string
  readonly up: RunningUp
  connect(era?: ClientEra, options?: ClientOptions & { agent?: string }): Promise<Client>
  status(name: string): Promise<UpstreamStatus | undefined>
  run(...args: string[]): ReturnType<typeof quartermaster>
}

export interface DeskOptions {
  readonly mcpServers: Record<string, unknown>
  readonly agents?: Record<string, unknown>
  readonly files?: Record<string, string>
  readonly settings?: Record<string, unknown>
}

/** A program that is run by Node. */
export function program(server: string, ...args: string[]) {
  return { command: process.execPath, args: [server, ...args] }
}

/** Every agent that is not described has all upstreams. */
export async function openDesk({ mcpServers, agents, files = {}, settings = {} }: DeskOptions): Promise<UpstreamDesk> {
  const all = { capabilities: Object.fromEntries(Object.keys(mcpServers).map(name => [name, {}])) }
  const described = Object.entries(agents ?? { default: all })
  const dir = await makeProject({
    'quartermaster.config.json': JSON.stringify({ mcpServers, settings }),
    ...Object.fromEntries(described.map(([name, agent]) => [`agents/${name}.json`, JSON.stringify(agent)])),
    ...files,
  })
  return onDesk(dir)
}

/** Starts `up` in a project that is there. */
export async function onDesk(dir: string): Promise<UpstreamDesk> {
  const up = await startUp(dir)
  const run = (...args: string[]) => quartermaster(args, { cwd: dir })
  return {
    dir,
    up,
    run,
    async connect(era = 'auto', { agent = 'default', ...options } = {}) {
      const { token } = (await run('tokens', 'create', agent, '--json')).json<{ token: string }>()
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: era }, ...options })
      const requestInit = { headers: { authorization: `Bearer ${token}` } }
      await client.connect(new StreamableHTTPClientTransport(new URL(`${up.url}/mcp`), { requestInit }))
      onTestFinished(() => client.close())
      return client
    },
    async status(name) {
      const statuses = (await run('upstreams', '--json')).json<{ upstreams: UpstreamStatus[] } | UpstreamStatus[]>()
      return (Array.isArray(statuses) ? statuses : statuses.upstreams).find(one => one.name === name)
    },
  }
}

/** Starts the ordinary server over HTTP and answers its address. */
export async function startHttpServer(...args: string[]): Promise<{ url: string; kill(): void }> {
  const child = spawn(process.execPath, [SDK_SERVER, '--http', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const kill = () => void child.kill('SIGKILL')
  onTestFinished(kill)
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { url, kill }
}

/** What a tool answered as its first text. */
export async function textOf(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args })
  const [first] = content as { text?: string }[]
  return first?.text ?? ''
}
