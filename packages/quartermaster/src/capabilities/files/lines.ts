import type { FileHandle } from 'node:fs/promises'
import { TextDecoder } from 'node:util'
import { decodeWith, type Encoding, readUpTo } from './text.ts'

const CHUNK_BYTES = 64 * 1024

export interface LineOptions {
  encoding: Encoding
  /** The first line, from 1. */
  offset: number
  /** The most lines. */
  limit: number
  /** The most characters; only a single line that is longer is cut. */
  maxCharacters: number
  signal: AbortSignal
}

/** Some lines of a text. */
export interface Lines {
  readonly text: string
  readonly firstLine: number
  /** Smaller than `firstLine` when there was no such line. */
  readonly lastLine: number
  /** Whether the last line was too long and is cut. */
  readonly cut: boolean
  /** Where to go on; absent at the end of the file. */
  readonly nextOffset?: number
  /** Known once the end was seen. */
  readonly totalLines?: number
}

/** Reads a range of lines and nothing behind it; what stands before is passed over piece by piece. Throws `NotText`. */
export async function readLines(handle: FileHandle, options: LineOptions): Promise<Lines> {
  const collector = createCollector(options)
  const decoder = new TextDecoder(options.encoding, { fatal: true })
  for (let position = 0; ; ) {
    options.signal.throwIfAborted()
    const bytes = await readUpTo(handle, CHUNK_BYTES, position)
    position += bytes.length
    const ended = bytes.length < CHUNK_BYTES
    if (collector.take(decodeWith(decoder, bytes, !ended))) return collector.cutShort()
    if (ended) return collector.finish()
  }
}

interface Collector {
  /** Takes in more text; answers whether it has all it wants. */
  take(text: string): boolean
  cutShort(): Lines
  finish(): Lines
}

function createCollector({ offset, limit, maxCharacters }: LineOptions): Collector {
  const taken: string[] = []
  let size = 0
  let line = 1
  let current = ''
  let endsOpen = false
  let cut = false

  /** Adds a piece of one line; answers whether it was too much. */
  function add(piece: string, endsLine: boolean): boolean {
    if (taken.length === limit) return true
    current += piece
    if (size + current.length > maxCharacters) {
      cut = taken.length === 0
      if (cut) taken.push(withoutHalf(current.slice(0, maxCharacters)))
      return true
    }
    if (endsLine) flush()
    return false
  }

  function flush(): void {
    taken.push(current)
    size += current.length
    current = ''
  }

  const lines = () => ({ text: taken.join(''), firstLine: offset, lastLine: offset + taken.length - 1, cut })
  return {
    take(text) {
      for (let start = 0; start < text.length; ) {
        const newline = text.indexOf('\n', start)
        const end = newline === -1 ? text.length : newline + 1
        if (line >= offset && add(text.slice(start, end), newline !== -1)) return true
        endsOpen = newline === -1
        if (!endsOpen) line++
        start = end
      }
      return false
    },
    cutShort: () => ({ ...lines(), nextOffset: offset + taken.length }),
    finish() {
      if (current !== '') flush()
      return { ...lines(), totalLines: endsOpen ? line : line - 1 }
    },
  }
}

/** A cut must not leave half of a character behind. */
function withoutHalf(text: string): string {
  return /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text
}
