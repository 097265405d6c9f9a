import { BodyTooLong } from './http-answer.ts'

export interface ServerEvent {
  /** Absent when the event has none: the last id stays. */
  readonly id?: string | undefined
  /** `message` by default. */
  readonly type: string
  readonly data: string
}

export interface EventParserOptions {
  readonly maxBytes: number
  onEvent(event: ServerEvent): void
  /** How long to wait before the stream is opened again, in milliseconds. */
  onRetry(ms: number): void
}

const NEWLINE = 0x0a
const RETURN = 0x0d
const BYTE_ORDER_MARK = '\u{FEFF}'

/** Parses Server-Sent Events as the HTML standard defines them. Throws `BodyTooLong` for an event over `maxBytes`. */
export function createEventParser({ maxBytes, onEvent, onRetry }: EventParserOptions): (chunk: Buffer) => void {
  let begun: Buffer[] = []
  let begunBytes = 0
  let dataBytes = 0
  let data: string[] = []
  let id: string | undefined
  let type = 'message'
  let isBegun = false
  /** Whether the last chunk ended with a carriage return, so that a line feed may follow. */
  let isHalfEnded = false

  function field(name: string, value: string): void {
    if (name === 'data') {
      data.push(value)
      dataBytes += begunBytes
    } else if (name === 'event') type = value || 'message'
    else if (name === 'id' && !value.includes('\0')) id = value
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) onRetry(Number(value))
  }

  function dispatch(): void {
    // An id without data is a position to resume from.
    if (data.length > 0 || id !== undefined) onEvent({ id, type, data: data.join('\n') })
    data = []
    id = undefined
    type = 'message'
    dataBytes = 0
  }

  function take(line: string): void {
    if (line === '') return dispatch()
    const colon = line.indexOf(':')
    if (colon === 0) return
    if (colon < 0) return field(line, '')
    field(line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1))
  }

  function begin(part: Buffer): void {
    begunBytes += part.length
    if (begunBytes + dataBytes > maxBytes) throw new BodyTooLong(maxBytes)
    begun.push(part)
  }

  function end(part: Buffer): void {
    begin(part)
    const line = textOf(begun)
    take(!isBegun && line.startsWith(BYTE_ORDER_MARK) ? line.slice(1) : line)
    isBegun = true
    begun = []
    begunBytes = 0
  }

  return chunk => {
    if (chunk.length === 0) return
    const lineEnds = createLineEnds(chunk)
    let from = isHalfEnded && chunk[0] === NEWLINE ? 1 : 0
    for (let at = lineEnds.next(from); at >= 0; at = lineEnds.next(from)) {
      end(chunk.subarray(from, at))
      from = chunk[at] === RETURN && chunk[at + 1] === NEWLINE ? at + 2 : at + 1
    }
    isHalfEnded = chunk.at(-1) === RETURN
    if (from < chunk.length) begin(chunk.subarray(from))
  }
}

/** Finds line feeds and carriage returns. A kind that is not in the chunk is searched for only once. */
function createLineEnds(chunk: Buffer): { next(from: number): number } {
  let newline = chunk.indexOf(NEWLINE)
  let carriageReturn = chunk.indexOf(RETURN)
  return {
    next(from) {
      if (newline >= 0 && newline < from) newline = chunk.indexOf(NEWLINE, from)
      if (carriageReturn >= 0 && carriageReturn < from) carriageReturn = chunk.indexOf(RETURN, from)
      if (newline < 0 || carriageReturn < 0) return Math.max(newline, carriageReturn)
      return Math.min(newline, carriageReturn)
    },
  }
}

function textOf(parts: readonly Buffer[]): string {
  return (parts.length === 1 ? (parts[0] ?? Buffer.of()) : Buffer.concat(parts)).toString()
}
