import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { copyFile, link, open, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AppError } from '../../contracts/index.ts'
import { codeOf, ignoring, openToOthers, syncFolder, unusable } from './folder.ts'

/** A file with 256 random bits that only the owner of the folder can read. */
interface SecretFile {
  readonly path: string
  /** Its contents, for messages: `admin token`. */
  readonly what: string
  /** What to do when others could read it. */
  readonly whenSeen: string
  /** What to do when it holds something else. */
  readonly whenBroken: string
}

/** 256 bits in base64url. */
const SECRET = /^[\w-]{43}$/

/** The secret in the file. The first to ask makes it; all others read that one. */
async function makeSecret(file: SecretFile): Promise<string> {
  return (await readSecret(file)) ?? createSecret(file)
}

/** The secret, if one was made. One that others could read is no secret, so it is refused. */
async function readSecret(file: SecretFile): Promise<string | undefined> {
  const handle = await open(file.path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch(ignoring('ENOENT'))
  if (!handle) return undefined
  try {
    // Judged on the opened file, so that the file cannot be swapped in between.
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
    // The process that came first made the valid one.
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
  const next = `If not, run: chmod 600 "${path}". Otherwise ${whenSeen}`
  return new AppError('CONFIG_INVALID', `Others can read the ${what} in "${path}", so it is not used. ${next}`)
}

function broken({ path, what, whenBroken }: SecretFile): AppError {
  return new AppError('CONFIG_INVALID', `"${path}" does not hold the ${what}. ${whenBroken}`)
}

/** The folder's admin token. The first to ask makes it; all others read that one. */
export async function makeAdminToken(dir: string): Promise<string> {
  try {
    return await makeSecret(tokenFile(dir))
  } catch (error) {
    throw unusable(dir, error)
  }
}

/** The folder's admin token, if one was made. One that others could read is no secret, so it is refused. */
export function readAdminToken(dir: string): Promise<string | undefined> {
  return readSecret(tokenFile(dir))
}

/** Whether one was made, good or not. */
export function hasAdminToken(dir: string): boolean {
  return existsSync(tokenFile(dir).path)
}

function tokenFile(dir: string): SecretFile {
  return {
    path: join(dir, 'admin-token'),
    what: 'admin token',
    whenSeen: 'delete it; the next start makes a new one.',
    whenBroken: 'Delete it; the next start makes a new one.',
  }
}

/** The key that makes arguments and secrets unreadable in the store. The first to ask makes it; all others read that one. */
export async function makeSealingKey(dir: string): Promise<Uint8Array> {
  try {
    return Buffer.from(await makeSecret(keyFile(dir)), 'base64url')
  } catch (error) {
    throw unusable(dir, error)
  }
}

/** Whether one was made, good or not. */
export function hasSealingKey(dir: string): boolean {
  return existsSync(keyFile(dir).path)
}

function keyFile(dir: string): SecretFile {
  return {
    path: join(dir, 'sealing-key'),
    what: 'sealing key',
    whenSeen: 'replace every secret that was sealed with it, then delete it; the next start makes a new one.',
    whenBroken: 'Put it back from a backup. Without it, what was sealed cannot be read again; delete it to start over.',
  }
}

/** Tells whether a candidate is this token. Digests have one length, so that the comparison takes one time. */
export function verifier(token: string): (candidate: string) => boolean {
  const expected = sha256(token)
  return candidate => timingSafeEqual(sha256(candidate), expected)
}

/**
 * Proves that one knows this token without saying it. The port is part of the proof, so that a program on a port that
 * was ours cannot fetch the proof from where we are now.
 */
export function prover(token: string): (challenge: string, port: number) => string {
  return (challenge, port) =>
    createHmac('sha256', token).update(`quartermaster owner\n${port}\n${challenge}`).digest('base64url')
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
