import { BodyTooLong } from './http-body.ts'

export interface ServerEvent {
  /** Absent when the event says none: what is kept stays. */
  readonly id?: string | undefined
  /** `message` unless it says otherwise. */
  readonly type: string
  readonly data: string
}

export interface EventParserOptions {
  /** The most that one event may be. */
  readonly maxBytes: number
  onEvent(event: ServerEvent): void
  /** How long to wait before the stream is opened again, in milliseconds. */
  onRetry(ms: number): void
}

const NEWLINE = 0x0a

/** Takes a stream of events apart, as HTML's "Server-sent events" has them. Throws `BodyTooLong` on an event too long. */
export function createEventParser({ maxBytes, onEvent, onRetry }: EventParserOptions): (chunk: Buffer) => void {
  let begun: Buffer[] = []
  let begunBytes = 0
  let dataBytes = 0
  let data: string[] = []
  let id: string | undefined
  let type = 'message'

  function field(name: string, value: string): void {
    if (name === 'data') {
      data.push(value)
      dataBytes += begunBytes
    } else if (name === 'event') type = value || 'message'
    else if (name === 'id' && !value.includes('\0')) id = value
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) onRetry(Number(value))
  }

  function dispatch(): void {
    // An id without data is there to be resumed from.
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

  return chunk => {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      begin(chunk.subarray(from, end))
      take(lineOf(begun))
      begun = []
      begunBytes = 0
      from = end + 1
    }
    if (from < chunk.length) begin(chunk.subarray(from))
  }
}

function lineOf(parts: readonly Buffer[]): string {
  const text = (parts.length === 1 ? (parts[0] ?? Buffer.of()) : Buffer.concat(parts)).toString()
  return text.endsWith('\r') ? text.slice(0, -1) : text
}
