import type { Readable } from 'node:stream'
import type { Clock } from '../../../core/kernel/index.ts'
import { shortened } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import { createLineSplitter, type Line, type LineEnds, type Message } from '../../mcp-wire/index.ts'
import type { ErrorReport } from '../peer/channel.ts'
import { createYieldingQueue, takeMessages, takeTooLong } from '../peer/incoming-message.ts'
import { type ChildLog, LOG_LIMITS } from './child-log.ts'

export interface MessageReaderLimits {
  readonly maxLineBytes: number
  /**
   * How far an overlong line is followed to its end. The same limit holds for consecutive lines that are no messages.
   */
  readonly maxSkippedBytes: number
  /** Lines before the first message: some programs greet on their output. */
  readonly maxGreeting: number
  /** Consecutive lines that are no messages, after the first message: some programs report progress there. */
  readonly maxNoise: number
}

interface MessageReaderOptions {
  readonly limits: MessageReaderLimits
  onMessage(message: Message): void
  onPart?(): void
  /** A line that is no message, or exceeds the limit in `excess`. */
  onNoise(text: string, excess?: string): void
  /** The program does not speak the protocol; nothing more is read. */
  onGarbled(trouble: ErrorReport): void
  start(head: string): string
  excerpt(text: string): string
}

/** Reads the messages of a program's output, a line each, in turns that yield to other work. */
export interface MessageReader {
  stop(): void
  /** Resolves when everything read was handed over; `undefined` where it is. */
  handling(): Promise<void> | undefined
  /** Resolves when the output has ended and everything in it was handed over. */
  readonly ended: Promise<void>
}

/** Far more than is shown: the end may be part of a secret and is left out. */
const GLIMPSE_BYTES = 16 * 1024

/** Shorter lines are complete in a moment. */
const LONG_BYTES = 256 * 1024
/** Less is no sign of progress. */
const PART_BYTES = 16 * 1024

export function readMessages(stream: Readable, options: MessageReaderOptions): MessageReader {
  const { limits, onMessage, onNoise, onGarbled, start, excerpt } = options
  const splitter = createLineSplitter({ maxBytes: limits.maxLineBytes, glimpseBytes: GLIMPSE_BYTES })
  const worker = createYieldingQueue<Line>({
    handle,
    onBusy() {
      isBusy = true
      stream.pause()
    },
    onIdle() {
      rest()
      if (isAtEnd) finish()
      else stream.resume()
    },
  })
  let row = newRow(limits.maxGreeting)
  let nextPart = LONG_BYTES
  let isStopped = false
  let isAtEnd = false
  let isBusy = false
  let tellRest: () => void = () => {}
  let finish: () => void = () => {}
  const ended = new Promise<void>(resolve => {
    finish = resolve
  })

  function rest(): void {
    isBusy = false
    tellRest()
  }

  function take(chunk: Buffer): void {
    if (isStopped) return
    worker.add(splitter.push(chunk))
    const begunBytes = splitter.begunBytes()
    if (begunBytes < LONG_BYTES) nextPart = LONG_BYTES
    else if (begunBytes >= nextPart) {
      nextPart = begunBytes + PART_BYTES
      options.onPart?.()
    }
    if (begunBytes > limits.maxSkippedBytes) takeRest()
  }

  function takeRest(): void {
    const rest = splitter.rest()
    worker.add(rest ? [rest] : [])
  }

  function handle(line: Line): undefined | Promise<void> {
    if ('tooLong' in line) onTooLong(line.tooLong)
    else if (line.text.trim() !== '') {
      const text = withoutMark(line.text)
      return takeMessages(text, (messages, excess) => onMessages({ text, bytes: text.length, excess }, messages))
    }
    return undefined
  }

  /** Only the call that the line answers fails. */
  function onTooLong(ends: LineEnds): void {
    const text = start(ends.head)
    if (ends.bytes > limits.maxSkippedBytes) return garbled(withoutEnd(excerpt(text), limits.maxSkippedBytes))
    const { bytes } = ends
    takeTooLong(ends, limits.maxLineBytes, (messages, excess) => onMessages({ text, bytes, excess }, messages))
  }

  function onMessages(line: OutputLine, messages: readonly Message[]): void {
    if (isStopped) return
    if (messages.length === 0) return onNoiseLine(line)
    if (row.lines > 0 || row.mostLines !== limits.maxNoise) row = newRow(limits.maxNoise)
    if (line.excess !== undefined) onNoise(line.text, line.excess)
    for (const message of messages) if (!isStopped) onMessage(message)
  }

  /** Like other clients, ignores lines that are no messages, but ends a program that writes nothing else. */
  function onNoiseLine({ text, bytes, excess }: OutputLine): void {
    row.lines++
    row.bytes += bytes
    if (row.said.length < MOST_SAID) row.said += `${excerpt(text)} `
    if (row.lines > row.mostLines || row.bytes > limits.maxSkippedBytes)
      return garbled({ reason: 'It writes lines that are no messages.', said: shortened(row.said.trim(), MOST_SAID) })
    onNoise(text, excess)
  }

  function garbled(trouble: ErrorReport): void {
    stop()
    stream.destroy()
    onGarbled(trouble)
  }

  /** The rest is read and dropped: a program that cannot write cannot exit. */
  function stop(): void {
    isStopped = true
    worker.stop()
    rest()
    stream.resume()
    finish()
  }

  stream.on('data', take)
  stream.once('close', () => {
    isAtEnd = true
    takeRest()
  })
  return {
    stop,
    handling() {
      if (!isBusy) return undefined
      return new Promise(resolve => {
        tellRest = resolve
      })
    },
    ended,
  }
}

