import { createHash } from 'node:crypto'

/**
 * A word on a shelf as a number of 64 bits, which an index holds better than their names. PostgreSQL makes the same one of the words
 * of a row. Two that share a number by chance only cost a look: whoever finds a row looks at its shelf and its words again.
 */
export function wordKey(shelf: string, word: string): string {
  return createHash('sha256')
    .update(shelf + word)
    .digest()
    .readBigInt64BE(0)
    .toString()
}
