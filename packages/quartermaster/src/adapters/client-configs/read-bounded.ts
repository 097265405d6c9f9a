import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { messageOf } from '../../contracts/index.ts'

/** The text of a regular file that is not larger than it may be, or why there is none. */
export async function readBounded(
  file: string,
  maxBytes: number,
): Promise<{ text: string } | { found: boolean; problem?: string }> {
  try {
    // Opening a named pipe without this would wait for a writer for ever. Windows has neither.
    const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      const stats = await handle.stat()
      if (!stats.isFile()) return { found: true, problem: 'It is not a regular file.' }
      if (stats.size > maxBytes) return { found: true, problem: 'It is too large.' }
      return { text: await handle.readFile('utf8') }
    } finally {
      await handle.close()
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return { found: false }
    return { found: true, problem: `It cannot be read: ${messageOf(error)}` }
  }
}
