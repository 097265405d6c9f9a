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
import type { Clock, Random } from '../../core/kernel/index.ts'
import { createHttpExchange, Dropped } from '../http-exchange/index.ts'
import {
  claimedVersion,
  createLineWriter,
  isRecord,
  isRequest,
  isResponse,
  parseMessage,
  type Request,
  type Response,
  readLines,
} from '../mcp-wire/index.ts'
import { deliver, type Outcome } from './delivery.ts'
import { notUnderstood, tooLong } from './errors.ts'
import { type Attaching, type Incoming, type Parts, textOf } from './exchange.ts'
import { createLegacyCalls, type LegacyCalls } from './legacy-calls.ts'
import { createLink, createPause, type Gateway, type LinkDeps } from './link.ts'
import { createModernSession, type ModernSession } from './modern-session.ts'
import { createToolFacts } from './tool-facts.ts'

export interface BridgeOptions {
  /** What the client says, a message per line. */
  readonly input: Readable
  /** What the client hears; nothing else is written there. */
  readonly output: Writable
  readonly clock: Clock
  readonly random: Random
  find: LinkDeps['find']
  /** What a person runs to start a gateway. */
  readonly command: string
  /** Makes the idempotency key of a call. */
  createKey(): string
  /** Opens files of the agent; without it paths are passed on as they are. */
  readonly openFiles?: OpenFiles | undefined
  /** Diagnostics for people. */
  tell(text: string): void
  /** Aborts to end it at once. */
  readonly signal: AbortSignal
}

/** Larger messages are no tool calls; the server takes half of it. */
const MAX_LINE_BYTES = 8 * 1024 * 1024
/**
 * Requests under way when the client stops talking get this long for their answers: the 30 s that a tool has unless it
 * says otherwise, and what the way takes on a busy machine. A caller that pipes requests in wants them all answered. A
 * client that does not want to wait sends SIGTERM, as the SDKs do after 2 s, and that counts at once.
 */
const FINISH_MS = 35_000
/** What is told to the server at the end is a courtesy, and not worth waiting for. */
const GOODBYE_MS = 1_000

/**
 * Carries MCP between a client on standard input and output and the `up` that owns the data folder, until the client
 * goes. Answers why it never got there, if it did not.
 */
export async function runBridge(options: BridgeOptions): Promise<{ failure?: AppError }> {
  const ending = new AbortController()
  const writer = createLineWriter(options.output)
  const closing = AbortSignal.any([ending.signal, options.signal, writer.gone])
  const { clock, random, tell } = options
  const link = createLink(options)
  const exchange = createHttpExchange()
  const pause = createPause({ clock, random, signal: closing })
  const facts = createToolFacts(options)
  const attaching = createAttaching({ link, exchange, clock, pause, openFiles: options.openFiles })
  const parts: Parts = { link, exchange, writer, clock, pause, closing, tell, facts, attaching }
  const lanes = { modern: createModernSession(parts), legacy: createLegacyCalls(parts) }
  // Found before anyone asks, so that the first request does not wait; a request reports what went wrong.
  link.gateway().catch(() => {})
  const passing = createPassing(lanes, parts)
  await Promise.race([passing.read(options.input), aborted(closing)])
  lanes.legacy.silence()
  await within(FINISH_MS, clock, Promise.race([passing.finished(), aborted(closing)]))
  const failure = link.failure()
  ending.abort()
  await within(GOODBYE_MS, clock, sayGoodbye(lanes.legacy, parts))
  exchange.close()
  return failure ? { failure } : {}
}

interface Lanes {
  readonly modern: ModernSession
  readonly legacy: LegacyCalls
}

interface Passing {
  /** Takes in messages until there are no more. Never waits for the answer to one before it takes the next. */
  read(input: Readable): Promise<void>
  /** Resolves when no request waits for its answer; a subscription is not waited for. */
  finished(): Promise<void>
}

function createPassing({ modern, legacy }: Lanes, { writer, tell }: Parts): Passing {
  const waiting = new Set<Promise<void>>()

  function passRequest(incoming: Incoming<Request>): Promise<void> {
    const { method, params } = incoming.message
    const passed = claimedVersion(params) === undefined ? legacy.request(incoming) : modern.request(incoming)
    if (method === 'subscriptions/listen') return passed
    waiting.add(passed)
    return passed.finally(() => waiting.delete(passed))
  }

  async function pass(text: string): Promise<void> {
    const message = parseMessage(text)
    if (!message) return text.trim() === '' ? undefined : writer.write(JSON.stringify(notUnderstood()))
    if (isRequest(message)) return passRequest({ message, text })
    if (isResponse(message)) return legacy.respond(message)
    if (message.method === 'notifications/cancelled' && modern.cancel(message.params?.requestId)) return
    if (message.method === 'notifications/cancelled') return legacy.cancel({ message, text })
    return (claimedVersion(message.params) === undefined ? legacy : modern).notify({ message, text })
  }

  return {
    async read(input) {
      for await (const line of readLines(input, { maxBytes: MAX_LINE_BYTES })) {
        const passed = 'text' in line ? pass(line.text) : refuse(tooLong(line.tooLong, MAX_LINE_BYTES))
        passed.catch(error => tell(`A message could not be passed on: ${String(error)}`))
      }
    },
    async finished() {
      while (waiting.size > 0) await Promise.allSettled(waiting)
    },
  }

  function refuse(answer: Response): Promise<void> {
    return writer.write(JSON.stringify(answer))
  }
}

