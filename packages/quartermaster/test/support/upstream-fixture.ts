import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client, type ClientOptions, type FetchLike, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { vi } from 'vitest'
import type { UpstreamStatus } from '../../src/contracts/index.ts'
import { onEnd } from '../../src/testing/shared-fixture.ts'
import { makeProject, quartermaster, type RunningUp, startUp, startUpProcess, type UpProcess } from './product.ts'

const testing = (name: string) =>
  fileURLToPath(new URL(`../../src/adapters/mcp-upstream/testing/${name}`, import.meta.url))

/** An ordinary server of either era, and one that can be as ill-behaved as a test needs; their flags stand at their top. */
export const SDK_SERVER = testing('sdk-server.mjs')
export const ILL_SERVER = testing('ill-server.mjs')

export type ClientEra = 'auto' | 'legacy'

/** An `up` with upstreams, and clients of its agents. */
export interface UpstreamFixture<Up extends RunningUp = RunningUp> {
  readonly dir: string
  readonly up: Up
  tokenFor(agent: string): Promise<string>
  connect(era?: ClientEra, options?: ClientOptions & { agent?: string; fetch?: FetchLike }): Promise<Client>
  status(name: string): Promise<UpstreamStatus | undefined>
  /** One operation of the control API, without the time that a command takes to start. */
  control<T>(operation: string, input?: Record<string, unknown>): Promise<T>
  run(...args: string[]): ReturnType<typeof quartermaster>
  /** Waits until these servers are connected; in hooks too, where `expect.poll` is not allowed. */
  untilUp(...names: string[]): Promise<void>
}

export interface FixtureOptions {
  readonly mcpServers: Record<string, unknown>
  readonly agents?: Record<string, unknown>
  readonly files?: Record<string, string>
  readonly settings?: Record<string, unknown>
  /** Of `up`, beside that of the tests. */
  readonly env?: Record<string, string>
}

/** A program that is run by Node. */
export function program(server: string, ...args: string[]) {
  return { command: process.execPath, args: [server, ...args] }
}

/** Every agent that is not described has all upstreams. */
export async function openFixture(options: FixtureOptions): Promise<UpstreamFixture> {
  return onFixture(await fixtureProject(options), options.env)
}

/** The same with an `up` that is a process of its own. */
export async function openProcessFixture(options: FixtureOptions): Promise<UpstreamFixture<UpProcess>> {
  return onProcessFixture(await fixtureProject(options), options.env)
}

/** Starts `up` in a project that is there. */
export async function onFixture(dir: string, env: Record<string, string> = {}): Promise<UpstreamFixture> {
  return fixtureOf(dir, await startUp(dir, [], env))
}

export async function onProcessFixture(
  dir: string,
  env: Record<string, string> = {},
): Promise<UpstreamFixture<UpProcess>> {
  return fixtureOf(dir, await startUpProcess(dir, [], env))
}

function fixtureProject({ mcpServers, agents, files = {}, settings = {} }: FixtureOptions): Promise<string> {
  const all = { capabilities: Object.fromEntries(Object.keys(mcpServers).map(name => [name, {}])) }
  const described = Object.entries(agents ?? { default: all })
  return makeProject({
    'quartermaster.config.json': JSON.stringify({ mcpServers, settings }),
    ...Object.fromEntries(described.map(([name, agent]) => [`agents/${name}.json`, JSON.stringify(agent)])),
    ...files,
  })
}

function fixtureOf<Up extends RunningUp>(dir: string, up: Up): UpstreamFixture<Up> {
  const run = (...args: string[]) => quartermaster(args, { cwd: dir })
  async function control<T>(operation: string, input: Record<string, unknown> = {}): Promise<T> {
    const token = (await readFile(join(dir, '.quartermaster', 'admin-token'), 'utf8')).trim()
    // A connection for each: one that was kept may be closed by the other side just when it is used.
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' }
    const body = JSON.stringify(input)
    const answer = await fetch(`${up.url}/api/v1/control/${operation}`, { method: 'POST', headers, body })
    return (await answer.json()) as T
  }
  const status = async (name: string) => (await control<UpstreamStatus[]>('upstreams')).find(one => one.name === name)
  const tokenFor = async (agent: string) => (await control<{ token: string }>('createToken', { agent })).token
  return {
    dir,
    up,
    run,
    tokenFor,
    async connect(era = 'auto', { agent = 'default', fetch: fetched = fetch, ...options } = {}) {
      const token = await tokenFor(agent)
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: era }, ...options })
      const requestInit = { headers: { authorization: `Bearer ${token}` } }
      await client.connect(new StreamableHTTPClientTransport(new URL(`${up.url}/mcp`), { requestInit, fetch: fetched }))
      onEnd(() => client.close())
      return client
    },
    control,
    status,
    async untilUp(...names) {
      for (const name of names)
        await vi.waitUntil(async () => (await status(name))?.state === 'up', { timeout: 300_000, interval: 20 })
    },
  }
}

/** Starts the ordinary server over HTTP and answers its address. */
export async function startHttpServer(...args: string[]): Promise<{ url: string; kill(): void }> {
  const child = spawn(process.execPath, [SDK_SERVER, '--http', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const kill = () => void child.kill('SIGKILL')
  onEnd(kill)
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { url, kill }
}

/** What a tool answered as its first text. */
export async function textOf(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args })
  const [first] = content as { text?: string }[]
  return first?.text ?? ''
}
