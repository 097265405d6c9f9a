import http from 'node:http'
import https from 'node:https'
import { Changed, decodeNote, MOST_READ_BYTES, ObsidianUnavailable, type StoredNote } from './disk-store.ts'

/** Obsidian's Local REST API, as much of it as notes need. */
export interface ObsidianClient {
  /** Throws `ObsidianUnavailable` unless Obsidian answers and accepts the key. */
  verify(): Promise<void>
  /** The top-level names of the open vault. */
  topNames(): Promise<string[]>
  get(path: string): Promise<StoredNote | undefined>
  /** Throws `Changed` when the server reports that the note has changed. */
  put(path: string, write: { text: string; seen: StoredNote | undefined }): Promise<void>
  close(): void
}

interface ObsidianClientOptions {
  url: string
  key: string
  /** The only accepted certificate. Without it any is accepted, because the address is on this machine. */
  certificate?: string | undefined
  signal: AbortSignal
}

// On the same machine an answer takes milliseconds.
const ANSWER_MS = 3_000

export function createObsidianClient(options: ObsidianClientOptions): ObsidianClient {
  const send = createSender(options)
  return {
    close: send.close,
    async verify() {
      const { status, body } = await send({ method: 'GET', path: '/' })
      const server = parseJson(body)
      if (status !== 200 || !/obsidian/i.test(String(server.service)))
        throw new ObsidianUnavailable(`What listens on ${options.url} is not Obsidian's Local REST API.`)
      if (server.authenticated !== true) throw new ObsidianUnavailable('Obsidian does not accept the key.')
    },
    async topNames() {
      const { status, body } = await send({ method: 'GET', path: '/vault/' })
      // Older versions answer 404 for a vault without files.
      if (status === 404) return []
      const { files } = parseJson(body)
      if (status !== 200 || !Array.isArray(files)) throw refused(status)
      return files.map(name => String(name).replace(/\/$/, ''))
    },
    async get(path) {
      const { status, body, tag } = await send({ method: 'GET', path: addressOf(path), accept: 'text/markdown' })
      if (status === 404) return undefined
      if (status !== 200) throw refused(status)
      const text = decodeNote(body)
      if (text === undefined) throw new ObsidianUnavailable(`Obsidian gave something for "${path}" that is no text.`)
      return { text, tag }
    },
    async put(path, { text, seen }) {
      const condition = seen ? { ...(seen.tag && { 'if-match': seen.tag }) } : { 'if-none-match': '*' }
      const { status } = await send({ method: 'PUT', path: addressOf(path), body: Buffer.from(text), condition })
      if (status === 412) throw new Changed()
      if (status < 200 || status > 299) throw refused(status, status >= 500)
    },
  }
}

interface RestRequest {
  method: 'GET' | 'PUT'
  path: string
  accept?: string
  body?: Buffer
  condition?: Record<string, string>
}

function createSender({ url, key, certificate, signal }: ObsidianClientOptions) {
  const isSecure = url.startsWith('https:')
  const trust = certificate ? { ca: certificate, checkServerIdentity: () => undefined } : { rejectUnauthorized: false }
  const agent = isSecure
    ? new https.Agent({ keepAlive: true, maxSockets: 1, ...trust })
    : new http.Agent({ keepAlive: true, maxSockets: 1 })
  const send = ({ method, path, accept, body, condition }: RestRequest) =>
    new Promise<Awaited<ReturnType<typeof readAnswer>>>((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${key}`,
        accept: accept ?? 'application/json',
        // As bytes: Obsidian removes the byte order mark of a text.
        ...(body && { 'content-type': 'application/octet-stream', 'content-length': String(body.length) }),
        ...condition,
      }
      const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
      const fail = (error: unknown) => reject(signal.aborted ? signal.reason : unavailable(error, url, method))
      const request = (isSecure ? https : http).request(`${url}${path}`, { method, headers, agent, signal: limit })
      request.on('error', fail)
      request.on('response', response => void readAnswer(response).then(resolve, fail))
      request.end(body)
    })
  return Object.assign(send, { close: () => agent.destroy() })
}

async function readAnswer(response: http.IncomingMessage) {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MOST_READ_BYTES) throw new Error('The answer is too long.')
    chunks.push(chunk)
  }
  const { etag } = response.headers
  // Only a strong tag names the exact bytes; the web server makes weak ones for any answer.
  const tag = etag?.startsWith('"') ? etag : undefined
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks), tag }
}

// Errors before anything was sent.
const NOT_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|.*CERT.*|.*SELF_SIGNED.*|ERR_SSL.*|EPROTO)$/

function unavailable(error: unknown, url: string, method: string): ObsidianUnavailable {
  const { code, name } = error as { code?: string; name?: string }
  const mayHaveWritten = method === 'PUT' && !NOT_SENT.test(code ?? '')
  const options = { mayHaveWritten, cause: error }
  if (code === 'ECONNREFUSED')
    return new ObsidianUnavailable(`Nothing listens on ${url}; Obsidian or its plugin is not running.`, options)
  if (name === 'AbortError' || name === 'TimeoutError')
    return new ObsidianUnavailable(`Obsidian did not answer within ${ANSWER_MS / 1000} s.`, options)
  return new ObsidianUnavailable(`Obsidian could not be reached (${code ?? 'the connection failed'}).`, options)
}

function refused(status: number, mayHaveWritten = false): ObsidianUnavailable {
  const reason = status === 401 || status === 403 ? 'does not accept the key' : `answered with status ${status}`
  return new ObsidianUnavailable(`Obsidian ${reason}.`, { mayHaveWritten })
}

function addressOf(path: string): string {
  return `/vault/${path.split('/').map(encodeURIComponent).join('/')}`
}

function parseJson(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    // Not JSON: the caller finds none of the fields it needs.
    return {}
  }
}
