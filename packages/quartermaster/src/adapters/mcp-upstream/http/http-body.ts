import type { HttpBody } from './http-answer.ts'

/** A body that is longer than it may be. */
export class BodyTooLong extends Error {
  constructor(maxBytes: number) {
    super(`it is longer than ${maxBytes} bytes`)
    this.name = 'BodyTooLong'
  }
}

/** The text of a body. Whatever its headers say, no more than the limit is ever held; beyond it the body is destroyed. */
export function readText(body: HttpBody, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let size = 0
    body.read({
      onData(part) {
        size += part.length
        parts.push(part)
        if (size <= maxBytes) return
        body.destroy()
        reject(new BodyTooLong(maxBytes))
      },
      onEnd: () => resolve(textOf(parts)),
      onFail: reject,
    })
  })
}

function textOf([first, ...others]: readonly Buffer[]): string {
  if (!first) return ''
  return others.length === 0 ? first.toString() : Buffer.concat([first, ...others]).toString()
}

/** Lets a body go that nobody reads. A short one is read to its end, so that the connection can be used again. */
export function discard(body: HttpBody): void {
  void readText(body, DISCARDED_BYTES).catch(() => {
    // Nobody wanted it.
  })
}

const DISCARDED_BYTES = 16 * 1024
