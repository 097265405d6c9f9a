import type { Readable } from 'node:stream'
import { shortened } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import { createLineSplitter, type Line, type LineEnds, type Message } from '../../mcp-wire/index.ts'
import type { Trouble } from '../peer/channel.ts'
import { createYieldingQueue, takeMessages, takeTooLong } from '../peer/incoming-message.ts'

export interface MessageReaderLimits {
  readonly maxLineBytes: number
  /**
   * How far an overlong line is followed to its end; what comes after it is read again. The same for consecutive lines
   * that are no messages.
   */
  readonly maxSkippedBytes: number
  /** Lines before the first message. Some programs greet on their output; one that only does that is no MCP server. */
  readonly maxGreeting: number
  /** Consecutive lines that are no messages, after a first message. Some programs report progress there. */
  readonly maxNoise: number
}

interface MessageReaderOptions {
  readonly limits: MessageReaderLimits
  onMessage(message: Message): void
  onPart?(): void
  /** A line that is no message, or exceeds a limit, and which. */
  onNoise(text: string, excess?: string): void
  /** It does not speak the protocol; nothing more is read. */
  onGarbled(trouble: Trouble): void
  /** The presentable part of a line of which only the beginning is kept. */
  start(head: string): string
  /** A short piece of a foreign text that may be shown. */
  excerpt(text: string): string
}

/** Reads the messages of a program's output, a line each, in turns that yield to other work. */
export interface MessageReader {
  stop(): void
  /** Resolves when everything read was handed over. `undefined`: it is. */
  atWork(): Promise<void> | undefined
  /** Resolves when the output has ended and everything in it was handed over. */
  readonly ended: Promise<void>
}

/** Far more than is shown: at its end, the length of the longest secret is left out, because it may be part of one. */
const GLIMPSE_BYTES = 16 * 1024

/** A shorter line is complete in a moment, by any means. */
const LONG_BYTES = 256 * 1024
/** Less than this is no sign of progress. */
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
    if ('tooLong' in line) heardTooLong(line.tooLong)
    else if (line.text.trim() !== '') {
      const text = withoutMark(line.text)
      return takeMessages(text, (messages, excess) => heard({ text, bytes: text.length, excess }, messages))
    }
    return undefined
  }

  /** It fails only the call that it answers. */
  function heardTooLong(ends: LineEnds): void {
    const text = start(ends.head)
    if (ends.bytes > limits.maxSkippedBytes) return garbled(withoutEnd(excerpt(text), limits.maxSkippedBytes))
    const { bytes } = ends
    takeTooLong(ends, limits.maxLineBytes, (messages, excess) => heard({ text, bytes, excess }, messages))
  }

  function heard(line: HeardLine, messages: readonly Message[]): void {
    if (isStopped) return
    if (messages.length === 0) return heardNoise(line)
    if (row.lines > 0 || row.mostLines !== limits.maxNoise) row = newRow(limits.maxNoise)
    if (line.excess !== undefined) onNoise(line.text, line.excess)
    for (const message of messages) if (!isStopped) onMessage(message)
  }

  /** Other clients ignore lines that are no messages. A program that writes nothing else is ended. */
  function heardNoise({ text, bytes, excess }: HeardLine): void {
    row.lines++
    row.bytes += bytes
    if (row.said.length < MOST_SAID) row.said += `${excerpt(text)} `
    if (row.lines > row.mostLines || row.bytes > limits.maxSkippedBytes)
      return garbled({ reason: 'It writes lines that are no messages.', said: shortened(row.said.trim(), MOST_SAID) })
    onNoise(text, excess)
  }

  function garbled(trouble: Trouble): void {
    stop()
    // Whatever it still writes is of no use.
    stream.destroy()
    onGarbled(trouble)
  }

  /** The rest is read and dropped: a program that cannot write cannot end either. */
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
    atWork() {
      if (!isBusy) return undefined
      return new Promise(resolve => {
        tellRest = resolve
      })
    },
    ended,
  }
}

interface HeardLine {
  readonly text: string
  readonly bytes: number
  /** Which limit of a message it exceeds. */
  readonly excess: string | undefined
}

/** Consecutive lines that are no messages. The first of them show best what writes them. */
interface NoiseRow {
  readonly mostLines: number
  lines: number
  bytes: number
  said: string
}

function newRow(mostLines: number): NoiseRow {
  return { mostLines, lines: 0, bytes: 0, said: '' }
}

/** Some programs begin their output with a byte order mark, which is not part of the message. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

function withoutEnd(head: string, maxBytes: number): Trouble {
  return { reason: `It wrote a line of more than ${maxBytes} bytes.`, said: head }
}
