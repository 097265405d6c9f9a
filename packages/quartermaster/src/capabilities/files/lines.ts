import type { FileHandle } from 'node:fs/promises'
import { TextDecoder } from 'node:util'
import { decodeWith, type Encoding, readUpTo } from '../shared/text.ts'

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
  const collected: Collected = { taken: [], size: 0, line: 1, current: '', endsOpen: false, cut: false }
  const decoder = new TextDecoder(options.encoding, { fatal: true })
  for (let position = 0; ; ) {
    options.signal.throwIfAborted()
    const bytes = await readUpTo(handle, CHUNK_BYTES, position)
    position += bytes.length
    const ended = bytes.length < CHUNK_BYTES
    if (take(collected, decodeWith(decoder, bytes, !ended), options)) return cutShort(collected, options)
    if (ended) return finished(collected, options)
  }
}

type Limits = Pick<LineOptions, 'offset' | 'limit' | 'maxCharacters'>

/** What was taken in so far. */
interface Collected {
  readonly taken: string[]
  /** Characters taken. */
  size: number
  /** The line that the next character belongs to. */
  line: number
  /** The beginning of that line, where it is wanted. */
  current: string
  /** Whether the last line had no end yet. */
  endsOpen: boolean
  cut: boolean
}

/** Takes in more text; answers whether there is more than is wanted. */
function take(collected: Collected, text: string, limits: Limits): boolean {
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start)
    collected.endsOpen = newline === -1
    const end = collected.endsOpen ? text.length : newline + 1
    if (collected.line >= limits.offset && !add(collected, text.slice(start, end), limits)) return true
    if (!collected.endsOpen) collected.line++
    start = end
  }
  return false
}

/** Adds a piece of one line; answers whether it fitted. */
function add(collected: Collected, piece: string, { limit, maxCharacters }: Limits): boolean {
  const { taken, size } = collected
  if (taken.length === limit) return false
  collected.current += piece
  if (size + collected.current.length > maxCharacters) {
    collected.cut = taken.length === 0
    if (collected.cut) taken.push(withoutHalf(collected.current.slice(0, maxCharacters)))
    return false
  }
  if (!collected.endsOpen) flush(collected)
  return true
}

function flush(collected: Collected): void {
  collected.taken.push(collected.current)
  collected.size += collected.current.length
  collected.current = ''
}

function cutShort({ taken, cut }: Collected, { offset }: Limits): Lines {
  const nextOffset = offset + taken.length
  return { text: taken.join(''), firstLine: offset, lastLine: nextOffset - 1, cut, nextOffset }
}

function finished(collected: Collected, { offset }: Limits): Lines {
  if (collected.current !== '') flush(collected)
  const { taken, line, endsOpen, cut } = collected
  const totalLines = endsOpen ? line : line - 1
  return { text: taken.join(''), firstLine: offset, lastLine: offset + taken.length - 1, cut, totalLines }
}

/** A cut must not leave half of a character behind. */
function withoutHalf(text: string): string {
  return /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text
}
