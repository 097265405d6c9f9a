import type { IncomingMessage } from 'node:http'
import type { Readable, Writable } from 'node:stream'
import {
  AppError,
  type ErrorCode,
  type FileToAttach,
  isAppError,
  isAttachmentId,
  MOST_ATTACHMENTS,
} from '../../contracts/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import { createHttpExchange, Dropped } from '../http-exchange/index.ts'
import {
  claimedVersion,
  createLineWriter,
  isRecord,
  isRequest,
  isResponse,
  type Line,
  type LineWriter,
  parseMessage,
  type Request,
  readLines,
} from '../mcp-wire/index.ts'
import { deliver, type Outcome } from './delivery.ts'
import { notUnderstood, tooLong } from './errors.ts'
import { type FileUploads, type Incoming, type Parts, textOf } from './exchange.ts'
import { createLegacyCalls, type LegacyCalls } from './legacy-calls.ts'
import { createLink, createPause, type Gateway, type Link, type LinkDeps } from './link.ts'
import { createModernSession } from './modern-session.ts'
import { createToolFacts } from './tool-facts.ts'

export interface BridgeOptions extends Pick<LinkDeps, 'clock' | 'random' | 'find' | 'command' | 'tell'> {
  /** Takes messages for the client; nothing else is written there. */
  readonly writer: LineWriter
  /** Whether the gateway is reached over TLS. */
  readonly isSecure?: boolean
  /** Creates the idempotency key of a call. */
  createKey(): string
  /** Opens files of the agent; without it, paths are passed on unchanged. */
  readonly openFiles?: OpenFiles | undefined
  readonly signal: AbortSignal
}

/** Carries MCP between a client and a gateway, over as many connections and restarts as needed. */
export interface Bridge {
  /** Takes a message of the client, as text. Resolves when it was answered or passed on. */
  receive(text: string): Promise<void>
  readonly link: Link
  /** Refuses open questions, waits for open requests and closes the sessions. Returns the failure if no gateway was ever reached. */
  finish(): Promise<{ failure?: AppError }>
}

/** Larger messages are no tool calls; the server accepts half of it. */
const MAX_LINE_BYTES = 8 * 1024 * 1024
/**
 * How long running requests may finish after the client closed its input: the default tool timeout of 30 s plus transport. A
 * caller that pipes requests in wants all answers; a client that does not want to wait sends SIGTERM, which ends the bridge at once.
 */
const FINISH_MS = 35_000
/** Upper bound for closing sessions and returning the token. */
const GOODBYE_MS = 1_000

export function createBridge(options: BridgeOptions): Bridge {
  const { clock, random, tell, writer } = options
  const ending = new AbortController()
  const closing = AbortSignal.any([ending.signal, options.signal, writer.gone])
  const link = createLink(options)
  const exchange = createHttpExchange({ isSecure: options.isSecure })
  const pause = createPause({ clock, random, signal: closing })
  const facts = createToolFacts(options)
  const uploads = createFileUploads({ link, exchange, clock, pause, openFiles: options.openFiles })
  const parts: Parts = { link, exchange, writer, clock, pause, closing, tell, facts, uploads }
  const modern = createModernSession(parts)
  const legacy = createLegacyCalls(parts)
  const waiting = new Set<Promise<void>>()
  // Connects early, so that the first request does not wait; that request reports a failure.
  link.gateway().catch(() => {})

  function routeRequest(incoming: Incoming<Request>): Promise<void> {
    const { method, params } = incoming.message
    const routed = claimedVersion(params) === undefined ? legacy.request(incoming) : modern.request(incoming)
    // The end of the input does not wait for subscriptions.
    if (method === 'subscriptions/listen') return routed
    waiting.add(routed)
    return routed.finally(() => waiting.delete(routed))
  }

  async function allAnswered(): Promise<void> {
    while (waiting.size > 0) await Promise.allSettled(waiting)
  }

  return {
    link,
    async receive(text) {
      const message = parseMessage(text)
      if (!message) return text.trim() === '' ? undefined : writer.write(JSON.stringify(notUnderstood()))
      if (isRequest(message)) return routeRequest({ message, text })
      if (isResponse(message)) return legacy.respond(message)
      if (message.method === 'notifications/cancelled' && modern.cancel(message.params?.requestId)) return
      if (message.method === 'notifications/cancelled') return legacy.cancel({ message, text })
      return (claimedVersion(message.params) === undefined ? legacy : modern).notify({ message, text })
    },
    async finish() {
      legacy.refuseQuestions()
      await within(FINISH_MS, clock, Promise.race([allAnswered(), aborted(closing)]))
      const failure = link.failure()
      ending.abort()
      await within(GOODBYE_MS, clock, closeSessions(legacy, parts))
      exchange.close()
      return failure ? { failure } : {}
    },
  }
}

