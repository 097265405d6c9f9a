import * as crypto from 'node:crypto'
import type { Digest, Ids, Random } from '../../core/kernel/index.ts'

/** Identifiers of 128 random bits: `op_9fGk…`. */
export function createIds(): Ids {
  // One call for many ids: asking the kernel for each costs more than everything else about a short call.
  let pool = Buffer.alloc(0)
  let used = 0
  return {
    next(prefix) {
      if (used === pool.length) {
        pool = crypto.randomBytes(ID_BYTES * 256)
        used = 0
      }
      const id = pool.subarray(used, used + ID_BYTES).toString('base64url')
      used += ID_BYTES
      return `${prefix}_${id}`
    },
    secret: prefix => `${prefix}_${crypto.randomBytes(32).toString('base64url')}`,
  }
}

const ID_BYTES = 16

export const systemRandom: Random = Math.random

const { createHash } = crypto

// The one-shot form came with Node 20.12 and costs half as much.
export const sha256: Digest =
  'hash' in crypto ? text => crypto.hash('sha256', text) : text => createHash('sha256').update(text).digest('hex')
