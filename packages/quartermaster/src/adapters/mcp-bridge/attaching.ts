import type { IncomingMessage } from 'node:http'
import {
  AppError,
  type ErrorCode,
  type FileToAttach,
  isAppError,
  isAttachmentId,
  MOST_ATTACHMENTS,
} from '../../contracts/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import { Dropped } from '../http-exchange/index.ts'
import { isRecord, type Request } from '../mcp-wire/index.ts'
import { deliver, type Outcome } from './delivery.ts'
import { type Attaching, type Parts, textOf } from './exchange-parts.ts'
import type { Gateway } from './gateway.ts'

/** Opens files in a folder of the agent's, and does something with them while they are open. Throws when one cannot be sent. */
export type OpenFiles = <T>(
  request: { readonly folder: string; readonly paths: readonly string[]; readonly maxBytes: number },
  work: (files: readonly OpenedFile[]) => Promise<T>,
) => Promise<T>

type OpenedFile = FileToAttach & { readonly identity: string }

export interface AttachingDeps extends Pick<Parts, 'link' | 'exchange' | 'pause'> {
  readonly clock: Clock
  readonly openFiles: OpenFiles | undefined
}

/** A call that is made again means the same files; after this they may have been cleaned away. */
const REMEMBERED_MS = 30 * 60_000

export function createAttaching(deps: AttachingDeps): Attaching {
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
