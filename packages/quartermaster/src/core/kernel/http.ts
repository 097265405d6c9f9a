import { AppError } from '../../contracts/index.ts'

const TRANSPORT =
  /^(?:host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept-encoding|proxy-.*)$/i

/** Whether only the HTTP client may set a header, because it frames a message or belongs to one connection. */
export function isTransportHeader(name: string): boolean {
  return TRANSPORT.test(name)
}

/** What a header has instead of a credential, if it has none. Sent, it would pass for a credential. */
export function emptyHeaderReason(name: string, value: string): string | undefined {
  if (value.trim() === '') return 'no value'
  const [scheme] = (/^authorization$/i.test(name) && SCHEME_ALONE.exec(value.trim())) || []
  return scheme && `no token behind "${scheme}"`
}

/** Any other single word may be the credential itself. */
const SCHEME_ALONE = /^(?:bearer|basic|token|digest|dpop|negotiate|bot|api-?key)$/i

/** The `Authorization` header for the user and password of a URL (RFC 7617), if it has any. A "%" that begins no escape stays. */
export function basicCredentials({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  return `Basic ${btoa(`${bytesOf(username)}:${bytesOf(password)}`)}`
}

/** One character for each byte: escaped bytes need not be UTF-8. The rest is ASCII, because `URL` escapes everything else. */
function bytesOf(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** A queued call is retried for a day at most, so a longer delay means nothing. */
export const LONGEST_RETRY_MS = 24 * 3_600_000

/** The delay that a `Retry-After` header gives, in seconds or as a date (RFC 9110 §10.2.3). */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const ms = SECONDS.test(header) ? Number(header) * 1_000 : DATE.test(header) ? Date.parse(header) - now : Number.NaN
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_RETRY_MS)
}

const SECONDS = /^\s*\d+\s*$/
/** A date begins with its weekday; lenient date parsers would accept "-5" too. */
const DATE = /^\s*(mon|tue|wed|thu|fri|sat|sun)/i

/**
 * Reads a response body until the signal aborts; then cancels the body and throws the reason. Node 20 loses the link from the
 * signal given to `fetch` to the body after a garbage collection. Leaving the loop cancels the rest.
 */
export async function* bodyChunks({ body }: Response, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  if (!body) return
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader()
  // Cancelling a failed body rejects; reading it reports the failure.
  const cancel = () => void reader.cancel(signal?.reason).catch(() => {})
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    for (let part = await reader.read(); ; part = await reader.read()) {
      signal?.throwIfAborted()
      if (part.done) return
      yield part.value
    }
  } finally {
    signal?.removeEventListener('abort', cancel)
    cancel()
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Decodes a request body. Invalid UTF-8 is refused, because with replacement characters it would pass as another text. */
export function textOfBody(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new AppError('INPUT_INVALID', 'The request body is not UTF-8.', { cause })
  }
}

/** More bytes would be too many arguments for one call. */
const CHUNK = 0x8000

export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let start = 0; start < bytes.length; start += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(start, start + CHUNK))
  }
  return btoa(text)
}

/** Whether the host of a URL is a name of this machine. */
export function isLoopback(host: string): boolean {
  return /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/i.test(host)
}
