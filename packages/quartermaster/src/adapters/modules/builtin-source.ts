import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { AppError, messageOf } from '../../contracts/index.ts'
import { collectDefinitions, type Services, type Source, type SourceUnit } from '../../core/catalogue/index.ts'

export interface BuiltinSourceOptions {
  /** The folder of capabilities: compiled ones, or their sources where the loader can read those. */
  dir: string
  services: Partial<Services>
  /** The package's version. It is part of every hash, because a capability also uses code outside of its own folder. */
  version: string
}

/** The capabilities of the package: every subfolder with an index is one. Each is imported once, permanently. */
export function createBuiltinSource(options: BuiltinSourceOptions): Source {
  const units = new Map<string, Promise<SourceUnit>>()
  return {
    id: 'builtin',
    kind: 'builtin',
    async load() {
      const folders = await listModules(options.dir)
      return Promise.all(
        folders.map(folder => {
          const unit = units.get(folder.name) ?? loadModule(folder, options)
          units.set(folder.name, unit)
          return unit
        }),
      )
    },
  }
}

/** The names of the package's capabilities. */
export async function builtinNames(dir: string): Promise<string[]> {
  return (await listModules(dir)).map(({ name }) => name)
}

interface ModuleFolder {
  name: string
  dir: string
  index: string
}

const INDEXES = ['index.js', 'index.ts']

async function listModules(dir: string): Promise<ModuleFolder[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch((cause: unknown) => {
    throw new AppError(
      'INTERNAL',
      `The built-in capabilities cannot be read (${messageOf(cause)}). Install the package again.`,
      { cause },
    )
  })
  const folders = await Promise.all(
    entries.filter(entry => entry.isDirectory()).map(entry => findIndex(dir, entry.name)),
  )
  return folders.filter(folder => folder !== undefined).sort((a, b) => (a.name < b.name ? -1 : 1))
}

async function findIndex(parent: string, name: string): Promise<ModuleFolder | undefined> {
  const dir = join(parent, name)
  const files = await readdir(dir)
  const index = INDEXES.find(candidate => files.includes(candidate))
  return index === undefined ? undefined : { name, dir, index: join(dir, index) }
}

async function loadModule(folder: ModuleFolder, { services, version }: BuiltinSourceOptions): Promise<SourceUnit> {
  const where = `quartermaster/capabilities/${folder.name}`
  try {
    const [hash, exports] = await Promise.all([
      hashFolder(folder.dir, version),
      import(pathToFileURL(folder.index).href),
    ])
    const { problems, ...definitions } = collectDefinitions(exports, services, where)
    return { id: folder.name, hash, definitions, ...(problems.length > 0 && { problems }) }
  } catch (error) {
    const message = `The built-in capability failed while loading: ${messageOf(error)}`
    return {
      id: folder.name,
      broken: [
        {
          severity: 'error',
          code: 'DEFINITION_INVALID',
          where,
          message,
          fix: 'Install the package again, and restart.',
        },
      ],
    }
  }
}

/** Over names and contents of all files that can run; tests and what the compiler writes beside the code do not count. */
async function hashFolder(dir: string, version: string): Promise<string> {
  const names = await readdir(dir, { recursive: true })
  const hash = createHash('sha256').update(version)
  for (const name of names.filter(name => !/\.(test|spec)\.|\.d\.ts$|\.map$/.test(name)).sort()) {
    const path = join(dir, name)
    if ((await stat(path)).isFile()) hash.update(`\0${name}\0`).update(await readFile(path))
  }
  return hash.digest('hex')
}
