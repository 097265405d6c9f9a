import * as zlib from 'node:zlib'
import type { CancelSignal, Clock } from '../../core/kernel/index.ts'
import { excerptOf } from '../../core/upstreams/index.ts'

/** The length of a server's text that is shown. */
export const MOST_SAID = 300

/** Why there is no answer. A model may read the reason; `said` may be text of the server, and is for people alone. */
export interface Reason {
  /** A part of a sentence, in our own words. */
  readonly reason: string
  readonly said?: string | undefined
}

/** A failure that we detect ourselves. Its message is in our own words. */
export class OwnReason extends Error {}

/**
 * Why an exchange failed, as a part of a sentence. A model may read it, so messages of Node are kept separate: they may quote the
 * server, as they do the names in a certificate.
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
  /** The time limit for the first line of the answer after the request was sent. */
  readonly answerMs?: number | undefined
  /** There is a connection, and the request is about to be written: from here on the server may see it. */
  onOut?: (() => void) | undefined
}

/** An answer whose body is not read yet. The caller must read or destroy it. */
export interface HttpAnswer {
  readonly status: number
  /** By their names in lower case; a header that occurs several times is a list. */
  readonly headers: HttpHeaders
  /** Decompressed. */
  readonly body: HttpBody
}

export type HttpHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The bytes of an answer, passed on as they come. */
export interface HttpBody {
  /** Can be called once. Bytes that have come already are passed on before it returns. */
  read(reader: BodyReader): void
  pause(): void
  resume(): void
  /** Ends the exchange, if it has not ended. The reader is not called again. */
  destroy(): void
}

/** Called until the end or the failure. */
export interface BodyReader {
  onData(chunk: Buffer): void
  onEnd(): void
  onFail(cause: Error): void
}

export function isGood({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300
}

/** A header's value; several headers of one name become a list with commas (RFC 9110 §5.3). */
export function headerOf({ headers }: HttpAnswer, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'object' ? value.join(', ') : value
}

/** A request without an answer. A `TypeError`, as every failure of a fetch is. */
export class HttpFailure extends TypeError {
  /** `no`: the server cannot have received the whole request. */
  readonly wasSent: 'no' | 'maybe'
  /** No server listens. Other failures may concern only this request. */
  readonly isConnectionRefused: boolean
  /** May be text of the server, and is for people alone. */
  readonly said: string | undefined
  constructor(
    message: string,
    { wasSent, said, cause }: { wasSent: 'no' | 'maybe'; said?: string | undefined; cause: unknown },
  ) {
    super(message, { cause })
    this.name = 'HttpFailure'
    this.wasSent = wasSent
    this.said = said
    this.isConnectionRefused = cause instanceof Error && (cause as NodeJS.ErrnoException).code === 'ECONNREFUSED'
  }
}

/** The time limit for the rest of an answer that is not needed. */
export const TAIL_MS = 1_000

/** A body over its limit. */
export class BodyTooLong extends OwnReason {
  /** The bytes up to the limit. */
  readonly head: Buffer

  constructor(maxBytes: number, head: Buffer = Buffer.alloc(0)) {
    super(`it is longer than ${maxBytes} bytes`)
    this.name = 'BodyTooLong'
    this.head = head
  }
}

/** The text of a body. Beyond the limit the body is destroyed, whatever its headers say. */
export function readText(body: HttpBody, maxBytes: number): Promise<string> {
  return readBytes(body, maxBytes).then(String)
}

/** The same, synchronously where the whole body has come already, as with most short answers. */
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

/** The text of a short body, within a second. */
export async function readShortText(
  body: HttpBody,
  { clock, maxBytes }: { readonly clock: Clock; readonly maxBytes: number },
): Promise<string> {
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

/** Discards a body. A short one is read to its end, so that the connection can be used again; others are destroyed. */
export type Discard = (body: HttpBody) => void

export function createDiscard(clock: Clock): Discard {
  let held = 0
  return body => {
    if (held >= MOST_HELD) return body.destroy()
    held++
    void readShortText(body, { clock, maxBytes: DISCARDED_BYTES })
      .catch(() => {
        // Nothing needs the body.
      })
      .finally(() => held--)
  }
}

const DISCARDED_BYTES = 16 * 1024
/** With so many unfinished bodies, further ones are destroyed. */
export const MOST_HELD = 16

/** Decompresses a body. We ask no server for compression, but some use it all the same. An unknown one stays. */
export function decoded(body: HttpBody, encoding: string | string[] | undefined): HttpBody {
  const steps = decodersFor(encoding)
  return steps ? steps.reduce((inner, open) => through(open, inner), body) : body
}

/** Whether a body has an unknown compression, by its headers. */
export function isUndecoded(encoding: string | string[] | undefined): boolean {
  return decodersFor(encoding) === undefined
}

/** No well-behaved server nests codings deeper. */
const MOST_CODINGS = 3

/** The decoders in order; nothing where one is not known. */
function decodersFor(encoding: string | string[] | undefined): (() => Decoder)[] | undefined {
  if (encoding === undefined) return []
  const codings = String(encoding)
    .split(',')
    .map(coding => coding.trim().toLowerCase())
    .filter(coding => coding !== '' && coding !== 'identity')
  // The last coding was applied last (RFC 9110 §8.4).
  const steps = codings.toReversed().flatMap(coding => DECODERS.get(coding) ?? [])
  return codings.length > MOST_CODINGS || steps.length < codings.length ? undefined : steps
}

type Decoder = zlib.Gunzip | zlib.BrotliDecompress

const DECODERS: ReadonlyMap<string, () => Decoder> = new Map<string, () => Decoder>([
  ['gzip', () => zlib.createGunzip({ flush: zlib.constants.Z_SYNC_FLUSH })],
  ['x-gzip', () => zlib.createGunzip({ flush: zlib.constants.Z_SYNC_FLUSH })],
  ['deflate', () => zlib.createInflate({ flush: zlib.constants.Z_SYNC_FLUSH })],
  ['br', () => zlib.createBrotliDecompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH })],
])

