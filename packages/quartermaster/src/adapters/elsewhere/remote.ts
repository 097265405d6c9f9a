import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { AppError, isAppError, toAppError } from '../../contracts/index.ts'
import { type Clock, escapeLine, parseErrorResponse } from '../../core/kernel/index.ts'
import { createHttpExchange, Dropped, type ExchangeRequest } from '../http-exchange/index.ts'
import type { FindOptions, Gateway } from '../mcp-bridge/index.ts'
import { isRecord, parseJson } from '../mcp-wire/index.ts'
import type { WorkspaceAddress } from './addresses.ts'

/** What a server says of the workspace of a token. */
export interface WorkspaceFacts {
  readonly id: string
  readonly name: string
  readonly organisation: string
}

/** The API of one server, with the token of one workspace. */
export interface Remote {
  /** Registers the workspace, which shows that the token is good. One attempt. */
  find(options: Pick<FindOptions, 'signal'>): Promise<Gateway>
  /** What was learnt with the last registration. */
  facts(): WorkspaceFacts | undefined
  /** Opens the log of the workspace, from behind an event on. */
  openEvents(gateway: Gateway, options: { lastId: string | undefined; signal: AbortSignal }): Promise<IncomingMessage>
  /** Whether anything answers there, without a token. */
  look(signal: AbortSignal): Promise<ServerFacts>
  /** The version that the MCP server says it has. */
  version(gateway: Pick<Gateway, 'url' | 'token'>, signal: AbortSignal): Promise<string | undefined>
  close(): void
}

/** What an answer shows of its server. */
export interface ServerFacts {
  readonly socket: Socket
  readonly date: string | undefined
}

interface RemoteDeps {
  readonly address: WorkspaceAddress
  readonly clock: Clock
  /** Why a workspace cannot be that of this address, if so. */
  readonly refuse: ((facts: WorkspaceFacts) => string | undefined) | undefined
}

/** A server that accepts a connection and says nothing is not waited for. */
const ANSWER_MS = 10_000
/** Two heartbeats of the log may be lost. */
const SILENCE_MS = 45_000
const MAX_ANSWER_BYTES = 1024 * 1024
/** The server has a limit of its own, which it checks before a file is sent. */
const MAX_FILE_BYTES = 1024 * 1024 * 1024
/** A refused token is not sent again at once: only a person can change that. */
const REFUSED_MS = 15_000

/** The tools whose files the bridge reads on this machine. Names and inputs are ours: a server cannot add its own. */
const FILE_INPUTS = ['send_message_to_user', 'reply', 'delegate_task', 'delegate_task_async'].map(tool => ({
  tool,
  input: 'attachments',
}))

