import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, open, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError } from '../../contracts/index.ts'
import { codeOf, ignoring } from './errors.ts'
import { openToOthers } from './permissions.ts'
import { syncFolder } from './sync-folder.ts'

/** A file with 256 random bits that only the owner of the folder can read. */
export interface SecretFile {
  readonly path: string
  /** What it holds, for messages: `admin token`. */
  readonly what: string
  /** What to do when others could read it. */
  readonly whenSeen: string
  /** What to do when it holds something else. */
  readonly whenBroken: string
}

/** 256 bits in base64url. */
const SECRET = /^[\w-]{43}$/

/** The secret in the file. The first to ask makes it; all others read that one. */
export async function makeSecret(file: SecretFile): Promise<string> {
  return (await readSecret(file)) ?? createSecret(file)
}

/** The secret, if one was made. One that others could read is no secret, so it is refused. */
export async function readSecret(file: SecretFile): Promise<string | undefined> {
  const handle = await open(file.path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch(ignoring('ENOENT'))
  if (!handle) return undefined
  try {
    // Judged on the opened file, so that nobody can swap it in between.
    if (openToOthers(await handle.stat())) throw seen(file)
    const secret = (await handle.readFile('utf8')).trim()
    if (!SECRET.test(secret)) throw broken(file)
    return secret
  } finally {
    await handle.close()
  }
}

/**
 * Written aside, synced and linked into place: the file appears whole or not at all, and never replaces another. The
 * folder is synced too, or a power cut could take a key and leave what was sealed with it.
 */
async function createSecret(file: SecretFile): Promise<string> {
  const draft = `${file.path}.${randomBytes(6).toString('hex')}`
  try {
    await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { flag: 'wx', mode: 0o600, flush: true })
    // Whoever came first has made the one that counts.
    await linkOrCopy(draft, file.path).catch(ignoring('EEXIST'))
  } finally {
    await rm(draft, { force: true })
  }
  await syncFolder(dirname(file.path))
  return (await readSecret(file)) ?? createSecret(file)
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

function seen({ path, what, whenSeen }: SecretFile): AppError {
  const next = `If nobody did, run: chmod 600 "${path}". Otherwise ${whenSeen}`
  return new AppError('CONFIG_INVALID', `Others can read the ${what} in "${path}", so it is not used. ${next}`)
}

function broken({ path, what, whenBroken }: SecretFile): AppError {
  return new AppError('CONFIG_INVALID', `"${path}" does not hold the ${what}. ${whenBroken}`)
}
