import * as crypto from 'node:crypto'
import type { Digest, Ids, Random } from '../../core/kernel/index.ts'

/**
 * Identifiers that begin with the time, so that a store has those of one moment side by side, and end with 96 random bits:
 * `op_mhzk3vq1` and 16 characters more.
 */
export function createIds(): Ids {
  // One call for many ids: asking the kernel for each costs more than everything else about a short call. They are written
  // out together as well, which twelve bytes at a time can be: they are sixteen characters exactly.
  let pool = ''
  let used = 0
  const moment = createMoments()
  return {
    next(prefix) {
      if (used === pool.length) {
        pool = crypto.randomBytes(ID_BYTES * 256).toString('base64url')
        used = 0
      }
      const id = pool.slice(used, used + ID_CHARACTERS)
      used += ID_CHARACTERS
      return `${prefix}_${moment()}${id}`
    },
    secret: prefix => `${prefix}_${crypto.randomBytes(32).toString('base64url')}`,
  }
}

const ID_BYTES = 12
const ID_CHARACTERS = 16

/** The time as a text that sorts as time does, made again once a millisecond. */
function createMoments(): () => string {
  let at = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now === at) return text
    at = now
    // Eight characters until the year 2059.
    text = now.toString(36)
    return text
  }
}

export const systemRandom: Random = Math.random

const { createHash } = crypto

// The one-shot form came with Node 20.12 and costs half as much.
export const sha256: Digest =
  'hash' in crypto ? text => crypto.hash('sha256', text) : text => createHash('sha256').update(text).digest('hex')

/** SHA-256 of what comes piece by piece. */
export function openSha256(): { add(bytes: Uint8Array): void; end(): string } {
  const hash = createHash('sha256')
  return { add: bytes => void hash.update(bytes), end: () => hash.digest('hex') }
}