export function createRemote({ address, clock, refuse }: RemoteDeps, { filesDir }: { filesDir: string }): Remote {
  const exchange = createHttpExchange({ isSecure: address.url.startsWith('https:') })
  let facts: WorkspaceFacts | undefined
  let refused: { readonly token: string; readonly error: AppError; readonly at: number } | undefined

  async function send(
    request: Pick<ExchangeRequest, 'method' | 'body' | 'signal'> & { silenceMs?: number },
    path: string,
    { token, headers = {} }: { token: string; headers?: Record<string, string> },
  ): Promise<IncomingMessage> {
    try {
      const reply = await exchange.send({
        silenceMs: ANSWER_MS,
        ...request,
        url: `${address.url}/api/v1${path}`,
        headers: { authorization: `Bearer ${token}`, ...headers },
      })
      if (reply.statusCode === undefined || reply.statusCode >= 300) throw await refusal(reply, address)
      return reply
    } catch (error) {
      throw isAppError(error) ? error : unreachable(error, address)
    }
  }

  async function post(
    token: string,
    path: string,
    { signal, body }: { signal?: AbortSignal | undefined; body?: object | undefined },
  ): Promise<Record<string, unknown>> {
    const content = body && { body: JSON.stringify(body) }
    const headers = body ? { 'content-type': 'application/json' } : {}
    return bodyOf(await send({ method: 'POST', signal, ...content }, path, { token, headers }), address)
  }

  async function register(token: string, signal: AbortSignal): Promise<{ facts: WorkspaceFacts; everyMs: number }> {
    const { workspace, nextWithinSeconds } = await post(token, '/register', { signal, body: {} })
    const found = isRecord(workspace) ? factsIn(workspace) : undefined
    if (!found || typeof nextWithinSeconds !== 'number') throw stranger(address)
    if (address.id !== undefined && address.id !== found.id)
      throw new AppError(
        'INPUT_INVALID',
        `${address.source} names the workspace "${address.id}", and its token is that of "${found.id}". Correct one of them.`,
      )
    const why = refuse?.(found)
    if (why !== undefined) throw new AppError('INPUT_INVALID', why)
    return { facts: found, everyMs: Math.max(1, nextWithinSeconds) * 1_000 }
  }

  return {
    facts: () => facts,
    async find({ signal }) {
      const token = await address.token()
      if (refused?.token === token && clock.now() - refused.at < REFUSED_MS) throw refused.error
      const registered = await register(token, signal).catch(error => {
        const failed = toAppError(error)
        if (failed.kind === 'unauthenticated') refused = { token, error: failed, at: clock.now() }
        throw failed
      })
      facts = registered.facts
      refused = undefined
      return {
        url: `${address.url}/mcp`,
        token,
        goodForMs: 3 * registered.everyMs,
        files: {
          workspaceDir: filesDir,
          maxBytes: MAX_FILE_BYTES,
          inputs: FILE_INPUTS,
          url: `${address.url}/api/v1/attachments`,
        },
        async extend() {
          await post(token, '/heartbeat', {})
        },
        // It is the workspace's own token.
        async giveBack() {},
      }
    },
    openEvents: ({ token }, { lastId, signal }) =>
      send({ method: 'GET', signal, silenceMs: SILENCE_MS }, '/events', {
        token,
        headers: { accept: 'text/event-stream', ...(lastId === undefined ? {} : { 'last-event-id': lastId }) },
      }),
    async look(signal) {
      const reply = await exchange
        .send({ method: 'GET', url: `${address.url}/api/v1/me`, signal, silenceMs: ANSWER_MS })
        .catch(error => {
          throw unreachable(error, address)
        })
      reply.resume()
      if (reply.statusCode !== 401) throw await refusal(reply, address)
      return { socket: reply.socket, date: reply.headers.date }
    },
    async version({ url, token }, signal) {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': MODERN,
        'io.modelcontextprotocol/clientCapabilities': {},
      }
      const body = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: meta } }
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MODERN,
        'mcp-method': body.method,
        authorization: `Bearer ${token}`,
      }
      const limited = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
      const request = { method: 'POST', url, headers, body: JSON.stringify(body), signal: limited } as const
      const reply = await exchange.send(request).catch(error => {
        throw unreachable(error, address)
      })
      return versionIn(await textOf(reply))
    },
    close: () => exchange.close(),
  }
}

const MODERN = '2026-07-28'

/** Of an answer that may be a stream of one event. */
function versionIn(text: string): string | undefined {
  return /serverInfo":\s*\{[^{}]*"version":\s*"([\w.+-]{1,64})"/.exec(text)?.[1]
}

/** Redeems a join code of a server. */
export async function joinWorkspace(
  url: string,
  joining: { readonly code: string; readonly name?: string },
  signal: AbortSignal,
): Promise<{ token: string; workspace: WorkspaceFacts }> {
  const address: WorkspaceAddress = { source: 'its address', url, token: async () => '' }
  const exchange = createHttpExchange({ isSecure: url.startsWith('https:') })
  try {
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', url: `${url}/api/v1/join`, headers, body: JSON.stringify(joining) } as const
    const reply = await exchange.send({ ...request, signal, silenceMs: ANSWER_MS }).catch(error => {
      throw unreachable(error, address)
    })
    if (reply.statusCode !== 201) throw await refusal(reply, address, { isJoining: true })
    const { token, workspace } = await bodyOf(reply, address)
    const facts = isRecord(workspace) ? factsIn(workspace) : undefined
    if (typeof token !== 'string' || !facts) throw stranger(address)
    return { token, workspace: facts }
  } finally {
    exchange.close()
  }
}