async function sayGoodbye(legacy: LegacyCalls, { link }: Parts): Promise<void> {
  const signal = AbortSignal.timeout(GOODBYE_MS)
  await legacy.close(signal).catch(() => {})
  // A token that is not given back ends by itself.
  await link.close().catch(() => {})
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Waits for something, but no longer than this. */
async function within(ms: number, clock: Clock, work: Promise<void>): Promise<void> {
  let stop = () => {}
  const over = new Promise<void>(resolve => {
    stop = clock.after(ms, resolve)
  })
  await Promise.race([work, over])
  stop()
}

/** Opens files in a folder of the agent's, and does something with them while they are open. Throws when one cannot be sent. */
export type OpenFiles = <T>(
  request: { readonly folder: string; readonly paths: readonly string[]; readonly maxBytes: number },
  work: (files: readonly OpenedFile[]) => Promise<T>,
) => Promise<T>

type OpenedFile = FileToAttach & { readonly identity: string }

interface AttachingDeps extends Pick<Parts, 'link' | 'exchange' | 'pause'> {
  readonly clock: Clock
  readonly openFiles: OpenFiles | undefined
}

/** A call that is made again means the same files; after this they may have been cleaned away. */
const REMEMBERED_MS = 30 * 60_000

function createAttaching(deps: AttachingDeps): Attaching {
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

  /** The ids of files by their paths. All of them are open before the first is handed in: one that cannot be stops the rest. */
  function handIn(paths: readonly string[], call: Call): Promise<ReadonlyMap<string, string>> {
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
      const place = files && placeIn(request, files)
      if (!place) return incoming
      const paths = new Set(place.named.filter(name => !isAttachmentId(name)))
      const ids = await handIn([...paths], { request, files, open: openFiles, signal })
      const message = place.with(place.named.map(name => ids.get(name) ?? name))
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

/** Whether anything in the arguments, or in those of a call inside them, can be a list of paths. */
function hasPaths(input: unknown): boolean {
  if (!isRecord(input)) return false
  const inner = isRecord(input.arguments) ? Object.values(input.arguments) : []
  return [...Object.values(input), ...inner].some(isListWithPath)
}

/** Longer lists than a message may have are refused by the server, and nothing is handed in for them. */
function isListWithPath(value: unknown): value is string[] {
  return isTexts(value) && value.length <= MOST_ATTACHMENTS && value.some(text => !isAttachmentId(text))
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string')
}

interface Place {
  readonly named: readonly string[]
  with(ids: readonly string[]): Request
}

/** Where the call names files: in its own arguments, or in those of the call that it passes on. */
function placeIn(request: Request, { inputs }: Files): Place | undefined {
  const params = request.params ?? {}
  const outer = isRecord(params.arguments) ? params.arguments : {}
  const isPassedOn = isRecord(outer.arguments) && !inputs.some(({ tool }) => tool === params.name)
  const inner = isPassedOn && isRecord(outer.arguments) ? outer.arguments : outer
  const name = isPassedOn ? outer.name : params.name
  const input = inputs.find(one => one.tool === name && isListWithPath(inner[one.input]))?.input
  const named = input === undefined ? undefined : inner[input]
  if (input === undefined || !isTexts(named)) return undefined
  return {
    named,
    with(ids) {
      const filled = { ...inner, [input]: ids }
      return { ...request, params: { ...params, arguments: isPassedOn ? { ...outer, arguments: filled } : filled } }
    },
  }
}

/** Over as many connections as it takes. What got lost half way is nothing yet, so that it can be sent again. */
async function upload(file: FileToAttach, { request, signal }: Call, deps: AttachingDeps): Promise<string> {
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
  if (id === undefined) throw new AppError('CANCELLED', 'The call was cancelled while a file of it was handed in.')
  return id
}

interface Sending {
  readonly gateway: Gateway
  readonly signal: AbortSignal
  readonly deps: AttachingDeps
}

async function send(
  { name, mediaType, size, content }: FileToAttach,
  { gateway, signal, deps }: Sending,
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

/** As many bytes as were announced: more would be taken for the next request. */
async function* exactly(size: number, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let sent = 0
  for await (const piece of content) {
    sent += piece.length
    if (sent > size) break
    yield piece
  }
  if (sent === size) return
  throw new AppError('EDIT_CONFLICT', 'A file was written to while it was handed in. Nothing was sent; try again.')
}

/** What was answered; `undefined` when it broke off, or is none of our answers. */
async function bodyOf(reply: IncomingMessage): Promise<Record<string, unknown> | undefined> {
  try {
    const body: unknown = JSON.parse(await textOf(reply))
    return isRecord(body) ? body : undefined
  } catch {
    // Whether the file has arrived is not known then, and does not matter: nothing refers to it.
    return undefined
  }
}

function idIn({ id, code, detail }: Record<string, unknown>, status: number | undefined): string {
  if (typeof id === 'string' && status === 201) return id
  const message = `${typeof detail === 'string' ? detail : `Quartermaster answered HTTP ${status}.`} Nothing was sent.`
  throw new AppError(typeof code === 'string' ? (code as ErrorCode) : 'INTERNAL', message)
}
