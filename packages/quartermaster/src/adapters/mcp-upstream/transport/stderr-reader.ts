import type { Readable } from 'node:stream'
import type { Clock } from '../../../core/kernel/index.ts'
import { createLineSplitter, type Line } from '../../mcp-wire/index.ts'
import { type ChildLog, LOG_LIMITS } from './child-log.ts'

interface StderrReaderOptions {
  readonly log: ChildLog
  readonly clock: Clock
}

/** Reads a program's stderr into its log. */
export interface StderrReader {
  /** The line that most likely says why it ended. */
  lastWords(): string | undefined
  /** The last lines, for specific checks. */
  tail(): readonly string[]
  readonly ended: Promise<void>
}

/** More than this a second is not read: only the program waits then. */
export const MOST_BYTES_A_SECOND = 16 * 1024 * 1024
const SECOND_MS = 1_000
/** Where a reason is looked for. */
const TAIL_LINES = 40
const TAIL_BYTES = 2_048
const NEWLINE = 0x0a

export function readStderr(stream: Readable, { log, clock }: StderrReaderOptions): StderrReader {
  // Longer than a kept line, so that one is left where the end may be part of a secret.
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
   * Lines that would be dropped are not decoded, but the end may say why it ended. Whole lines only: in the second half
   * of a line the second half of a secret would not be recognised.
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
  // What cannot be read is ignored; the exit tells the rest.
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

/** Where the last lines to decode begin: as many as are short together, and one at least. */
function lastLinesFrom(chunk: Buffer, { second, end }: { second: number; end: number }): number {
  if (end - second <= TAIL_BYTES) return second
  const from = chunk.indexOf(NEWLINE, end - TAIL_BYTES - 1) + 1
  return from < end ? from : Math.max(second, chunk.lastIndexOf(NEWLINE, end - 2) + 1)
}

/** By the byte: searching for the next newline is slower where they are close together. */
function countLines(chunk: Buffer): number {
  let lines = 0
  for (let at = 0; at < chunk.length; at++) if (chunk[at] === NEWLINE) lines++
  return lines
}

/**
 * `TypeError: …`, `ModuleNotFoundError: …`, `Error [ERR_X]: …`: the last line of a crash is often the runtime's
 * version.
 */
const ERROR_LINE = /^\s*(?:Uncaught )?[\w.]*(?:Error|Exception)\b[^:]{0,40}: /
/** npm says first what is wrong, and then much else. */
const NPM_LINE = /^npm (?:error|ERR!) \d{3} /
/** Words for failures; a hint how to get help often follows. */
const TROUBLE = /\b(?:error|fatal|panic|cannot|can't|could not|couldn't|not found|no such|denied)\b/i
/** A stack frame. It may name a file or a function after an error, and is none. */
const STACK_LINE = /^\s+at\s|^\s*File ".*", line \d+/
const WORD = /[\p{L}\p{N}]/u

/** The line that most likely says why a program ended. */
export function reasonIn(lines: readonly string[]): string | undefined {
  const telling = lines.filter(line => WORD.test(line) && !STACK_LINE.test(line))
  return (
    telling.findLast(line => ERROR_LINE.test(line)) ??
    telling.find(line => NPM_LINE.test(line)) ??
    telling.findLast(line => TROUBLE.test(line)) ??
    telling.at(-1)
  )
}