function factsIn({ id, name, organisation }: Record<string, unknown>): WorkspaceFacts | undefined {
  if (typeof id !== 'string' || typeof name !== 'string' || typeof organisation !== 'string') return undefined
  // Words of another server, which stand in what this agent reads.
  return { id: plain(id), name: plain(name), organisation: plain(organisation) }
}

function plain(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N} ._@-]/gu, '?').slice(0, 128)
}

/** Words of another server on one line, with everything invisible written out. */
function shown(words: string): string {
  return escapeLine(words.length > MOST_WORDS ? `${words.slice(0, MOST_WORDS)}…` : words)
}

const MOST_WORDS = 300

/** An answer that is none of the API's, or its refusal. */
async function refusal(
  reply: IncomingMessage,
  address: WorkspaceAddress,
  { isJoining = false } = {},
): Promise<AppError> {
  const status = reply.statusCode ?? 0
  if (status >= 300 && status < 400) {
    reply.resume()
    const to = String(reply.headers.location ?? '').slice(0, 200)
    return new AppError(
      'INPUT_INVALID',
      `${address.url} (${address.source}) redirects${to === '' ? '' : ` to ${JSON.stringify(to)}`}. A token is not taken elsewhere: name the address of the server itself.`,
    )
  }
  const body = parseJson(await textOf(reply).catch(() => ''))
  const told = parseErrorResponse(body)
  if (status === 401 && !isJoining)
    return new AppError(
      'TOKEN_INVALID',
      `${address.url} does not accept the token of ${address.source}. Ask for a new one there: quartermaster tokens create NAME`,
    )
  if (told) return new AppError(told.code, `${address.url}: ${shown(told.message)}`)
  return status >= 500
    ? new AppError('DEPENDENCY_UNAVAILABLE', `${address.url} answered HTTP ${status}.`)
    : stranger(address)
}

function stranger({ url, source }: WorkspaceAddress): AppError {
  return new AppError(
    'DEPENDENCY_UNAVAILABLE',
    `What answers at ${url} (${source}) is not Quartermaster. Check the address.`,
  )
}

/** What a person can do about an address that does not answer. */
function unreachable(error: unknown, { url, source }: WorkspaceAddress): AppError {
  const cause = error instanceof Dropped ? error.cause : error
  const { code = '', message = String(cause) } = (cause ?? {}) as NodeJS.ErrnoException
  const why = REASONS[code] ?? (code === '' ? message : code)
  return new AppError('DEPENDENCY_UNAVAILABLE', `${url} (${source}) cannot be reached: ${shown(why)}.`, { cause })
}

const REASONS: Readonly<Record<string, string>> = {
  ABORT_ERR: 'it does not answer in time',
  ECONNREFUSED: 'nothing listens there. Start it: quartermaster up',
  ENOTFOUND: 'there is no host of this name',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  ECONNRESET: 'the connection was cut',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself. Name it to this machine in NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by an unknown authority. Name that in NODE_EXTRA_CA_CERTS',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its certificate is signed by an unknown authority. Name that in NODE_EXTRA_CA_CERTS',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
}

async function bodyOf(reply: IncomingMessage, address: WorkspaceAddress): Promise<Record<string, unknown>> {
  const text = await textOf(reply).catch(error => {
    throw unreachable(error, address)
  })
  const body = parseJson(text)
  if (!isRecord(body)) throw stranger(address)
  return body
}

async function textOf(reply: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of reply) {
    bytes += (part as Buffer).length
    if (bytes > MAX_ANSWER_BYTES) throw new Error('its answer is too long')
    parts.push(part as Buffer)
  }
  return Buffer.concat(parts).toString()
}
