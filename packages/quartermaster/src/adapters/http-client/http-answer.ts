import * as zlib from 'node:zlib'
import type { CancelSignal, Clock } from '../../core/kernel/index.ts'
import { excerptOf } from '../../core/upstreams/index.ts'

/** What is shown of a server's words. */
export const MOST_SAID = 300

/** Why there is no answer. A model may read the reason; what was said may be the words of a stranger, and is for people alone. */
export interface Reason {
  /** A part of a sentence of ours. */
  readonly reason: string
  readonly said?: string | undefined
}

/** Something that we found out ourselves. Its message is in our words. */
export class OwnReason extends Error {}

/**
 * Why an exchange failed, as a part of a sentence. A model may read it, so what the machinery says is kept apart: it may
 * quote the server, as it does the names in a certificate.
 */
export function reasonOf(cause: unknown): Reason {
  if (cause instanceof OwnReason) return { reason: cause.message }
  const { code = '', message = '' } = cause instanceof Error ? (cause as NodeJS.ErrnoException) : {}
  const reason = code.startsWith('HPE_') ? 'it does not speak HTTP' : WORDS[code]
  return reason === undefined
    ? { reason: 'the connection failed', said: excerptOf(message || code, MOST_SAID) }
    : { reason }
}

const BROKE = 'the connection broke'
const TOO_LATE = 'no connection in time'
const NO_WAY = 'there is no way to it'
const UNTRUSTED = 'its certificate is not signed by an authority trusted here'

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: BROKE,
  UND_ERR_SOCKET: BROKE,
  UND_ERR_DESTROYED: 'the connection was closed',
  UND_ERR_CONNECT_TIMEOUT: TOO_LATE,
  UND_ERR_HEADERS_OVERFLOW: 'its headers are too long',
  EPIPE: BROKE,
  ENOTFOUND: 'there is no such name',
  EAI_AGAIN: 'its name could not be looked up',
  ETIMEDOUT: TOO_LATE,
  EHOSTUNREACH: NO_WAY,
  ENETUNREACH: NO_WAY,
  EPROTO: 'TLS is not spoken there as it is here',
  ERR_SSL_WRONG_VERSION_NUMBER: 'TLS is not spoken there as it is here',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  Z_DATA_ERROR: 'it is not compressed as it says',
  Z_BUF_ERROR: 'it is not compressed as it says',
}

export interface HttpRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal: CancelSignal
  /** How long the first line of the answer may take once the request is out; for ever when absent. */
  readonly answerMs?: number | undefined
  /** There is a connection, and the request goes out: from here on the server may see it. */
  onOut?: (() => void) | undefined
}

/** An answer whose body is not yet read. The caller reads or destroys that. */
export interface HttpAnswer {
  readonly status: number
  /** By their names in lower case; a header that occurs several times is a list. */
  readonly headers: HttpHeaders
  /** Decompressed. */
  readonly body: HttpBody
}

export type HttpHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The bytes of an answer, handed over as they come. */
export interface HttpBody {
  /** Once. What is there already is handed over before it returns. */
  read(reader: BodyReader): void
  pause(): void
  resume(): void
  /** Ends the exchange, if it has not ended. The reader hears no more of it. */
  destroy(): void
}

/** Hears the end or the failure, and nothing after it. */
export interface BodyReader {
  onData(chunk: Buffer): void
  onEnd(): void
  onFail(cause: Error): void
}

export function isGood({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300
}

/** A header's value; what occurs several times is a list with commas (RFC 9110 §5.3). */
export function headerOf({ headers }: HttpAnswer, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'object' ? value.join(', ') : value
}

/** There is no answer. A `TypeError`, as every failure of a fetch is. */
export class HttpFailure extends TypeError {
  /** `no`: the server cannot have seen the whole request. */
  readonly wasSent: 'no' | 'maybe'
  /** The machine is there and says that no server is. Other failures may be of this request alone. */
  readonly isConnectionRefused: boolean
  /** What may be the words of a stranger, for people alone. */
  readonly said: string | undefined
  constructor(message: string, { wasSent, said, cause }: HttpFailureFacts) {
    super(message, { cause })
    this.name = 'HttpFailure'
    this.wasSent = wasSent
    this.said = said
    this.isConnectionRefused = cause instanceof Error && (cause as NodeJS.ErrnoException).code === 'ECONNREFUSED'
  }
}

interface HttpFailureFacts {
  readonly wasSent: 'no' | 'maybe'
  readonly said?: string | undefined
  readonly cause: unknown
}

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
 * Releases a body that is not read. A short one is read to its end, so that the connection can be used again; one that does
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
        // It is not wanted.
      })
      .finally(() => held--)
  }
}

const DISCARDED_BYTES = 16 * 1024
/** A server of which so many have not ended yet is not worth the wait. */
export const MOST_HELD = 16

