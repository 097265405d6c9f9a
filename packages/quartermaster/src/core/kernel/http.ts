import { AppError } from '../../contracts/index.ts'

const OWN =
  /^(?:host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept-encoding|proxy-.*)$/i

/** Whether a header frames a message or belongs to a single connection, so that only the HTTP client sets it. */
export function isOwnHeader(name: string): boolean {
  return OWN.test(name)
}

/** What a header has in the place of what belongs there; nothing where that is there. Sent, it would pass for a credential. */
export function emptyHeader(name: string, value: string): string | undefined {
  if (value.trim() === '') return 'no value'
  const [scheme] = (/^authorization$/i.test(name) && SCHEME_ALONE.exec(value.trim())) || []
  return scheme && `no token behind "${scheme}"`
}

/** Any other single word may be the credential itself. */
const SCHEME_ALONE = /^(?:bearer|basic|token|digest|dpop|negotiate|bot|api-?key)$/i

/**
 * What a URL says about who we are, as a browser takes it (RFC 7617); nothing where it says nothing. A "%" that begins no escape
 * stands for itself.
 */
export function basicCredentials({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  return `Basic ${btoa(`${bytesOf(username)}:${bytesOf(password)}`)}`
}

/** A character for each byte: what is escaped need not be UTF-8. The rest is ASCII, because `URL` escapes everything else. */
function bytesOf(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** A call waits for seconds, and one that is tried again for a day: what a server wants beyond that is no time at all. */
export const LONGEST_RETRY_MS = 24 * 3_600_000

/** When a server wants to be asked again: in seconds, or at a date (RFC 9110 §10.2.3). */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const ms = SECONDS.test(header) ? Number(header) * 1_000 : DATE.test(header) ? Date.parse(header) - now : Number.NaN
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_RETRY_MS)
}

const SECONDS = /^\s*\d+\s*$/
/** By the day of the week that it begins with: lenient readers of dates take "-5" for a date, too. */
const DATE = /^\s*(mon|tue|wed|thu|fri|sat|sun)/i

/**
 * What comes of the body of a fetch, until the signal that it was given aborts: then the body is cancelled, and the reason thrown. On
 * Node 20 nothing holds what leads from such a signal to the body, so that the abort is lost once garbage was collected. Leaving the
 * loop cancels the rest.
 */
export async function* bodyChunks({ body }: Response, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  if (!body) return
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader()
  // It fails for a body that has failed already, which is told by reading it.
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

/** The text of a body. Bytes that are no UTF-8 are refused: replaced by question marks they would pass as another text. */
export function textOfBody(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new AppError('INPUT_INVALID', 'The request body is not UTF-8.', { cause })
  }
}

/** How many bytes are handed over at once: more would be too many arguments for one call. */
const CHUNK = 0x8000

/** Bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let start = 0; start < bytes.length; start += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(start, start + CHUNK))
  }
  return btoa(text)
}
