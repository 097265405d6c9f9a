import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { createControlClient } from '../../packages/quartermaster/src/adapters/control-client/index.ts'
import type { Control } from '../../packages/quartermaster/src/contracts/index.ts'
import { type Finished, launchUp, quartermaster } from '../../packages/quartermaster/test/support/product.ts'

/** The built product, at work for a whole file of tests. */
export interface RunningProduct {
  /** The project it runs in: a copy, for this run alone. */
  readonly folder: string
  readonly url: string
  readonly mcpUrl: string
  /** What commands do, without the time that one takes to start. */
  readonly control: Control
  /** Runs one command against it. */
  run(...args: readonly string[]): Promise<Finished>
  /** Makes a token for an agent. */
  issue(agent: string): Promise<IssuedToken>
  /** Resolves when it has reached an upstream. */
  reaches(upstream: string): Promise<void>
  /** Ends it as a crash does. */
  kill(): Promise<void>
  /** Starts it again in its folder, at the same address. */
  again(): Promise<void>
  stop(): Promise<void>
}

/** A busy machine takes its time to start one program by another. */
const PATIENCE = { timeout: 300_000, interval: 50 }

/** Settings that differ from the defaults. */
export type Settings = Readonly<Record<string, boolean | number>>

export interface IssuedToken {
  readonly id: string
  readonly token: string
}

/** Copies a project folder and starts `up` in the copy, which is gone afterwards. */
export async function startProduct(project: string, settings: Settings = {}): Promise<RunningProduct> {
  const folder = await freshFolder()
  await cp(project, folder, { recursive: true })
  return startIn(folder, { settings })
}

/** What `mcpServers` says, by name. */
export type McpServers = Readonly<Record<string, unknown>>

/** Starts `up` in a folder that has nothing but upstreams, all of them given to one agent. */
export async function startWithUpstreams(
  mcpServers: McpServers,
  agent = 'default',
  settings: object = {},
): Promise<RunningProduct> {
  const folder = await freshFolder()
  const capabilities = Object.fromEntries(Object.keys(mcpServers).map(name => [name, {}]))
  await writeAgents(folder, { [agent]: capabilities })
  return startIn(folder, { mcpServers, settings })
}

/** Starts `up` in a folder that has nothing but agents, each with these capabilities. */
export async function startWithAgents(agents: readonly string[], capabilities: object = {}): Promise<RunningProduct> {
  const folder = await freshFolder()
  await writeAgents(folder, Object.fromEntries(agents.map(agent => [agent, capabilities])))
  return startIn(folder, {})
}

async function writeAgents(folder: string, agents: Readonly<Record<string, object>>): Promise<void> {
  await mkdir(join(folder, 'agents'))
  for (const [agent, capabilities] of Object.entries(agents))
    await writeFile(join(folder, 'agents', `${agent}.json`), JSON.stringify({ view: 'direct', capabilities }))
}

const freshFolder = () => mkdtemp(join(tmpdir(), 'interop-'))

async function startIn(folder: string, configuration: object): Promise<RunningProduct> {
  await writeFile(join(folder, 'quartermaster.config.json'), JSON.stringify(configuration))
  let up = await launchUp(folder, {})
  const { port } = new URL(up.url)
  const adminToken = await readFile(join(folder, '.quartermaster', 'admin-token'), 'utf8')
  const control = createControlClient({ url: up.url, token: adminToken.trim() })
  const run = async (...args: readonly string[]) => {
    const finished = await quartermaster(args, { cwd: folder })
    if (finished.code !== 0) throw new Error(`"${args.join(' ')}" failed: ${finished.stdout}${finished.stderr}`)
    return finished
  }
  return {
    folder,
    url: up.url,
    mcpUrl: `${up.url}/mcp`,
    control,
    run,
    async issue(agent) {
      const { token, facts } = await control.createToken({ agent })
      return { id: facts.id, token }
    },
    async reaches(upstream) {
      await vi.waitFor(async () => expect(await statusOf(control, upstream)).toMatchObject({ state: 'up' }), PATIENCE)
    },
    async kill() {
      const gone = new Promise(resolve => up.child.once('exit', resolve))
      up.child.kill('SIGKILL')
      await gone
    },
    async again() {
      up = await launchUp(folder, { args: ['--port', port] })
    },
    async stop() {
      await up.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** All that is known about an upstream, so that a test that fails says why. */
async function statusOf(control: Control, upstream: string): Promise<unknown> {
  return (await control.upstreams({})).find(({ name }) => name === upstream)
}
