import type { Readable } from 'node:stream'

/** A body that is longer than it may be. */
export class BodyTooLong extends Error {
  constructor(maxBytes: number) {
    super(`it is longer than ${maxBytes} bytes`)
    this.name = 'BodyTooLong'
  }
}

/** The text of a body. Whatever its headers say, no more than the limit is ever held; beyond it the body is destroyed. */
export function readText(body: Readable, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let size = 0
    body.on('data', (part: Buffer) => {
      size += part.length
      if (size > maxBytes) body.destroy(new BodyTooLong(maxBytes))
      else parts.push(part)
    })
    body.once('end', () => resolve(Buffer.concat(parts).toString()))
    body.once('error', reject)
    body.once('close', () => reject(new Error('it ended too early')))
  })
}

/** Lets a body go that nobody reads. A short one is read to its end, so that the connection can be used again. */
export function discard(body: Readable): void {
  void readText(body, DISCARDED_BYTES).catch(() => {
    // Nobody wanted it.
  })
}

const DISCARDED_BYTES = 16 * 1024
