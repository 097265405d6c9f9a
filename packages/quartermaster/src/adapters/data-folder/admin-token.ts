import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../../contracts/index.ts'
import { codeOf, ignoring, unusable } from './errors.ts'
import { openToOthers } from './permissions.ts'

/** 256 bits in base64url. */
const TOKEN = /^[\w-]{43}$/

/** The folder's admin token. The first to ask makes it; all others read that one. */
export async function makeAdminToken(dir: string): Promise<string> {
  try {
    return (await readAdminToken(dir)) ?? (await createToken(dir))
  } catch (error) {
    throw unusable(dir, error)
  }
}

/** The folder's admin token, if one was made. One that others could read is no secret, so it is refused. */
export async function readAdminToken(dir: string): Promise<string | undefined> {
  const file = tokenFile(dir)
  const handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch(ignoring('ENOENT'))
  if (!handle) return undefined
  try {
    // Judged on the opened file, so that nobody can swap it in between.
    if (openToOthers(await handle.stat())) throw readable(file)
    const token = (await handle.readFile('utf8')).trim()
    if (!TOKEN.test(token)) throw broken(file)
    return token
  } finally {
    await handle.close()
  }
}

/** Written aside and linked into place: the file appears whole or not at all, and never replaces another. */
async function createToken(dir: string): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  const draft = `${tokenFile(dir)}.${randomBytes(6).toString('hex')}`
  try {
    await writeFile(draft, `${token}\n`, { flag: 'wx', mode: 0o600, flush: true })
    await linkOrCopy(draft, tokenFile(dir))
    return token
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    return (await readAdminToken(dir)) ?? createToken(dir)
  } finally {
    await rm(draft, { force: true })
  }
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

function tokenFile(dir: string): string {
  return join(dir, 'admin-token')
}

function readable(file: string): AppError {
  const next = `If nobody did, run: chmod 600 "${file}". Otherwise delete it; the next start makes a new one.`
  return new AppError('CONFIG_INVALID', `Others can read the admin token in "${file}", so it is not used. ${next}`)
}

function broken(file: string): AppError {
  return new AppError(
    'CONFIG_INVALID',
    `"${file}" does not hold an admin token. Delete it; the next start makes a new one.`,
  )
}
