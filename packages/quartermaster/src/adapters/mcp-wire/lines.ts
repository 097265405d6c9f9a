import type { Writable } from 'node:stream'

/** A line, or what can be seen of one that is too long. */
export type Line = { readonly text: string } | { readonly tooLong: LineEnds }

export interface LineEnds {
  readonly head: string
  readonly tail: string
  /** As long as it is. */
  readonly bytes: number
}

export interface LineSplitterOptions {
  readonly maxBytes: number
  /** How much of each end of a line that is too long is kept. */
  readonly glimpseBytes?: number
}

/** Makes lines of chunks. A line that is too long costs no more than the limit. */
export interface LineSplitter {
  /** The lines that end in this chunk. */
  push(chunk: Buffer): Line[]
  /** The last line, which has no end; nothing when the last chunk ended with one. Resets the splitter. */
  rest(): Line | undefined
  /** How long the line is already that has not ended yet. */
  begunBytes(): number
}

const GLIMPSE_BYTES = 512
const NEWLINE = 0x0a
/** What is kept for the next line to grow in; more than that is given back. */
const KEPT_BYTES = 1024 * 1024

export function createLineSplitter({ maxBytes, glimpseBytes = GLIMPSE_BYTES }: LineSplitterOptions): LineSplitter {
  const line = createGrowing({ maxBytes, glimpseBytes })
  return {
    push(chunk) {
      const lines: Line[] = []
      let from = 0
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
        if (line.isEmpty() && end - from <= maxBytes) lines.push({ text: chunk.toString('utf8', from, end) })
        else lines.push(line.add(chunk.subarray(from, end)).take())
        from = end + 1
      }
      if (from < chunk.length) line.add(chunk.subarray(from))
      return lines
    },
    rest: () => (line.isEmpty() ? undefined : line.take()),
    begunBytes: () => line.bytes(),
  }
}

interface Growing {
  add(part: Buffer): Growing
  take(): Line
  isEmpty(): boolean
  bytes(): number
}

/**
 * A line that comes in parts. They are copied to one buffer, because a part may be a byte long and each would otherwise
 * cost many times its size.
 */
function createGrowing({ maxBytes, glimpseBytes }: Required<LineSplitterOptions>): Growing {
  let held = Buffer.alloc(0)
  let used = 0
  let ends: { readonly head: Buffer; tail: Buffer; bytes: number } | undefined

  function append(part: Buffer): void {
    if (used + part.length > held.length) {
      const larger = Buffer.allocUnsafe(Math.max(used + part.length, Math.min(2 * held.length, maxBytes)))
      held.copy(larger, 0, 0, used)
      held = larger
    }
    used += part.copy(held, used)
  }

  function giveUp(part: Buffer): void {
    const head = Buffer.concat([held.subarray(0, Math.min(used, glimpseBytes)), part.subarray(0, glimpseBytes)])
    const tail = held.subarray(Math.max(0, used - glimpseBytes), used)
    ends = { head: head.subarray(0, glimpseBytes), tail: lastOf(tail, part), bytes: used + part.length }
    held = Buffer.alloc(0)
    used = 0
  }

  function lastOf(tail: Buffer, part: Buffer): Buffer {
    // A copy: the part is a piece of a large chunk that would be kept along.
    return Buffer.from(Buffer.concat([tail, part.subarray(-glimpseBytes)]).subarray(-glimpseBytes))
  }

  const growing: Growing = {
    add(part) {
      if (ends) {
        ends.tail = lastOf(ends.tail, part)
        ends.bytes += part.length
      } else if (used + part.length > maxBytes) giveUp(part)
      else append(part)
      return growing
    },
    take() {
      const line = ends
        ? { tooLong: { head: ends.head.toString(), tail: ends.tail.toString(), bytes: ends.bytes } }
        : { text: held.toString('utf8', 0, used) }
      ends = undefined
      used = 0
      if (held.length > KEPT_BYTES) held = Buffer.alloc(0)
      return line
    },
    isEmpty: () => used === 0 && !ends,
    bytes: () => ends?.bytes ?? used,
  }
  return growing
}

/** Writes whole lines, one after the other. */
export interface LineWriter {
  /** Resolves when there is room for more, so that the writer sends no faster than the other side reads. */
  write(text: string): Promise<void>
  /** Aborts when the reader has gone. */
  readonly gone: AbortSignal
}

export function createLineWriter(output: Writable): LineWriter {
  const gone = new AbortController()
  const leave = () => gone.abort()
  output.on('error', leave)
  output.on('close', leave)
  return {
    gone: gone.signal,
    async write(text) {
      if (gone.signal.aborted || output.write(`${text}\n`)) return
      await roomIn(output, gone.signal)
    },
  }
}

function roomIn(output: Writable, gone: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const go = () => {
      output.off('drain', go)
      gone.removeEventListener('abort', go)
      resolve()
    }
    output.once('drain', go)
    gone.addEventListener('abort', go, { once: true })
  })
}

/** The lines of a stream, also the last one without an end. A line that is too long costs no more than the limit. */
export async function* readLines(input: AsyncIterable<Buffer>, options: LineSplitterOptions): AsyncGenerator<Line> {
  const splitter = createLineSplitter(options)
  for await (const chunk of input) yield* splitter.push(chunk)
  const rest = splitter.rest()
  if (rest) yield rest
}
