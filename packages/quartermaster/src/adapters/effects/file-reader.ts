import type { BigIntStats } from 'node:fs'
import { constants } from 'node:fs'
import { type FileHandle, open, realpath, stat } from 'node:fs/promises'
import type { Observation } from '../../contracts/index.ts'
import { codeOf, type FilePlace, isMissing, observationOf, type Walls } from './fields.ts'

/** More of a file is not searched. */
export const MOST_BYTES = 16 * 1024 * 1024

/** A file that is open, piece by piece. */
export interface OpenFile {
  /** Every byte in order, never more than `most` of them: then it throws. */
  chunks(most?: number): AsyncGenerator<Buffer, void, void>
}

/** Opens a file inside the walls and hands it to `look`. Answers itself when there is no file or it cannot be read. */
export type ReadFile = (
  place: FilePlace,
  signal: AbortSignal,
  look: (file: OpenFile) => Promise<Observation>,
) => Promise<Observation>

export function createFileReader(walls: Walls): ReadFile {
  return async (place, signal, look) => {
    const located = await walls.locate(place)
    if (located.at === 'absent') return NO_FILE
    if (located.at === 'unclear') return observationOf(located)
    let handle: FileHandle | undefined
    try {
      handle = await open(located.real, FLAGS)
      const stats = await handle.stat({ bigint: true })
      if (!stats.isFile()) return { seen: 'unclear', reason: 'What is there is no file.', isLasting: true }
      if (!(await isStill(located, stats))) return { seen: 'unclear', reason: 'It was moved while it was looked at.' }
      return await look(openFile(handle, stats.size, signal))
    } catch (error) {
      if (error instanceof TooLarge) return { seen: 'unclear', reason: error.message }
      if (isMissing(error)) return NO_FILE
      if (signal.aborted) throw error
      return { seen: 'unclear', reason: `The file cannot be read (${codeOf(error) ?? 'the file system failed'}).` }
    } finally {
      await handle?.close()
    }
  }
}

const NO_FILE: Observation = { seen: 'absent', reason: 'There is no such file.' }

// Not all systems have them. Opening a pipe would block, and the real path of a file is no link.
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0)

/** Whether the path still means what was opened: a folder on the way may have become a link in between. */
async function isStill({ real, asked }: { real: string; asked: string }, opened: BigIntStats): Promise<boolean> {
  if ((await realpath(asked)) !== real) return false
  const { dev, ino } = await stat(real, { bigint: true })
  return dev === opened.dev && ino === opened.ino
}

class TooLarge extends Error {}

const CHUNK_BYTES = 64 * 1024

function openFile(handle: FileHandle, size: bigint, signal: AbortSignal): OpenFile {
  return {
    async *chunks(most = Number.POSITIVE_INFINITY) {
      if (size > most) throw tooLarge(most)
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
      for (let total = 0; ; ) {
        signal.throwIfAborted()
        const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, total)
        if (bytesRead === 0) return
        total += bytesRead
        // It may grow while it is read.
        if (total > most) throw tooLarge(most)
        yield buffer.subarray(0, bytesRead)
      }
    },
  }
}

function tooLarge(most: number): TooLarge {
  return new TooLarge(`The file is larger than ${most / 1024 / 1024} MiB, and so much is not searched.`)
}
