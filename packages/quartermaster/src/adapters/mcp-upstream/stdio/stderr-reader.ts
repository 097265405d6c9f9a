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
  // Longer than a kept line, so that there is one left where the end may be a part of a secret.
  const glimpseBytes = 2 * LOG_LIMITS.lineBytes
  const splitter = createLineSplitter({ maxBytes: glimpseBytes, glimpseBytes })
  const tail: string[] = []
  const isWithinMeans = createMeans(clock)

  function remember(text: string): void {
    if (text.trim() !== '') tail.push(log.redactStart(text, TAIL_BYTES).text)
    if (tail.length > TAIL_LINES) tail.shift()
  }

  function keep(line: Line): void {
    const text = textOf(line)
    log.add('stderr', text)
    remember(text)
  }

  function textOf(line: Line): string {
    if ('text' in line) return line.text.replace(/\r$/, '')
    const { head } = line.tooLong
    return `${log.redactStart(head, head.length, { isCut: true }).text}…`
  }

  /**
   * Nothing is made of what would be dropped anyway, but the end may say why it ended. Of whole lines alone: in the later half of one
   * nobody would know the later half of a secret.
   */
  function pass(chunk: Buffer): void {
    log.drop('stderr', countLines(chunk))
    const second = chunk.indexOf(NEWLINE) + 1
    const end = chunk.lastIndexOf(NEWLINE) + 1
    for (const line of splitter.push(chunk.subarray(0, second))) remember(textOf(line))
    for (const text of chunk.toString('utf8', lastLinesFrom(chunk, { second, end }), end).split('\n')) remember(text)
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

/** Where the last lines begin that are looked at: as many as are short together, and one at least. */
function lastLinesFrom(chunk: Buffer, { second, end }: { second: number; end: number }): number {
  if (end - second <= TAIL_BYTES) return second
  const from = chunk.indexOf(NEWLINE, end - TAIL_BYTES - 1) + 1
  return from < end ? from : Math.max(second, chunk.lastIndexOf(NEWLINE, end - 2) + 1)
}

/** By the byte: asking for the next newline costs more than looking where they are close together. */
function countLines(chunk: Buffer): number {
  let lines = 0
  for (let at = 0; at < chunk.length; at++) if (chunk[at] === NEWLINE) lines++
  return lines
}