export interface ClientLines {
  /** The client's messages, one per line. */
  readonly input: Readable
  readonly writer: LineWriter
  readonly signal: AbortSignal
  tell(text: string): void
}

/** Reads a client's messages until it disconnects, without waiting for answers in between. */
export async function readClient(
  { input, writer, signal, tell }: ClientLines,
  receive: (text: string) => Promise<void>,
): Promise<void> {
  const take = (line: Line) =>
    'text' in line ? receive(line.text) : writer.write(JSON.stringify(tooLong(line.tooLong, MAX_LINE_BYTES)))
  async function read(): Promise<void> {
    for await (const line of readLines(input, { maxBytes: MAX_LINE_BYTES }))
      take(line).catch(error => tell(`A message could not be forwarded: ${String(error)}`))
  }
  await Promise.race([read(), aborted(AbortSignal.any([signal, writer.gone]))])
}

/**
 * Carries MCP between a client on stdio and the `up` that owns the data folder, until the client disconnects. Returns the failure
 * if no gateway was ever reached.
 */
export async function runBridge({
  input,
  output,
  ...options
}: Omit<BridgeOptions, 'writer'> & { readonly input: Readable; readonly output: Writable }): Promise<{
  failure?: AppError
}> {
  const writer = createLineWriter(output)
  const bridge = createBridge({ ...options, writer })
  await readClient({ ...options, input, writer }, bridge.receive)
  return bridge.finish()
}

