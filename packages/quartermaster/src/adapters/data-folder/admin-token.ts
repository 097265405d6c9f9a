import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { unusable } from './errors.ts'
import { makeSecret, readSecret, type SecretFile } from './secret-file.ts'

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
