import http from 'node:http'
import https from 'node:https'
import { Changed, decodeNote, type Kept, MOST_READ_BYTES, ObsidianUnavailable } from './disk-store.ts'

/** Obsidian's Local REST API, as much of it as notes need. */
export interface ObsidianClient {
  /** Throws `ObsidianUnavailable` unless it is Obsidian that answers, and takes the key. */
  greet(): Promise<void>
  /** The names at the top of the vault that it has open. */
  topNames(): Promise<string[]>
  get(path: string): Promise<Kept | undefined>
  /** Throws `Changed` when it can tell that the note is not the one that was seen. */
  put(path: string, write: { text: string; seen: Kept | undefined }): Promise<void>
  close(): void
}

interface ObsidianClientOptions {
  url: string
  key: string
  /** The only certificate that is accepted; any when absent, because the address is one of this machine. */
  certificate?: string | undefined
  signal: AbortSignal
}

// On the same machine an answer takes milliseconds. An Obsidian that is busy longer is not waited for.
const ANSWER_MS = 3_000

export function createObsidianClient(options: ObsidianClientOptions): ObsidianClient {
  const send = createSender(options)
  return {
    close: send.close,
    async greet() {
      const { status, body } = await send({ method: 'GET', path: '/' })
      const said = parseJson(body)
      if (status !== 200 || !/obsidian/i.test(String(said.service)))
        throw new ObsidianUnavailable(`What listens on ${options.url} is not Obsidian's Local REST API.`)
      if (said.authenticated !== true) throw new ObsidianUnavailable('Obsidian does not accept the key.')
    },
    async topNames() {
      const { status, body } = await send({ method: 'GET', path: '/vault/' })
      // Older versions answer so for a vault without files.
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

interface Asked {
  method: 'GET' | 'PUT'
  path: string
  accept?: string
  body?: Buffer
  condition?: Record<string, string>
}

interface Answered {
  readonly status: number
  readonly body: Buffer
  /** Only one that names the very bytes: weak ones are made by the web server, for any answer. */
  readonly tag?: string | undefined
}

function createSender({ url, key, certificate, signal }: ObsidianClientOptions) {
  const isSecure = url.startsWith('https:')
  const trust = certificate ? { ca: certificate, checkServerIdentity: () => undefined } : { rejectUnauthorized: false }
  const agent = isSecure
    ? new https.Agent({ keepAlive: true, maxSockets: 1, ...trust })
    : new http.Agent({ keepAlive: true, maxSockets: 1 })
  const send = ({ method, path, accept, body, condition }: Asked) =>
    new Promise<Answered>((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${key}`,
        accept: accept ?? 'application/json',
        // As bytes: what comes as text loses its mark of byte order on the way to the disk.
        ...(body && { 'content-type': 'application/octet-stream', 'content-length': String(body.length) }),
        ...condition,
      }
      const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
      const fail = (error: unknown) => reject(signal.aborted ? signal.reason : awayFor(error, url, method))
      const request = (isSecure ? https : http).request(`${url}${path}`, { method, headers, agent, signal: limit })
      request.on('error', fail)
      request.on('response', response => void readAnswer(response).then(resolve, fail))
      request.end(body)
    })
  return Object.assign(send, { close: () => agent.destroy() })
}

async function readAnswer(response: http.IncomingMessage): Promise<Answered> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MOST_READ_BYTES) throw new Error('The answer is too long.')
    chunks.push(chunk)
  }
  const { etag } = response.headers
  const tag = etag?.startsWith('"') ? etag : undefined
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks), tag }
}

// Before anything was sent.
const NOT_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|.*CERT.*|.*SELF_SIGNED.*|ERR_SSL.*|EPROTO)$/

function awayFor(error: unknown, url: string, method: string): ObsidianUnavailable {
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
    // What is no JSON says nothing that is asked for here.
    return {}
  }
}
