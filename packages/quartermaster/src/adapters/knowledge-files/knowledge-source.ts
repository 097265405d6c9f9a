import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { basename, relative, resolve, sep } from 'node:path'
import { messageOf, type Problem } from '../../contracts/index.ts'
import type { Source, SourceKind, SourceUnit } from '../../core/catalogue/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Parted } from './front-matter.ts'
import { listUnitFiles, type UnitFile } from './unit-files.ts'
import { createFolderWatch } from './watch.ts'

export interface KnowledgeSourceOptions {
  readonly id: string
  readonly kind: SourceKind
  /** The folder of Markdown files. It need not exist. */
  readonly dir: string
  /** Before each path, with a `/` at its end, for knowledge that must not be taken for the project's own. */
  readonly prefix?: string
  /** Whether `onChange` watches the files. */
  readonly watch: boolean
  readonly log: Log
}

export interface KnowledgeSource extends Source {
  onChange(listener: () => void): () => void
  close(): Promise<void>
}

const MOST_BYTES = 256 * 1024

/** What is written down in Markdown: knowledge to read, and declarations of tools. */
export function createKnowledgeSource({
  id,
  kind,
  prefix = '',
  watch,
  log,
  ...options
}: KnowledgeSourceOptions): KnowledgeSource {
  const dir = resolve(options.dir)
  const watching = createFolderWatch(dir, log)
  const read = createReader(dir, prefix)
  return {
    id,
    kind,
    load: async () => Promise.all((await listUnitFiles(dir)).map(read)),
    onChange: listener => (watch ? watching.listen(listener) : () => {}),
    close: () => watching.close(),
  }
}

/** Reads files, and parses a text it has seen before no second time. */
function createReader(dir: string, prefix: string): (file: UnitFile) => Promise<SourceUnit> {
  const known = new Map<string, { readonly hash: string; readonly unit: SourceUnit }>()
  return async ({ path, file, refused }) => {
    // Problems are told by it, so two folders of one name must not share it.
    const id = `${prefix || `${basename(dir)}/`}${relative(dir, file).split(sep).join('/')}`
    if (refused !== undefined) return broken(id, refused)
    const text = await readBounded(file).catch((error: unknown) => error)
    if (typeof text !== 'string') return broken(id, messageOf(text))
    const hash = createHash('sha256').update(path).update('\0').update(text).digest('hex')
    const before = known.get(id)
    if (before?.hash === hash) return before.unit
    // Whoever has written nothing down does not load the parser.
    const { partFrontMatter } = await import('./front-matter.ts')
    const unit = toUnit(id, { path: `${prefix}${path}`, hash, parted: partFrontMatter(text) })
    known.set(id, { hash, unit })
    return unit
  }
}

function toUnit(id: string, { path, hash, parted }: { path: string; hash: string; parted: Parted }): SourceUnit {
  if ('wrong' in parted) return broken(id, parted.wrong)
  const definitions = { capabilities: [], dependencies: [], injections: [], written: [{ path, ...parted }] }
  return { id, hash, definitions }
}

async function readBounded(file: string): Promise<string> {
  const { size } = await stat(file)
  if (size > MOST_BYTES) throw new Error(`It has ${size} bytes; at most ${MOST_BYTES} are read. Part it into several.`)
  return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file))
}

function broken(where: string, message: string): SourceUnit {
  const problem: Problem = { severity: 'error', code: 'DEFINITION_INVALID', where, message }
  return { id: where, broken: [problem] }
}