async function closeSessions(legacy: LegacyCalls, { link }: Parts): Promise<void> {
  const signal = AbortSignal.timeout(GOODBYE_MS)
  await legacy.close(signal).catch(() => {})
  // A token that is not returned expires.
  await link.close().catch(() => {})
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** What came of some work, or `undefined` when it takes longer. */
export async function within<T>(ms: number, clock: Clock, work: Promise<T>): Promise<T | undefined> {
  let stop = () => {}
  const over = new Promise<undefined>(resolve => {
    stop = clock.after(ms, () => resolve(undefined))
  })
  try {
    return await Promise.race([work, over])
  } finally {
    stop()
  }
}

/** Opens files in the agent's folder for the duration of the work. Throws when a file cannot be sent. */
export type OpenFiles = <T>(
  request: { readonly folder: string; readonly paths: readonly string[]; readonly maxBytes: number },
  work: (files: readonly OpenedFile[]) => Promise<T>,
) => Promise<T>

type OpenedFile = FileToAttach & { readonly identity: string }

interface UploadDeps extends Pick<Parts, 'link' | 'exchange' | 'pause'> {
  readonly clock: Clock
  readonly openFiles: OpenFiles | undefined
}

/** A repeated call within this time reuses the uploaded files; later they may have been cleaned up. */
const REMEMBERED_MS = 30 * 60_000

function createFileUploads(deps: UploadDeps): FileUploads {
  const { link, clock, openFiles } = deps
  const known = new Map<string, { readonly id: string; readonly at: number }>()

  function remembered(key: string): string | undefined {
    for (const [old, { at }] of known) if (clock.now() - at > REMEMBERED_MS) known.delete(old)
    return known.get(key)?.id
  }

  async function idOf(file: OpenedFile, call: Call): Promise<string> {
    const key = `${file.identity} ${file.name}`
    const before = remembered(key)
    if (before !== undefined) return before
    const id = await upload(file, call, deps)
    known.set(key, { id, at: clock.now() })
    return id
  }

  /** Uploads files and returns ids by path. All files are open before the first upload: one that cannot be opened stops all. */
  function uploadAll(paths: readonly string[], call: Call): Promise<ReadonlyMap<string, string>> {
    const { workspaceDir: folder, maxBytes } = call.files
    return call.open({ folder, paths, maxBytes }, async files => {
      const ids = new Map<string, string>()
      for (const [i, file] of files.entries()) ids.set(paths[i] ?? '', await idOf(file, call))
      return ids
    })
  }

  return {
    async prepare(incoming, signal) {
      const { message: request } = incoming
      if (!openFiles || request.method !== 'tools/call' || !hasPaths(request.params?.arguments)) return incoming
      const { files } = await link.gateway()
      const list = files && findFileList(request, files)
      if (!list) return incoming
      const paths = new Set(list.paths.filter(name => !isAttachmentId(name)))
      const ids = await uploadAll([...paths], { request, files, open: openFiles, signal })
      const message = list.replace(list.paths.map(name => ids.get(name) ?? name))
      return { message, text: JSON.stringify(message) }
    },
  }
}

type Files = NonNullable<Gateway['files']>

interface Call {
  readonly request: Request
  readonly files: Files
  readonly open: OpenFiles
  readonly signal: AbortSignal
}

/** Whether any argument, or an argument of a forwarded call inside them, can be a list of paths. */
function hasPaths(input: unknown): boolean {
  if (!isRecord(input)) return false
  const inner = isRecord(input.arguments) ? Object.values(input.arguments) : []
  return [...Object.values(input), ...inner].some(isListWithPath)
}

/** The server rejects longer lists, so nothing is uploaded for them. */
function isListWithPath(value: unknown): value is string[] {
  return isTexts(value) && value.length <= MOST_ATTACHMENTS && value.some(text => !isAttachmentId(text))
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string')
}

interface FileList {
  readonly paths: readonly string[]
  replace(ids: readonly string[]): Request
}

/** The list of files in a call's own arguments, or in those of the call it forwards. */
function findFileList(request: Request, { inputs }: Files): FileList | undefined {
  const params = request.params ?? {}
  const outer = isRecord(params.arguments) ? params.arguments : {}
  const isForwarding = isRecord(outer.arguments) && !inputs.some(({ tool }) => tool === params.name)
  const inner = isForwarding && isRecord(outer.arguments) ? outer.arguments : outer
  const name = isForwarding ? outer.name : params.name
  const input = inputs.find(one => one.tool === name && isListWithPath(inner[one.input]))?.input
  const paths = input === undefined ? undefined : inner[input]
  if (input === undefined || !isTexts(paths)) return undefined
  return {
    paths,
    replace(ids) {
      const filled = { ...inner, [input]: ids }
      return { ...request, params: { ...params, arguments: isForwarding ? { ...outer, arguments: filled } : filled } }
    },
  }
}

/** Uploads a file, retrying over new connections. A partial upload has no effect, so it can be repeated. */
async function upload(file: FileToAttach, { request, signal }: Call, deps: UploadDeps): Promise<string> {
  let id: string | undefined
  const attempt = async (gateway: Gateway): Promise<Outcome> => {
    const reply = await send(file, { gateway, signal, deps })
    if (reply === undefined || reply.statusCode === 401) return 'notSent'
    const body = await bodyOf(reply)
    if (body === undefined || body.code === 'STOPPING') return 'notSent'
    id = idIn(body, reply.statusCode)
    return 'answered'
  }
  await deliver(deps, { request, isOver: () => signal.aborted, isRepeatable: () => true, attempt })
  if (id === undefined) throw new AppError('CANCELLED', 'The call was cancelled while one of its files was uploaded.')
  return id
}

async function send(
  { name, mediaType, size, content }: FileToAttach,
  { gateway, signal, deps }: { gateway: Gateway; signal: AbortSignal; deps: UploadDeps },
): Promise<IncomingMessage | undefined> {
  if (!gateway.files) return undefined
  const headers = {
    authorization: `Bearer ${gateway.token}`,
    'content-type': mediaType,
    'content-length': String(size),
  }
  const url = `${gateway.files.url}?name=${encodeURIComponent(name)}`
  try {
    return await deps.exchange.send({ method: 'POST', url, headers, body: exactly(size, content), signal })
  } catch (error) {
    if (error instanceof Dropped && isAppError(error.cause)) throw error.cause
    if (error instanceof Dropped) return undefined
    throw error
  }
}

/** Exactly as many bytes as announced: more would be read as the next request. */
async function* exactly(size: number, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let sent = 0
  for await (const piece of content) {
    sent += piece.length
    if (sent > size) break
    yield piece
  }
  if (sent === size) return
  throw new AppError('EDIT_CONFLICT', 'A file was changed while it was uploaded. Nothing was sent; try again.')
}

/** The JSON body of an upload's answer; `undefined` when it broke off or is no object. */
async function bodyOf(reply: IncomingMessage): Promise<Record<string, unknown> | undefined> {
  try {
    const body: unknown = JSON.parse(await textOf(reply))
    return isRecord(body) ? body : undefined
  } catch {
    // The upload may have arrived. That is harmless: nothing refers to it.
    return undefined
  }
}

function idIn({ id, code, detail }: Record<string, unknown>, status: number | undefined): string {
  if (typeof id === 'string' && status === 201) return id
  const message = `${typeof detail === 'string' ? detail : `Quartermaster answered HTTP ${status}.`} Nothing was sent.`
  throw new AppError(typeof code === 'string' ? (code as ErrorCode) : 'INTERNAL', message)
}
