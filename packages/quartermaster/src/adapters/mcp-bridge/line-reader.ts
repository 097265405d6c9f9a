/** A line, or what can be seen of one that is too long. */
export type Line = { readonly text: string } | { readonly tooLong: { readonly head: string; readonly tail: string } }

export interface LineReaderOptions {
  readonly maxBytes: number
}

/** How much of each end of a line that is too long is kept. */
const GLIMPSE_BYTES = 512
const NEWLINE = 0x0a

/** The lines of a stream, also the last one without an end. A line that is too long costs no more than the limit. */
export async function* readLines(input: AsyncIterable<Buffer>, { maxBytes }: LineReaderOptions): AsyncGenerator<Line> {
  let line = emptyLine()
  for await (const chunk of input) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      add(line, chunk.subarray(from, end), maxBytes)
      yield finish(line)
      line = emptyLine()
      from = end + 1
    }
    add(line, chunk.subarray(from), maxBytes)
  }
  if (line.size > 0) yield finish(line)
}

interface Growing {
  parts: Buffer[]
  size: number
  /** The two ends, once the line is too long. */
  ends?: { readonly head: Buffer; tail: Buffer }
}

function emptyLine(): Growing {
  return { parts: [], size: 0 }
}

function add(line: Growing, part: Buffer, maxBytes: number): void {
  line.size += part.length
  if (line.ends) line.ends.tail = Buffer.concat([line.ends.tail, part]).subarray(-GLIMPSE_BYTES)
  else line.parts.push(part)
  if (line.ends || line.size <= maxBytes) return
  const whole = Buffer.concat(line.parts)
  line.ends = {
    head: Buffer.from(whole.subarray(0, GLIMPSE_BYTES)),
    tail: Buffer.from(whole.subarray(-GLIMPSE_BYTES)),
  }
  line.parts = []
}

function finish({ parts, ends }: Growing): Line {
  if (ends) return { tooLong: { head: ends.head.toString(), tail: ends.tail.toString() } }
  return { text: (parts.length === 1 ? (parts[0] ?? Buffer.of()) : Buffer.concat(parts)).toString() }
}
