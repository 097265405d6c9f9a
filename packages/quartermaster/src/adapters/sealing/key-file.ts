import { randomBytes } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { copyFile, type FileHandle, link, open, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError, isAppError, messageOf } from '../../contracts/index.ts'

export const KEY_BYTES = 32

/** A key in base64url. */
const LINE = /^[\w-]{43}$/

/**
 * The keys in the file, oldest first: the last one seals, all of them open. The first to ask makes the file with one
 * key; a key is replaced by adding a line.
 */
export async function readKeys(file: string): Promise<readonly Buffer[]> {
  try {
    return (await readExisting(file)) ?? (await create(file))
  } catch (error) {
    throw isAppError(error) ? error : unusable(file, error)
  }
}

async function readExisting(file: string): Promise<readonly Buffer[] | undefined> {
  const handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch(unless('ENOENT'))
  if (!handle) return undefined
  try {
    // Judged on the opened file, so that nobody can swap it in between.
    if (openToOthers(await handle.stat())) throw readable(file)
    return parse(file, await handle.readFile('utf8'))
  } finally {
    await handle.close()
  }
}

function parse(file: string, text: string): readonly Buffer[] {
  const lines = text.split('\n').filter(line => line !== '')
  if (lines.length === 0 || lines.some(line => !LINE.test(line))) throw broken(file)
  return lines.map(line => Buffer.from(line, 'base64url'))
}

/**
 * Written aside, synced and linked into place: the file appears whole or not at all, and never replaces another. The
 * folder is synced too, or a power cut could take the key and leave what was sealed with it.
 */
async function create(file: string): Promise<readonly Buffer[]> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  try {
    const line = randomBytes(KEY_BYTES).toString('base64url')
    await writeFile(draft, `${line}\n`, { flag: 'wx', mode: 0o600, flush: true })
    // Whoever came first has made the key that counts.
    await linkOrCopy(draft, file).catch(unless('EEXIST'))
  } finally {
    await rm(draft, { force: true })
  }
  await syncFolder(dirname(file))
  return (await readExisting(file)) ?? create(file)
}

/** Some file systems have no hard links; an exclusive copy is the next best. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error
    await copyFile(from, to, constants.COPYFILE_EXCL)
  }
}

async function syncFolder(dir: string): Promise<void> {
  // Windows opens no folders, and needs no such sync.
  const handle: FileHandle | undefined = await open(dir, constants.O_RDONLY).catch(() => undefined)
  await handle?.sync().finally(() => handle.close())
}

/** Whether anyone but the owner is let in, or the owner is not us. Windows keeps its permissions elsewhere. */
function openToOthers({ mode, uid }: Stats): boolean {
  if (process.platform === 'win32') return false
  const own = process.geteuid?.()
  return (mode & 0o077) !== 0 || (own !== 0 && own !== uid)
}

function unless(code: string): (error: unknown) => undefined {
  return error => {
    if (codeOf(error) !== code) throw error
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

function readable(file: string): AppError {
  const next = `If nobody did, run: chmod 600 "${file}". Otherwise replace every secret that was sealed with it.`
  return new AppError('CONFIG_INVALID', `Others can read the key in "${file}", so it is not used. ${next}`)
}

function broken(file: string): AppError {
  const next = 'Put it back from a backup. Without it, what was sealed cannot be read again; delete it to begin anew.'
  return new AppError('CONFIG_INVALID', `"${file}" does not hold a key. ${next}`)
}

function unusable(file: string, cause: unknown): AppError {
  return new AppError('CONFIG_INVALID', `The key file "${file}" cannot be used: ${messageOf(cause)}`, { cause })
}
