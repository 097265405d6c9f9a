import { randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { AppError, messageOf } from '../../contracts/index.ts'

/** A text, nothing there, or why it could not be read and what to do. */
export type TextRead =
  | { readonly kind: 'text'; readonly text: string; readonly mode: number }
  | { readonly kind: 'absent' }
  | ({ readonly kind: 'fault' } & ReadFault)

interface ReadFault {
  /** Set for a file that could be opened and is of no use here. */
  readonly is?: 'large' | 'binary'
  readonly message: string
  readonly fix: string
}

// Files written by hand are a thousand times smaller; a larger one was put there by mistake.
const MAX_BYTES = 1024 * 1024

// Pictures and archives are recognised by a few bytes, documents by a few lines.
const BEGINNING_BYTES = 4096

// Opening a named pipe without it would wait for a writer for ever. Windows has neither.
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/** Reads a text file of at most 1 MiB. `refuse` may refuse it by the stats of the opened file. */
export async function readText(
  file: string,
  refuse: (stats: Stats) => ReadFault | undefined = () => undefined,
): Promise<TextRead> {
  let handle: FileHandle | undefined
  try {
    handle = await open(file, READ_FLAGS)
    const stats = await handle.stat()
    const objection = unreadable(stats) ?? refuse(stats)
    if (objection) return { kind: 'fault', ...objection }
    return decode(await handle.readFile(), stats.mode & 0o777)
  } catch (error) {
    if (isAbsent(error)) return { kind: 'absent' }
    return {
      kind: 'fault',
      message: `It cannot be read: ${messageOf(error)}.`,
      fix: 'Make it readable for the user who runs this.',
    }
  } finally {
    await handle?.close()
  }
}

/** Whether a file of any size begins as text. A file that cannot be read counts as text. */
export async function beginsAsText(file: string): Promise<boolean> {
  let handle: FileHandle | undefined
  try {
    handle = await open(file, READ_FLAGS)
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(BEGINNING_BYTES), position: 0 })
    return isText(buffer.subarray(0, bytesRead))
  } catch {
    return true
  } finally {
    await handle?.close()
  }
}

/** Replaces a file in one step, so that a reader sees the old text or the new one, also after a crash. */
export async function writeAtomically(
  file: string,
  text: string,
  options: { mode?: number; before?: () => Promise<void> } = {},
): Promise<void> {
  const temporary = join(dirname(file), `.${basename(file)}.${randomUUID()}.tmp`)
  try {
    await writeSynced(temporary, text, options.mode)
    await options.before?.()
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(dirname(file))
}

/** Whether an error says that there is no such file. */
export function isAbsent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOENT' || code === 'ENOTDIR'
}

function unreadable(stats: Stats): ReadFault | undefined {
  if (!stats.isFile()) return { message: 'It is not a regular file.', fix: 'Put a regular file in its place.' }
  if (stats.size > MAX_BYTES) return { is: 'large', message: 'It is larger than 1 MiB.', fix: 'Make it smaller.' }
  return undefined
}

function isText(bytes: Uint8Array): boolean {
  try {
    // The last character may be cut in two.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

function decode(bytes: Uint8Array, mode: number): TextRead {
  try {
    // The byte order mark stays, so that an edit can keep it.
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), mode }
  } catch {
    // Decoding fails for one reason only, and the message says it.
    return { kind: 'fault', is: 'binary', message: 'It is not UTF-8 text.', fix: 'Save it as UTF-8.' }
  }
}

async function writeSynced(file: string, text: string, mode: number | undefined): Promise<void> {
  const handle = await open(file, 'wx', mode)
  try {
    await handle.writeFile(text)
    // The mode given to `open` is narrowed by the umask.
    if (mode !== undefined) await handle.chmod(mode)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, constants.O_RDONLY)
    await handle.sync().finally(() => handle.close())
  } catch {
    // Windows and some network folders cannot sync a folder; the file itself is written and in place.
  }
}

/** The name of a project's configuration file. */
export const CONFIG_FILE = 'quartermaster.config.json'

export interface FoundProject {
  projectDir: string
  /** Absent when there is none. */
  configFile?: string
}

/**
 * Finds the project: by the configuration file that was asked for, or by the nearest one from `from` upwards. A folder without one
 * may name a folder below it in its package.json: `"quartermaster": { "project": "tools" }`.
 */
export async function findProject({ from, config }: { from: string; config?: string }): Promise<FoundProject> {
  if (config !== undefined) return namedProject(resolve(from, config))
  const start = resolve(from)
  for (let folder = start; ; folder = dirname(folder)) {
    const configFile = join(folder, CONFIG_FILE)
    if (await isFile(configFile)) return { projectDir: folder, configFile }
    const named = await namedInPackage(folder)
    if (named !== undefined) return { projectDir: named, configFile: join(named, CONFIG_FILE) }
    if (dirname(folder) === folder) return { projectDir: start }
  }
}

async function namedProject(configFile: string): Promise<FoundProject> {
  if (await isFile(configFile)) return { projectDir: dirname(configFile), configFile }
  throw new AppError(
    'CONFIG_INVALID',
    `There is no configuration file ${configFile}. Check the path, or run "quartermaster init" to make one.`,
  )
}

async function namedInPackage(folder: string): Promise<string | undefined> {
  const manifest = join(folder, 'package.json')
  const name = projectIn(await readText(manifest))
  if (name === undefined) return undefined
  const projectDir = resolve(folder, name)
  if (projectDir.startsWith(folder + sep) && (await isFile(join(projectDir, CONFIG_FILE)))) return projectDir
  throw new AppError(
    'CONFIG_INVALID',
    `${manifest} names "${name}" as the project of Quartermaster. It has to be a folder below it with a ${CONFIG_FILE}.`,
  )
}

/** A package.json that does not read concerns other programs. */
function projectIn(read: TextRead): string | undefined {
  if (read.kind !== 'text' || !read.text.includes('"quartermaster"')) return undefined
  try {
    const { project } = JSON.parse(read.text).quartermaster
    return typeof project === 'string' ? project : undefined
  } catch {
    return undefined
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch {
    // Missing, or in a folder that we may not read: either way it is not usable.
    return false
  }
}
