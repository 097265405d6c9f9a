import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
  stop(): Promise<void>
}

/** Settings that differ from the defaults. */
export type Settings = Readonly<Record<string, boolean | number>>

export interface IssuedToken {
  readonly id: string
  readonly token: string
}

/** Copies a project folder and starts `up` in the copy, which is gone afterwards. */
export async function startProduct(project: string, settings: Settings = {}): Promise<RunningProduct> {
  const folder = await mkdtemp(join(tmpdir(), 'interop-'))
  await cp(project, folder, { recursive: true })
  await writeFile(join(folder, 'quartermaster.config.json'), JSON.stringify({ settings }))
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
    async stop() {
      await up.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
