import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { messageOf } from '../../contracts/index.ts'

/** The text of a regular file that is not larger than it may be, or why there is none. */
export async function readBounded(
  file: string,
  maxBytes: number,
): Promise<{ text: string } | { found: false } | { found: true; problem: string }> {
  try {
    // Opening a named pipe without this would wait for a writer for ever. Windows has neither.
    const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      const stats = await handle.stat()
      if (!stats.isFile()) return { found: true, problem: 'It is not a regular file.' }
      if (stats.size > maxBytes) return { found: true, problem: 'It is too large.' }
      return decoded(await handle.readFile())
    } finally {
      await handle.close()
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return { found: false }
    return { found: true, problem: `It cannot be read: ${messageOf(error)}` }
  }
}

function decoded(bytes: Uint8Array): { text: string } | { found: true; problem: string } {
  try {
    return { text: new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes) }
  } catch {
    return { found: true, problem: 'It is not UTF-8 text. Save it as UTF-8.' }
  }
}

/** What is written by `>` in the shell of Windows begins with a mark that says which of its own it is. */
function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
}
