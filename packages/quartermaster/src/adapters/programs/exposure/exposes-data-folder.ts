import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { StdioUpstream } from '../../../contracts/index.ts'
import { isAround } from './containment.ts'
import { pathsIn, pathsOfCommand } from './paths-in.ts'

export interface ExposureOptions extends Pick<StdioUpstream, 'command' | 'args' | 'env' | 'cwd'> {
  readonly projectDir: string
  readonly dataDir: string
  /** What `~` stands for; the home of this account when absent. */
  readonly home?: string
}

/**
 * The fields of an entry, like `args` or `env.ROOT`, with a path that holds the data folder or lies in it: a server for files
 * that was given the project folder would hand out what no agent may see.
 */
export async function exposesDataFolder(options: ExposureOptions): Promise<string[]> {
  const { command, args, env, cwd, projectDir, dataDir } = options
  const base = resolve(projectDir, cwd ?? '.')
  const at = { base, home: env['HOME'] ?? options.home ?? homedir(), env }
  const told: [field: string, paths: readonly string[]][] = [
    ['args', pathsOfCommand([command, ...args], at)],
    ...Object.entries(env)
      .filter(([name]) => !OF_EVERY_PROGRAM.test(name))
      .map(([name, value]): [string, string[]] => [`env.${name}`, pathsIn(value, at)]),
    // Who says nothing runs in the project folder, as all do.
    ['cwd', cwd === undefined ? [] : [base]],
  ]
  const fields: string[] = []
  for (const [field, paths] of told) if (await isAnyAround(paths, dataDir)) fields.push(field)
  return fields
}

/** Where a program finds its own home and code says nothing about what it works on. */
const OF_EVERY_PROGRAM =
  /^(?:home|userprofile|pwd|oldpwd|path|pythonpath|node_path|gopath|classpath|rubylib|perl5lib|(?:ld|dyld)_\w+)$/i

async function isAnyAround(paths: readonly string[], folder: string): Promise<boolean> {
  for (const path of [...new Set(paths)].slice(0, MOST_PATHS)) if (await isAround(path, folder)) return true
  return false
}

/** More than a person writes into one field. Each takes a look at the disk. */
const MOST_PATHS = 2_000
