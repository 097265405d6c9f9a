import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { basename, dirname, relative, resolve, sep } from 'node:path'
import { messageOf, type Problem } from '../../contracts/index.ts'
import type { Source, SourceKind, SourceUnit } from '../../core/catalogue/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Parted } from './front-matter.ts'
import { type FoundFile, isMarkdown, isSkipped, listUnitFiles } from './unit-files.ts'

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

/** Of one file. */
export const MOST_BYTES = 256 * 1024
/** Few enough to leave file handles to others. */
const AT_ONCE = 16
/** Explains the folder to people; it is not written for agents. */
const README = /(?:^|\/)readme\.md$/i

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
    load: async signal => read(await listUnitFiles(dir), signal),
    onChange: listener => (watch ? watching.listen(listener) : () => {}),
    close: () => watching.close(),
  }
}

/** Reads files, and parses a text it has seen before no second time. */
function createReader(dir: string, prefix: string) {
  let known: ReadonlyMap<string, Read> = new Map()

  async function readOne({ path, name, file, refused }: FoundFile): Promise<Read | undefined> {
    // Problems are told by it, so two folders of one name must not share it.
    const id = `${prefix || `${basename(dir)}/`}${name}`
    const text = refused === undefined ? await readBounded(file).catch((error: unknown) => error) : refused
    if (refused !== undefined || typeof text !== 'string') return { hash: undefined, unit: broken(id, messageOf(text)) }
    const hash = createHash('sha256').update(path).update('\0').update(text).digest('hex')
    const before = known.get(id)
    if (before?.hash === hash) return before
    // A project without documents does not load the parser.
    const { partFrontMatter } = await import('./front-matter.ts')
    const parted = partFrontMatter(text)
    if ('wrong' in parted && README.test(name)) return undefined
    return { hash, unit: toUnit(id, { path: `${prefix}${path}`, hash, parted }) }
  }

  return async (files: readonly FoundFile[], signal: AbortSignal): Promise<SourceUnit[]> => {
    const all: Read[] = []
    for (let at = 0; at < files.length; at += AT_ONCE) {
      signal.throwIfAborted()
      const some = await Promise.all(files.slice(at, at + AT_ONCE).map(readOne))
      all.push(...some.filter(one => one !== undefined))
    }
    // What is gone is forgotten.
    known = new Map(all.map(one => [one.unit.id, one]))
    return all.map(({ unit }) => unit)
  }
}

interface Read {
  /** Of its text; nothing where it could not be read. */
  readonly hash: string | undefined
  readonly unit: SourceUnit
}

function toUnit(id: string, { path, hash, parted }: { path: string; hash: string; parted: Parted }): SourceUnit {
  if ('wrong' in parted) return broken(id, parted.wrong, parted.line)
  const definitions = { capabilities: [], dependencies: [], injections: [], written: [{ path, ...parted }] }
  return { id, hash, definitions }
}

/** Bounded even when the file grows or becomes a pipe while it is read; never blocks. */
async function readBounded(file: string): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    if (!(await handle.stat()).isFile()) throw new Error('It is no file.')
    const bytes = Buffer.alloc(MOST_BYTES + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = (await handle.read(bytes, length, bytes.length - length)).bytesRead
    if (length > MOST_BYTES) throw new Error(`It has more than ${MOST_BYTES} bytes. Part it into several.`)
    return textOf(bytes.subarray(0, length))
  } finally {
    await handle.close()
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new Error('It is not written in UTF-8. Save it in that encoding.', { cause })
  }
}

function broken(id: string, message: string, line?: number): SourceUnit {
  const where = line === undefined ? id : `${id}:${line}`
  const problem: Problem = { severity: 'error', code: 'DEFINITION_INVALID', where, message }
  return { id, broken: [problem] }
}

/**
 * Knowledge as a source has read it, for one file: parsing a few pages takes longer than the rest of a start.
 * Throws what is wrong with them, because their packager can fix them.
 */
export async function packKnowledge(source: Source): Promise<string> {
  const units = await source.load(new AbortController().signal)
  const broken = units.flatMap(unit => ('broken' in unit ? unit.broken : []))
  if (broken.length > 0) throw new Error(broken.map(({ where, message }) => `${where}: ${message}`).join('\n'))
  return JSON.stringify(units)
}

/** A source over what was packed. It does not change while it runs. */
export function createPackedSource({ file, ...place }: Pick<Source, 'id' | 'kind'> & { readonly file: URL }): Source {
  let units: readonly SourceUnit[] | undefined
  return {
    ...place,
    async load() {
      units ??= JSON.parse(await readFile(file, 'utf8')) as SourceUnit[]
      return units
    },
  }
}

/** Tells that a folder's Markdown files have changed. */
interface FolderWatch {
  listen(listener: () => void): () => void
  close(): Promise<void>
}

/** Longer than the gaps between the steps in which editors write, and shorter than anyone notices. */
const QUIET_MS = 60

/** Watches a folder from the first listener on. It may come later than that, or go and come back. */
function createFolderWatch(dir: string, log: Log): FolderWatch {
  const listeners = new Set<() => void>()
  let timer: NodeJS.Timeout | undefined
  let started: Promise<{ close(): Promise<void> } | undefined> | undefined
  let isClosed = false

  const tell = () => {
    for (const listener of listeners) listener()
  }
  const changed = () => {
    clearTimeout(timer)
    timer = setTimeout(tell, QUIET_MS).unref()
  }

  async function start() {
    const { watch } = await import('chokidar')
    const parent = dirname(dir)
    // The folder above is watched, and of it this one alone: naming one that is not there would notice nothing.
    const watcher = watch(parent, { ignoreInitial: true, ignored: path => !isWatched(resolve(path), { parent, dir }) })
    // The first alone: when watches run out, there is one for every further file.
    watcher.once('error', error => {
      watcher.on('error', () => {})
      log.warn(`Watching "${dir}" failed; use reload after an edit.`, { reason: messageOf(error) })
    })
    // Changes before "ready" are not reported, and the listener may have read earlier.
    watcher.once('ready', changed)
    watcher.on('all', (event, path) => {
      if (resolve(path) !== parent && (isMarkdown(path) || event.endsWith('Dir'))) changed()
    })
    return watcher
  }

  return {
    listen(listener) {
      if (isClosed) return () => {}
      listeners.add(listener)
      started ??= start().catch((error: unknown) => {
        // Without a watcher everything still works, by `reload`.
        log.warn(`The folder "${dir}" is not watched; use reload after an edit.`, { reason: messageOf(error) })
        return undefined
      })
      return () => void listeners.delete(listener)
    },
    async close() {
      isClosed = true
      listeners.clear()
      clearTimeout(timer)
      await (await started)?.close()
    },
  }
}

function isWatched(path: string, { parent, dir }: { parent: string; dir: string }): boolean {
  if (path === parent || path === dir) return true
  if (!path.startsWith(`${dir}${sep}`)) return false
  return !relative(dir, path).split(sep).some(isSkipped)
}
