import type { Readable } from 'node:stream'
import { shortened } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import { createLineSplitter, type Line, type LineEnds, type Message } from '../../mcp-wire/index.ts'
import { takeMessages, takeTooLong } from '../session/incoming-message.ts'
import type { Trouble } from '../session/trouble.ts'
import { createTurnWorker } from '../session/turn-worker.ts'

export interface MessageReaderLimits {
  readonly maxLineBytes: number
  /**
   * As far as a line that is too long is followed to its end; what comes behind it is heard again. As much may stand in several lines
   * that are no messages, one after the other.
   */
  readonly maxSkippedBytes: number
  /** Lines before the first message. Some programs greet on their output; one that only ever does that is not what was meant. */
  readonly maxGreeting: number
  /** Lines that are no messages, one after the other, of a program that has sent one. Some tell there what they are doing. */
  readonly maxNoise: number
}

export interface MessageReaderOptions {
  readonly limits: MessageReaderLimits
  onMessage(message: Message): void
  /** More of a long line came. */
  onPart?(): void
  /** A line that is no message, or one that is not taken, and why. */
  onNoise(text: string, excess?: string): void
  /** It does not speak the protocol; nothing more is read. */
  onGarbled(trouble: Trouble): void
  /** What may be shown of a line of which no more than its beginning is kept. */
  start(head: string): string
  /** A short piece of a foreign text that may be shown. */
  excerpt(text: string): string
}

/** Takes the messages from a program's output, a line each, in turns that leave time for everybody else. */
export interface MessageReader {
  stop(): void
  /** Resolves when everything that was read is handed over. `undefined`: it is. */
  atWork(): Promise<void> | undefined
  /** Resolves when the output has ended and everything in it was handed over. */
  readonly ended: Promise<void>
}

/** Far more than is shown of it: at its end, as much as the longest secret has is left out, because it may be a part of one. */
const GLIMPSE_BYTES = 16 * 1024

/** A line of less is whole in a moment, by any way. */
const LONG_BYTES = 256 * 1024
/** Less than this is no sign that it gets on with one. */
const PART_BYTES = 16 * 1024

export function readMessages(stream: Readable, options: MessageReaderOptions): MessageReader {
  const { limits, onMessage, onNoise, onGarbled, start, excerpt } = options
  const splitter = createLineSplitter({ maxBytes: limits.maxLineBytes, glimpseBytes: GLIMPSE_BYTES })
  const worker = createTurnWorker<Line>({
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

  /** It costs the call that it answers, and nobody else's. */
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

  /** Who else calls such a program ignores what is no message. It is given up where that is all that it has to say. */
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
    // Whatever it has still to say, there is no use in taking it from the pipe.
    stream.destroy()
    onGarbled(trouble)
  }

  /** What still comes is read and forgotten: a program that cannot write cannot end either. */
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
  /** What of it is more than a message may have. */
  readonly excess: string | undefined
}

/** Lines one after the other that are no messages. The first of them say best what it is that writes them. */
interface NoiseRow {
  readonly mostLines: number
  lines: number
  bytes: number
  said: string
}

function newRow(mostLines: number): NoiseRow {
  return { mostLines, lines: 0, bytes: 0, said: '' }
}

/** Some programs begin their output with a byte order mark, which is no part of what they say. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

function withoutEnd(head: string, maxBytes: number): Trouble {
  return { reason: `It wrote a line of more than ${maxBytes} bytes.`, said: head }
}
