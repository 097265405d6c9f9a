import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { unusable } from './errors.ts'
import { makeSecret, type SecretFile } from './secret-file.ts'

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
    whenBroken: 'Put it back from a backup. Without it, what was sealed cannot be read again; delete it to begin anew.',
  }
}
