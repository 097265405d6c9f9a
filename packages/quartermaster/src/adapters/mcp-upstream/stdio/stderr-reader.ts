import type { Readable } from 'node:stream'
import type { Clock } from '../../../core/kernel/index.ts'
import { createLineSplitter, type Line } from '../../mcp-wire/index.ts'
import { type ChildLog, LOG_LIMITS } from './child-log.ts'
import { reasonIn } from './last-words.ts'

export interface StderrReaderOptions {
  readonly log: ChildLog
  readonly clock: Clock
}

/** Takes what a program says about itself into its log. */
export interface StderrReader {
  /** The line that most likely says why it ended. */
  lastWords(): string | undefined
  /** The last lines, for who knows what to look for. */
  tail(): readonly string[]
  readonly ended: Promise<void>
}

/** More than this a second is not even read: the program waits then, and nobody else does. */
export const MOST_BYTES_A_SECOND = 16 * 1024 * 1024
const SECOND_MS = 1_000
/** Where a reason is looked for. */
const TAIL_LINES = 40
const TAIL_BYTES = 2_048
const NEWLINE = 0x0a

export function readStderr(stream: Readable, { log, clock }: StderrReaderOptions): StderrReader {
  // Longer than a kept line, so that the log can replace a secret before it cuts.
  const glimpseBytes = 2 * LOG_LIMITS.lineBytes
  const splitter = createLineSplitter({ maxBytes: glimpseBytes, glimpseBytes })
  const tail: string[] = []
  const isWithinMeans = createMeans(clock)

  function remember(text: string): void {
    if (text.trim() !== '') tail.push(text.slice(0, TAIL_BYTES))
    if (tail.length > TAIL_LINES) tail.shift()
  }

  function keep(line: Line): void {
    const text = ('text' in line ? line.text : line.tooLong.head).replace(/\r$/, '')
    log.add('stderr', text)
    remember(text)
  }

  /** Nothing is made of what would be dropped anyway, but the end may say why it ended. */
  function pass(chunk: Buffer): void {
    splitter.rest()
    log.drop('stderr', countLines(chunk))
    const end = chunk.lastIndexOf(NEWLINE) + 1
    for (const text of chunk.toString('utf8', Math.max(0, end - TAIL_BYTES), end).split('\n')) remember(text)
    splitter.push(chunk.subarray(end))
  }

  function take(chunk: Buffer): void {
    if (log.isFull('stderr')) pass(chunk)
    else for (const line of splitter.push(chunk)) keep(line)
    if (isWithinMeans(chunk.length)) return
    stream.pause()
    clock.after(SECOND_MS, () => stream.resume())
  }

  function finish(): void {
    const rest = splitter.rest()
    if (rest) keep(rest)
  }

  stream.on('data', take)
  const ended = new Promise<void>(resolve => {
    stream.once('close', () => {
      finish()
      resolve()
    })
  })
  // What cannot be read any more was not said; the exit tells the rest.
  stream.on('error', () => {})
  return { lastWords: () => reasonIn(tail), tail: () => tail, ended }
}

/** Whether so much more may be read in this second. */
function createMeans(clock: Clock): (bytes: number) => boolean {
  let since = clock.now()
  let read = 0
  return bytes => {
    const now = clock.now()
    if (now - since >= SECOND_MS) {
      since = now
      read = 0
    }
    read += bytes
    return read <= MOST_BYTES_A_SECOND
  }
}

/** By the byte: asking for the next newline costs more than looking where they are close together. */
function countLines(chunk: Buffer): number {
  let lines = 0
  for (let at = 0; at < chunk.length; at++) if (chunk[at] === NEWLINE) lines++
  return lines
}
