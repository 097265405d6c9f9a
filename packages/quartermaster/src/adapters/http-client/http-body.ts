import type { Clock } from '../../core/kernel/index.ts'
import type { HttpBody } from './http-answer.ts'
import { OwnReason } from './http-reason.ts'

/** How long an answer may go on behind what there is to know of it. */
export const TAIL_MS = 1_000

/** A body that is longer than it may be. */
export class BodyTooLong extends OwnReason {
  /** As much of it as may be. */
  readonly head: Buffer

  constructor(maxBytes: number, head: Buffer = Buffer.alloc(0)) {
    super(`it is longer than ${maxBytes} bytes`)
    this.name = 'BodyTooLong'
    this.head = head
  }
}

/** The text of a body. Whatever its headers say, no more than the limit is ever held; beyond it the body is destroyed. */
export function readText(body: HttpBody, maxBytes: number): Promise<string> {
  return readBytes(body, maxBytes).then(String)
}

/** The same, at once where all of it has come already: most short answers are there as soon as their head is looked at. */
export function takeText(body: HttpBody, maxBytes: number): string | Promise<string> {
  const state: { whole?: Buffer; failure?: Promise<never>; later?: Gathering } = {}
  gather(body, maxBytes, {
    resolve(whole) {
      if (state.later) state.later.resolve(whole)
      else state.whole = whole
    },
    reject(error) {
      if (state.later) state.later.reject(error)
      else state.failure = Promise.reject(error)
    },
  })
  if (state.whole) return String(state.whole)
  return state.failure ?? new Promise<Buffer>((resolve, reject) => (state.later = { resolve, reject })).then(String)
}

/** The bytes of a body, with the same limit. */
export function readBytes(body: HttpBody, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => gather(body, maxBytes, { resolve, reject }))
}

interface Gathering {
  resolve(whole: Buffer): void
  reject(error: unknown): void
}

function gather(body: HttpBody, maxBytes: number, { resolve, reject }: Gathering): void {
  const parts: Buffer[] = []
  let size = 0
  body.read({
    onData(part) {
      size += part.length
      parts.push(part)
      if (size <= maxBytes) return
      body.destroy()
      reject(new BodyTooLong(maxBytes, joined(parts).subarray(0, maxBytes)))
    },
    onEnd: () => resolve(joined(parts)),
    onFail: reject,
  })
}

function joined(parts: readonly Buffer[]): Buffer {
  const [first] = parts
  return first && parts.length === 1 ? first : Buffer.concat(parts)
}

/** The text of a body that has little to say, and a second to say it in. */
export async function readShortText(body: HttpBody, { clock, maxBytes }: ShortText): Promise<string> {
  let cancel = () => {}
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(TAIL_MS, () => {
      body.destroy()
      reject(new OwnReason(`it is not there within ${TAIL_MS} ms`))
    })
  })
  try {
    return await Promise.race([readText(body, maxBytes), late])
  } finally {
    cancel()
  }
}

interface ShortText {
  readonly clock: Clock
  readonly maxBytes: number
}

/**
 * Lets a body go that nobody reads. A short one is read to its end, so that the connection can be used again; one that does
 * not end would hold its connection for ever.
 */
export type Discard = (body: HttpBody) => void

export function createDiscard(clock: Clock): Discard {
  let held = 0
  return body => {
    if (held >= MOST_HELD) return body.destroy()
    held++
    void readShortText(body, { clock, maxBytes: DISCARDED_BYTES })
      .catch(() => {
        // Nobody wanted it.
      })
      .finally(() => held--)
  }
}

const DISCARDED_BYTES = 16 * 1024
/** A server of which so many have not ended yet is not worth the wait. */
export const MOST_HELD = 16
