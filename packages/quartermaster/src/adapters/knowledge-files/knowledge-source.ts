import { createHash } from 'node:crypto'
import { constants, type Dirent } from 'node:fs'
import { open, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { AppError, messageOf, type Problem } from '../../contracts/index.ts'
import type { Source, SourceKind, SourceUnit } from '../../core/catalogue/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Parted } from './front-matter.ts'

export interface KnowledgeSourceOptions {
  readonly id: string
  readonly kind: SourceKind
  /** The folder of Markdown files. It need not exist. */
  readonly dir: string
  /** Put before each path, with a `/` at its end, to tell built-in knowledge from the project's own. */
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
/** Files read at a time; others need file handles too. */
const AT_ONCE = 16
/** For people, not for agents. */
const README = /(?:^|\/)readme\.md$/i

/** A source of Markdown files: knowledge and declarations of tools. */
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

/** Reads files. A text that did not change is not parsed again. */
function createReader(dir: string, prefix: string) {
  let known: ReadonlyMap<string, Read> = new Map()

  async function readOne({ path, name, file, refused }: FoundFile): Promise<Read | undefined> {
    // Problems are reported by id, so two folders of one name must not share it.
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
    known = new Map(all.map(one => [one.unit.id, one]))
    return all.map(({ unit }) => unit)
  }
}

interface Read {
  /** The hash of the text; nothing where it could not be read. */
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

/** Packs the units of a source into one file, because parsing pages takes longer than the rest of a start. Throws on broken pages. */
export async function packKnowledge(source: Source): Promise<string> {
  const units = await source.load(new AbortController().signal)
  const broken = units.flatMap(unit => ('broken' in unit ? unit.broken : []))
  if (broken.length > 0) throw new Error(broken.map(({ where, message }) => `${where}: ${message}`).join('\n'))
  return JSON.stringify(units)
}

/** A source of packed units. It does not change while the process runs. */
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

interface FolderWatch {
  listen(listener: () => void): () => void
  close(): Promise<void>
}

/** Longer than the gaps between the writes of an editor. */
const QUIET_MS = 60

/** Watches a folder from the first listener on. The folder may be created later, or replaced. */
function createFolderWatch(dir: string, log: Log): FolderWatch {
  const listeners = new Set<() => void>()
  let timer: NodeJS.Timeout | undefined
  let started: Promise<{ close(): Promise<void> } | undefined> | undefined
  let isClosed = false

  const notify = () => {
    for (const listener of listeners) listener()
  }
  const changed = () => {
    clearTimeout(timer)
    timer = setTimeout(notify, QUIET_MS).unref()
  }

  async function start() {
    const { watch } = await import('chokidar')
    const parent = dirname(dir)
    // The parent is watched, but only for this folder: a missing folder cannot be watched itself.
    const watcher = watch(parent, { ignoreInitial: true, ignored: path => !isWatched(resolve(path), { parent, dir }) })
    // Only the first error is logged: when watches run out, every file has one.
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

interface FoundFile {
  /** Below the folder, with forward slashes and without the ending. The index of a folder has the folder's path. */
  readonly path: string
  /** The same with its ending. */
  readonly name: string
  readonly file: string
  /** Why it is not read. */
  readonly refused?: string
}

const MARKDOWN = /\.md$/i
/** All are kept in memory, and people do not write more. */
const MOST_FILES = 10_000
const MOST_DEPTH = 16

const isMarkdown = (name: string): boolean => MARKDOWN.test(name)

/** Drafts, and files that editors and other programs leave. */
function isSkipped(name: string): boolean {
  return name.startsWith('.') || name.startsWith('_') || name === 'node_modules'
}

/** The Markdown files below a folder, in order of path; none when there is no such folder. */
async function listUnitFiles(dir: string): Promise<FoundFile[]> {
  const root = await realpath(dir).catch(() => undefined)
  if (root === undefined) return []
  const found: FoundFile[] = []
  await walk(root, root, 0, found)
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}

async function walk(root: string, folder: string, depth: number, found: FoundFile[]): Promise<void> {
  for (const entry of await entriesOf(folder)) {
    if (isSkipped(entry.name)) continue
    const file = join(folder, entry.name)
    const target = entry.isSymbolicLink() ? await linkTarget(file, root) : entry
    if (target === undefined) {
      // A link out of the folder would show agents a file that was not written for them.
      if (isMarkdown(entry.name))
        found.push({ ...toFoundFile(root, file), refused: 'It is a link that leads out of the folder, or nowhere.' })
    } else if (target.isDirectory()) {
      // Links to folders are not followed: they may lead back.
      if (entry.isSymbolicLink()) continue
      if (depth < MOST_DEPTH) await walk(root, file, depth + 1, found)
      else
        found.push({ ...toFoundFile(root, file), refused: `It is more than ${MOST_DEPTH} folders deep. Move it up.` })
    } else if (isMarkdown(entry.name)) {
      if (found.length >= MOST_FILES)
        throw new AppError(
          'CONFIG_INVALID',
          `There are more than ${MOST_FILES} Markdown files in "${root}". Move some elsewhere.`,
        )
      // Reading a pipe or a device would block until a program writes.
      found.push(target.isFile() ? toFoundFile(root, file) : { ...toFoundFile(root, file), refused: 'It is no file.' })
    }
  }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (cause) {
    // An empty answer would read as "everything was deleted" and take all of it away.
    throw new AppError(
      'CONFIG_INVALID',
      `The folder "${folder}" cannot be read (${messageOf(cause)}). Make it a readable folder.`,
      { cause },
    )
  }
}

async function linkTarget(file: string, root: string) {
  const target = await realpath(file).catch(() => undefined)
  if (target === undefined || !target.startsWith(`${root}${sep}`)) return undefined
  return stat(target).catch(() => undefined)
}

function toFoundFile(root: string, file: string): FoundFile {
  const name = relative(root, file).split(sep).join('/')
  // Some systems store accented letters as two characters, while people type one.
  const path = name
    .normalize('NFC')
    .replace(MARKDOWN, '')
    .replace(/(?<=.)\/index$/, '')
  return { path, name, file }
}
