// @ts-check
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

/**
 * A hash over names and contents: a checkout gives every file a new time, so times would tell too little.
 * @param {string} root names are counted from here
 * @param {string[]} files
 * @param {string} more
 */
export function hashOf(root, files, more) {
  const hash = createHash('sha256').update(more)
  for (const file of [...files].sort()) {
    hash.update(`\0${relative(root, file)}\0`).update(contentOf(file) ?? '')
  }
  return hash.digest('hex')
}

/**
 * What a file holds; nothing where there is none.
 * @param {string} file
 */
export function contentOf(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
