import type { IncomingMessage } from 'node:http'
import { AppError } from '../../contracts/index.ts'

/** No answer we give is near this; a peer that sends more must not be able to exhaust our memory. */
export const MAX_LINE_BYTES = 64 * 1024 * 1024

const NEWLINE = 0x0a

/** The non-empty lines of a body, each at most `limit` bytes. Leaving the loop early closes the connection. */
export async function* readLines(response: IncomingMessage, limit: number): AsyncGenerator<string> {
  let line = createGatherer(limit)
  for await (const chunk of chunksOf(response)) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      line.add(chunk.subarray(start, end))
      if (line.size() > 0) yield line.text()
      line = createGatherer(limit)
      start = end + 1
    }
    line.add(chunk.subarray(start))
  }
  // A last line without its newline was cut off, so it is not handed out.
}

/** The whole body, at most `limit` bytes. */
export async function readText(response: IncomingMessage, limit: number): Promise<string> {
  const body = createGatherer(limit)
  for await (const chunk of chunksOf(response)) body.add(chunk)
  return body.text()
}

/** Without an encoding there is nothing but bytes. */
function chunksOf(response: IncomingMessage): AsyncIterable<Buffer> {
  return response
}

interface Gatherer {
  add(bytes: Uint8Array): void
  size(): number
  text(): string
}

function createGatherer(limit: number): Gatherer {
  const parts: Uint8Array[] = []
  let size = 0
  return {
    add(bytes) {
      size += bytes.byteLength
      if (size > limit)
        throw new AppError('LIMIT_EXCEEDED', `The answer holds a line of more than ${limit} bytes.`, {
          details: { limit },
        })
      parts.push(bytes)
    },
    size: () => size,
    text: () => Buffer.concat(parts).toString('utf8'),
  }
}
