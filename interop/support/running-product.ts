import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { type Finished, launchUp, quartermaster } from '../../packages/quartermaster/test/support/product.ts'

/** The built product, at work for a whole file of tests. */
export interface RunningProduct {
  /** The project it runs in: a copy, for this run alone. */
  readonly folder: string
  readonly url: string
  readonly mcpUrl: string
  /** Runs one command against it. */
  run(...args: readonly string[]): Promise<Finished>
  /** Makes a token for an agent. */
  issue(agent: string): Promise<IssuedToken>
  /** Resolves when it has reached an upstream. */
  reaches(upstream: string): Promise<void>
  stop(): Promise<void>
}

/** A busy machine takes its time to start one program by another. */
const PATIENCE = { timeout: 60_000, interval: 200 }

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
export async function startWithUpstreams(mcpServers: McpServers, agent = 'default'): Promise<RunningProduct> {
  const folder = await freshFolder()
  const capabilities = Object.fromEntries(Object.keys(mcpServers).map(name => [name, {}]))
  await mkdir(join(folder, 'agents'))
  await writeFile(join(folder, 'agents', `${agent}.json`), JSON.stringify({ view: 'direct', capabilities }))
  return startIn(folder, { mcpServers })
}

const freshFolder = () => mkdtemp(join(tmpdir(), 'interop-'))

async function startIn(folder: string, configuration: object): Promise<RunningProduct> {
  await writeFile(join(folder, 'quartermaster.config.json'), JSON.stringify(configuration))
  const up = await launchUp(folder, {})
  const run = async (...args: readonly string[]) => {
    const finished = await quartermaster(args, { cwd: folder })
    if (finished.code !== 0) throw new Error(`"${args.join(' ')}" failed: ${finished.stdout}${finished.stderr}`)
    return finished
  }
  return {
    folder,
    url: up.url,
    mcpUrl: `${up.url}/mcp`,
    run,
    issue: async agent => (await run('tokens', 'create', agent, '--json')).json<IssuedToken>(),
    async reaches(upstream) {
      await vi.waitFor(async () => expect(await statusOf(run, upstream)).toMatchObject({ state: 'up' }), PATIENCE)
    },
    async stop() {
      await up.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** All that is known about an upstream, so that a test that fails says why. */
async function statusOf(run: RunningProduct['run'], upstream: string): Promise<unknown> {
  return (await run('upstreams', '--json')).json<{ name: string }[]>().find(({ name }) => name === upstream)
}
