import type { Writable } from 'node:stream'

/** A line, or the ends of a line that is too long. */
export type Line = { readonly text: string } | { readonly tooLong: LineEnds }

export interface LineEnds {
  readonly head: string
  readonly tail: string
  readonly bytes: number
}

export interface LineSplitterOptions {
  readonly maxBytes: number
  /** How much is kept of each end of a line that is too long. */
  readonly glimpseBytes?: number
}

/** Splits chunks into lines. A line that is too long uses no more memory than the limit. */
export interface LineSplitter {
  push(chunk: Buffer): Line[]
  /** The unfinished last line, if any. Resets the splitter. */
  rest(): Line | undefined
  /** The length so far of the unfinished line. */
  begunBytes(): number
}

const GLIMPSE_BYTES = 512
const NEWLINE = 0x0a
/** A larger buffer is released after its line. */
const KEPT_BYTES = 1024 * 1024

export function createLineSplitter({ maxBytes, glimpseBytes = GLIMPSE_BYTES }: LineSplitterOptions): LineSplitter {
  const line = createGrowing({ maxBytes, glimpseBytes })
  return {
    push(chunk) {
      const lines: Line[] = []
      let from = 0
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
        if (line.isEmpty() && end - from <= maxBytes) lines.push({ text: chunk.toString('utf8', from, end) })
        else {
          line.add(chunk.subarray(from, end))
          lines.push(line.take())
        }
        from = end + 1
      }
      if (from < chunk.length) line.add(chunk.subarray(from))
      return lines
    },
    rest: () => (line.isEmpty() ? undefined : line.take()),
    begunBytes: () => line.bytes(),
  }
}

/** Collects a line from parts in one buffer: a part may be a single byte, and each would otherwise cost many times its size. */
function createGrowing({ maxBytes, glimpseBytes }: Required<LineSplitterOptions>) {
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

  function truncate(part: Buffer): void {
    const head = Buffer.concat([held.subarray(0, Math.min(used, glimpseBytes)), part.subarray(0, glimpseBytes)])
    const tail = held.subarray(Math.max(0, used - glimpseBytes), used)
    ends = { head: head.subarray(0, glimpseBytes), tail: lastOf(tail, part), bytes: used + part.length }
    held = Buffer.alloc(0)
    used = 0
  }

  function lastOf(tail: Buffer, part: Buffer): Buffer {
    // A copy, because the part would keep its whole chunk in memory.
    return Buffer.from(Buffer.concat([tail, part.subarray(-glimpseBytes)]).subarray(-glimpseBytes))
  }

  return {
    add(part: Buffer): void {
      if (ends) {
        ends.tail = lastOf(ends.tail, part)
        ends.bytes += part.length
      } else if (used + part.length > maxBytes) truncate(part)
      else append(part)
    },
    take(): Line {
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
}

export interface LineWriter {
  /** Resolves when there is room for more, so that the writer is no faster than the reader. */
  write(text: string): Promise<void>
  /** Aborts when the reader has disconnected. */
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

/** The lines of a stream, including an unfinished last one. A line that is too long uses no more memory than the limit. */
export async function* readLines(input: AsyncIterable<Buffer>, options: LineSplitterOptions): AsyncGenerator<Line> {
  const splitter = createLineSplitter(options)
  for await (const chunk of input) yield* splitter.push(chunk)
  const rest = splitter.rest()
  if (rest) yield rest
}