function through(open: () => Decoder, body: HttpBody): HttpBody {
  // Made with the first byte, because an empty body is no valid compressed one.
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

/** A body that buffers bytes until it is read. */
export interface HeldBody extends HttpBody {
  take(chunk: Buffer): void
  finish(): void
  fail(cause: Error): void
}

/** The buffer before the connection is paused; a short answer is complete before its reader starts. */
const HELD_BYTES = 64 * 1024

export function createHeldBody(flow: { pause(): void; resume(): void }, cancelRequest: () => void): HeldBody {
  let held: Buffer[] = []
  let heldBytes = 0
  let reader: BodyReader | undefined
  let isPaused = false
  let isFlowing = true
  let notifyEnd: ((reader: BodyReader) => void) | undefined

  const isRead = () => reader !== undefined && !isPaused

  function hold(chunk: Buffer): void {
    held.push(chunk)
    heldBytes += chunk.length
    if (!isFlowing || heldBytes < HELD_BYTES) return
    isFlowing = false
    flow.pause()
  }

  /** Passes buffered bytes on until the reader pauses. */
  function release(): void {
    while (isRead()) {
      const chunk = held.shift()
      if (!chunk) break
      heldBytes -= chunk.length
      reader?.onData(chunk)
    }
    if (!isRead()) return
    if (notifyEnd) end(notifyEnd)
    else if (!isFlowing) {
      isFlowing = true
      flow.resume()
    }
  }

  function end(notify: (reader: BodyReader) => void): void {
    notifyEnd = notify
    if (!reader || isPaused || held.length > 0) return
    const last = reader
    reader = undefined
    notify(last)
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
      if (!isFlowing || notifyEnd) return
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
      if (!notifyEnd) cancelRequest()
    },
  }
}