interface OutputLine {
  readonly text: string
  readonly bytes: number
  readonly excess: string | undefined
}

/** Consecutive lines that are no messages. The first ones show best what writes them. */
interface NoiseRow {
  readonly mostLines: number
  lines: number
  bytes: number
  said: string
}

function newRow(mostLines: number): NoiseRow {
  return { mostLines, lines: 0, bytes: 0, said: '' }
}

/** Some programs begin their output with a byte order mark. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

function withoutEnd(head: string, maxBytes: number): ErrorReport {
  return { reason: `It wrote a line of more than ${maxBytes} bytes.`, said: head }
}

interface StderrReaderOptions {
  readonly log: ChildLog
  readonly clock: Clock
}

/** Reads a program's stderr into its log. */
export interface StderrReader {
  /** The line that most likely says why the program ended. */
  errorLine(): string | undefined
  /** The last lines. */
  tail(): readonly string[]
  readonly ended: Promise<void>
}

/** More is not read in a second: only the program waits then. */
export const MOST_BYTES_A_SECOND = 16 * 1024 * 1024
const SECOND_MS = 1_000
const TAIL_LINES = 40
const TAIL_BYTES = 2_048
const NEWLINE = 0x0a

export function readStderr(stream: Readable, { log, clock }: StderrReaderOptions): StderrReader {
  // Longer than a kept line, so that one is left where the end may be part of a secret.
  const glimpseBytes = 2 * LOG_LIMITS.lineBytes
  const splitter = createLineSplitter({ maxBytes: glimpseBytes, glimpseBytes })
  const tail: string[] = []
  const isWithinBudget = createByteBudget(clock)

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
   * Dropped lines are not decoded, except the last ones, which may say why the program ended. Whole lines only: in
   * half of a line half of a secret would not be recognised.
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
    if (isWithinBudget(chunk.length)) return
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
  // The exit is reported anyway.
  stream.on('error', () => {})
  return { errorLine: () => reasonIn(tail), tail: () => tail, ended }
}

function createByteBudget(clock: Clock): (bytes: number) => boolean {
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

/** Where the last lines to decode begin: as many as are short together, but at least one. */
function lastLinesFrom(chunk: Buffer, { second, end }: { second: number; end: number }): number {
  if (end - second <= TAIL_BYTES) return second
  const from = chunk.indexOf(NEWLINE, end - TAIL_BYTES - 1) + 1
  return from < end ? from : Math.max(second, chunk.lastIndexOf(NEWLINE, end - 2) + 1)
}

/** By the byte: searching is slower where newlines are close together. */
function countLines(chunk: Buffer): number {
  let lines = 0
  for (let at = 0; at < chunk.length; at++) if (chunk[at] === NEWLINE) lines++
  return lines
}

/**
 * `TypeError: …`, `ModuleNotFoundError: …`, `Error [ERR_X]: …`: the last line of a crash is often only the runtime's
 * version.
 */
const ERROR_LINE = /^\s*(?:Uncaught )?[\w.]*(?:Error|Exception)\b[^:]{0,40}: /
/** npm says first what is wrong, then much else. */
const NPM_LINE = /^npm (?:error|ERR!) \d{3} /
/** Words for failures; a hint how to get help often follows. */
const TROUBLE = /\b(?:error|fatal|panic|cannot|can't|could not|couldn't|not found|no such|denied)\b/i
/** A stack frame, which may name a file or a function after an error. */
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