/** A body without its compression. No server is asked for one; some compress all the same. An unknown one is left. */
export function decoded(body: HttpBody, encoding: string | string[] | undefined): HttpBody {
  const steps = decodersFor(encoding)
  return steps ? steps.reduce((inner, open) => through(open, inner), body) : body
}

/** Whether a body has an unknown compression, by its headers. */
export function isUndecoded(encoding: string | string[] | undefined): boolean {
  return decodersFor(encoding) === undefined
}

/** No well-behaved server nests them deeper. */
const MOST_CODINGS = 3

/** What is to be undone, one after the other; nothing where one is not known. */
function decodersFor(encoding: string | string[] | undefined): (() => Decoder)[] | undefined {
  if (encoding === undefined) return []
  const codings = String(encoding)
    .split(',')
    .map(coding => coding.trim().toLowerCase())
    .filter(coding => coding !== '' && coding !== 'identity')
  // The last was put on last (RFC 9110 §8.4).
  const steps = codings.toReversed().flatMap(coding => DECODERS.get(coding) ?? [])
  return codings.length > MOST_CODINGS || steps.length < codings.length ? undefined : steps
}

type Decoder = zlib.Gunzip | zlib.BrotliDecompress

/** By the server's own word, which may be any. */
const DECODERS: ReadonlyMap<string, () => Decoder> = new Map<string, () => Decoder>([
  ['gzip', () => zlib.createGunzip({ flush: zlib.constants.Z_SYNC_FLUSH })],
  ['x-gzip', () => zlib.createGunzip({ flush: zlib.constants.Z_SYNC_FLUSH })],
  ['deflate', () => zlib.createInflate({ flush: zlib.constants.Z_SYNC_FLUSH })],
  ['br', () => zlib.createBrotliDecompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH })],
])

function through(open: () => Decoder, body: HttpBody): HttpBody {
  // With the first byte: many answers have none, and those are no compressed ones.
  let decoder: Decoder | undefined
  function begin({ onData, onEnd, onFail }: BodyReader): Decoder {
    const made = open()
    made.on('data', onData)
    made.once('end', onEnd)
    made.on('error', cause => {
      body.destroy()
      onFail(cause)
    })
    made.on('drain', () => body.resume())
    return made
  }
  return {
    read(reader) {
      body.read({
        onData(chunk) {
          decoder ??= begin(reader)
          if (!decoder.write(chunk)) body.pause()
        },
        onEnd: () => (decoder ? void decoder.end() : reader.onEnd()),
        onFail: cause => (decoder ? void decoder.destroy(cause) : reader.onFail(cause)),
      })
    },
    pause: () => void (decoder ? decoder.pause() : body.pause()),
    resume: () => void (decoder ? decoder.resume() : body.resume()),
    destroy() {
      decoder?.removeAllListeners('data').removeAllListeners('end')
      decoder?.destroy()
      body.destroy()
    },
  }
}

/** What holds back the connection that a body comes over. */
interface Flow {
  pause(): void
  resume(): void
}

/** A body that keeps what comes until it is read. */
export interface HeldBody extends HttpBody {
  take(chunk: Buffer): void
  finish(): void
  fail(cause: Error): void
}

/** What may wait for a reader; a short answer is complete before a reader can have asked for it. */
const HELD_BYTES = 64 * 1024

export function createHeldBody(flow: Flow, giveUp: () => void): HeldBody {
  let held: Buffer[] = []
  let heldBytes = 0
  let reader: BodyReader | undefined
  let isPaused = false
  let isFlowing = true
  let tellEnd: ((reader: BodyReader) => void) | undefined

  const isRead = () => reader !== undefined && !isPaused

  function hold(chunk: Buffer): void {
    held.push(chunk)
    heldBytes += chunk.length
    if (!isFlowing || heldBytes < HELD_BYTES) return
    isFlowing = false
    flow.pause()
  }

  /** Hands over what was held, as far as the reader lets us. */
  function release(): void {
    while (isRead()) {
      const chunk = held.shift()
      if (!chunk) break
      heldBytes -= chunk.length
      reader?.onData(chunk)
    }
    if (!isRead()) return
    if (tellEnd) end(tellEnd)
    else if (!isFlowing) {
      isFlowing = true
      flow.resume()
    }
  }

  function end(tell: (reader: BodyReader) => void): void {
    tellEnd = tell
    if (!reader || isPaused || held.length > 0) return
    const last = reader
    reader = undefined
    tell(last)
  }

  return {
    take(chunk) {
      if (reader && !isPaused && held.length === 0) reader.onData(chunk)
      else hold(chunk)
    },
    finish: () => end(last => last.onEnd()),
    fail: cause => end(last => last.onFail(cause)),
    read(given) {
      reader = given
      release()
    },
    pause() {
      isPaused = true
      if (!isFlowing || tellEnd) return
      isFlowing = false
      flow.pause()
    },
    resume() {
      isPaused = false
      release()
    },
    destroy() {
      reader = undefined
      held = []
      if (!tellEnd) giveUp()
    },
  }
}
