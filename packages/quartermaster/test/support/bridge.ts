import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, type ClientOptions } from '@modelcontextprotocol/client'
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect } from 'vitest'
import { onEnd } from '../../src/testing/shared-fixture.ts'
import { BIN, makeProject, quartermaster } from './product.ts'

export type Era = 'auto' | 'legacy'
export const ERAS = ['auto', 'legacy'] as const satisfies Era[]

const TOOLS = `
  import { appendFileSync, existsSync } from 'node:fs'
  import { setTimeout as wait } from 'node:timers/promises'
  import { defineCapability, defineDependency, defineTool } from 'quartermaster'
  import { path } from 'quartermaster/probes'
  const here = name => new URL('../' + name, import.meta.url).pathname
  const feed = defineDependency({ name: 'feed', probe: path({ path: here('feed.txt') }) })
  const input = { type: 'object', properties: {} }
  const tool = (name, more) => defineTool({ name, short: name + '.', input, mutates: false, ...more })
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
  export default defineCapability({
    key: 'desk', short: 'A desk.', dependencies: [feed],
    tools: [
      tool('now', { requires: ['feed'], handler: () => 'tick' }),
      tool('work', { handler: () => 'worked' }),
      tool('steps', { handler: async (_, { progress, signal }) => {
        for (const step of [1, 2, 3]) {
          progress({ progress: step, total: 3 })
          while (!existsSync(here('seen-' + step + '.txt'))) await wait(10, undefined, { signal })
        }
        return 'stepped'
      } }),
      tool('ask', { handler: async (_, { ask }) => JSON.stringify(await ask({ message: 'Sure?', schema })) }),
      tool('wait', { timeoutMs: 600_000, handler: async (_, { signal }) => {
        while (!existsSync(here('go.txt'))) await wait(20, undefined, { signal })
        return 'gone'
      } }),
      tool('pay', { mutates: true, handler: () => new Promise(() => {}) }),
      tool('add', {
        mutates: true,
        input: { type: 'object', properties: { name: { type: 'string' } } },
        handler: ({ name }) => (appendFileSync(here('added.txt'), name + '\\n'), name),
      }),
      tool('put', { mutates: true, idempotent: true, retry: 'replay', handler: async (_, { signal }) => {
        while (!existsSync(here('go.txt'))) await wait(20, undefined, { signal })
        return 'put'
      } }),
    ],
  })
`

/** A project with tools that wait, work, ask and depend on a file. */
export function fixtureProject(more: Record<string, string> = {}): Promise<string> {
  return makeProject({
    'capabilities/desk.ts': TOOLS,
    'agents/default.json': '{ "capabilities": { "desk": {} } }',
    'feed.txt': '',
    'quartermaster.config.json':
      '{ "settings": { "backgroundIdleSeconds": 4, "recoveringSeconds": 0, "watchIntervalSeconds": 1 } }',
    ...more,
  })
}

export interface BridgedClient {
  readonly client: Client
  /** What the bridge said on standard error. */
  stderr(): string
  readonly pid: number | null
}

/** A real client whose server is `quartermaster connect`. */
export async function connectClient(
  dir: string,
  mode: Era,
  { args = [], env = {}, ...options }: ClientOptions & { args?: string[]; env?: Record<string, string> } = {},
): Promise<BridgedClient> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, 'connect', ...args],
    cwd: dir,
    env: { ...getDefaultEnvironment(), ...env },
    stderr: 'pipe',
  })
  let stderr = ''
  transport.stderr?.on('data', chunk => {
    stderr += String(chunk)
  })
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode }, ...options })
  onEnd(() => client.close())
  await client.connect(transport)
  return { client, stderr: () => stderr, pid: transport.pid }
}

/** The process that owns a project's data folder, when one says so. */
export async function ownerOf(dir: string): Promise<number | undefined> {
  const file = join(dir, '.quartermaster', 'endpoint.json')
  return existsSync(file) ? (JSON.parse(await readFile(file, 'utf8')) as { pid: number }).pid : undefined
}

/** Whatever `connect` started in the background ends with the test, also when the test fails. */
export function endBackgroundAfter(dir: string): void {
  onEnd(async () => {
    const pid = await ownerOf(dir)
    if (pid === undefined || !signal(pid, 'SIGTERM')) return
    await expect.poll(() => signal(pid, 0)).toBe(false)
  })
}

/** Whether there is such a process to signal. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    // It has ended.
    return false
  }
}

/** How many calls `up` has under way. */
export async function running(cwd: string): Promise<number> {
  return (await quartermaster(['status', '--json'], { cwd })).json<{ running: number }>().running
}
