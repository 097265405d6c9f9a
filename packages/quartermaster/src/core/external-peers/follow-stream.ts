import {
  MESSAGE_BYTES,
  type MessageAttachment,
  type MessagePart,
  MOST_ATTACHMENTS,
  MOST_PARTS,
  toStorable,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Attachments } from '../attachments/index.ts'
import { type CancelSignal, createCancellation } from '../kernel/index.ts'
import { bytesOf, wholeParts } from '../messages/index.ts'
import {
  type RemoteArtifact,
  type RemoteEvent,
  RemoteFailure,
  type RemotePart,
  type RemoteState,
  type RemoteTask,
} from './ports.ts'
import { type ReachedTask, type TaskDeps } from './task.ts'
import { plainLine } from './wording.ts'

/** What a stream reported: a message, or the task as far as it got. */
export type StreamResult = { readonly message: readonly RemotePart[] } | { readonly task: RemoteTask | undefined }

/** Progress is stored at most once in this time: some agents report every word. */
const NOTE_MS = 1_000

/** Follows a stream until it ends, the agent wants something, or a local event takes precedence. */
export async function followStream(
  { clock, delegations }: Pick<TaskDeps, 'clock' | 'delegations'>,
  attempt: ReachedTask,
  open: (signal: CancelSignal) => AsyncIterable<RemoteEvent>,
  onAccepted = async (): Promise<unknown> => undefined,
): Promise<StreamResult> {
  const { held, peer, signal } = attempt
  const { until, leave } = abortOnceIdKnown(attempt)
  let task: RemoteTask | undefined
  let notedAt = Number.NEGATIVE_INFINITY
  try {
    for await (const event of open(until)) {
      if ('message' in event) {
        await onAccepted()
        return { message: event.message }
      }
      const isFirst = task === undefined
      task = withEvent(task, event)
      if (isFirst) {
        await saveRemoteId(attempt, task)
        await onAccepted()
      }
      if (!RUNNING_STATES.has(task.status.state) || signal.aborted || held.gone.aborted) break
      const said = textOf(task.status.said)
      if ('artifact' in event || clock.now() - notedAt < NOTE_MS) continue
      notedAt = clock.now()
      await delegations.note(peer, attempt.task.id, said === '' ? undefined : said)
    }
    return { task }
  } finally {
    leave()
  }
}

const RUNNING_STATES: ReadonlySet<RemoteState> = new Set(['submitted', 'working'])

/** The task's remote id is stored before anything else is done about it. */
async function saveRemoteId({ held }: ReachedTask, { id, contextId }: RemoteTask): Promise<void> {
  const { row } = held
  if (row.remoteId === id && row.contextId === contextId && row.attempts === 0) return
  await held.save({ remoteId: id, contextId, attempts: 0, trouble: null })
}

/** Before its remote id is known a task cannot be cancelled, so only the end of this process aborts the request. */
function abortOnceIdKnown({ held, signal }: ReachedTask): { readonly until: CancelSignal; leave(): void } {
  const until = createCancellation()
  const give = () => {
    if (held.row.remoteId !== null || held.gone.aborted) until.cancel(signal.reason)
  }
  if (signal.aborted) give()
  signal.addEventListener('abort', give)
  held.gone.addEventListener('abort', give)
  return {
    until: until.signal,
    leave() {
      signal.removeEventListener('abort', give)
      held.gone.removeEventListener('abort', give)
    },
  }
}

function withEvent(task: RemoteTask | undefined, event: Exclude<RemoteEvent, { message: unknown }>): RemoteTask {
  if ('task' in event) return event.task
  const known = task ?? {
    id: event.taskId,
    contextId: event.contextId,
    status: { state: 'working', said: [], mark: '' } as const,
    artifacts: [],
  }
  if ('status' in event) return { ...known, status: event.status }
  return { ...known, artifacts: withArtifact(known.artifacts, event.artifact, event.append) }
}

/** Words of a remote agent, as the ledger stores them. */
interface StoredContent {
  readonly message: string
  readonly parts: MessagePart[]
  readonly attachments: string[]
}

/** All parts of a result: its artifacts, then the closing message. */
export function resultParts({ artifacts, status }: RemoteTask): readonly RemotePart[] {
  return [...artifacts.flatMap(({ parts }) => joined(parts)), ...status.said]
}

/** Agents send artifacts in chunks cut anywhere, so adjacent texts are joined again. */
function joined(parts: readonly RemotePart[]): readonly RemotePart[] {
  const whole: RemotePart[] = []
  for (const part of parts) {
    const last = whole.at(-1)
    if (part.kind === 'text' && last?.kind === 'text')
      whole[whole.length - 1] = { ...last, text: last.text + part.text }
    else whole.push(part)
  }
  return whole
}

/** An artifact with another chunk. */
function withArtifact(
  artifacts: readonly RemoteArtifact[],
  next: RemoteArtifact,
  append: boolean,
): readonly RemoteArtifact[] {
  const known = artifacts.find(({ id }) => id === next.id)
  if (!known) return [...artifacts, next]
  const whole = append ? { ...next, parts: [...known.parts, ...next.parts] } : next
  return artifacts.map(one => (one === known ? whole : one))
}

/** The text alone, for progress reports. */
export function textOf(parts: readonly RemotePart[]): string {
  return parts
    .flatMap(part => (part.kind === 'text' && part.text.trim() !== '' ? [toStorable(part.text)] : []))
    .join('\n\n')
}

/** Stores the files and lists the URLs of linked ones. A file that cannot be stored is named, not hidden. */
export async function storeContent(
  parts: readonly RemotePart[],
  { attachments, peer, empty }: { attachments: Attachments; peer: WorkspaceRow; empty: string },
): Promise<StoredContent> {
  const kept: string[] = []
  const notes: string[] = []
  for (const part of parts) {
    if (part.kind === 'link') notes.push(`File ${nameOf(part)}: ${plainLine(part.url, 2_048)}`)
    if (part.kind !== 'file') continue
    const id = kept.length < MOST_ATTACHMENTS ? await keepFile(part, attachments, peer) : undefined
    if (id === undefined) notes.push(`The file ${nameOf(part)} (${part.bytes.length} bytes) could not be stored.`)
    else kept.push(id)
  }
  const message = [textOf(parts), ...notes].filter(text => text !== '').join('\n\n')
  const data = dataOf(parts)
  return {
    message: message === '' && data.length === 0 && kept.length === 0 ? empty : message,
    parts: data,
    attachments: kept,
  }
}

/** Cuts to the size of a message. Progress is stored nowhere else, so the text says that it was cut. */
export function fitMessage(words: StoredContent): StoredContent {
  const { message, parts } = words
  if (bytesOf(message) + bytesOf(JSON.stringify(parts)) <= MESSAGE_ROOM) return words
  // A character has at most three bytes per UTF-16 unit.
  const shown = message.slice(0, Math.floor(MESSAGE_ROOM / 3)).replace(/[\ud800-\udbff]$/, '')
  return { ...words, message: `${shown}\n\n(Cut off: the rest does not fit into a message.)`, parts: [] }
}

const MESSAGE_ROOM = MESSAGE_BYTES - 1_024

async function keepFile(
  part: Extract<RemotePart, { kind: 'file' }>,
  attachments: Attachments,
  { organisation, id: workspaceId, workspace: by }: WorkspaceRow,
): Promise<string | undefined> {
  const mediaType = MEDIA_TYPE.test(part.mediaType) ? part.mediaType : 'application/octet-stream'
  const name = plainLine(part.name, 255) || 'file'
  async function* content() {
    yield part.bytes
  }
  try {
    return (await attachments.receive({ organisation, workspaceId, by, name, mediaType }, content())).id
  } catch {
    // Too large, or too many: the answer names the file rather than failing.
    return undefined
  }
}

const MEDIA_TYPE = /^[\w.+-]{1,127}\/[\w.+-]{1,127}$/

function nameOf({ name, mediaType }: { readonly name: string; readonly mediaType: string }): string {
  const shown = plainLine(name, 255)
  const type = plainLine(mediaType, 100)
  return `${shown === '' ? '(no name)' : `"${shown}"`}${type === '' ? '' : ` (${type})`}`
}

/** More data than a message has parts for is combined in one list at the end. */
function dataOf(parts: readonly RemotePart[]): MessagePart[] {
  const all = parts.flatMap(part => (part.kind === 'data' ? [part.data] : []))
  const last = all.length > MOST_PARTS ? [all.slice(MOST_PARTS - 1)] : []
  return [...all.slice(0, last.length > 0 ? MOST_PARTS - 1 : MOST_PARTS), ...last].map(data => ({ kind: 'data', data }))
}

/** Total size of files in one message. They are sent inline, a third larger. */
export const MOST_FILE_BYTES = 26_214_400

/** The parts to send: the text, and the files with their contents. */
export async function outgoingParts(
  attachments: Attachments,
  { organisation, id: workspaceId }: WorkspaceRow,
  {
    text,
    parts: said,
    files,
  }: { text: string; parts: readonly MessagePart[] | null; files: readonly MessageAttachment[] },
): Promise<RemotePart[]> {
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  if (bytes > MOST_FILE_BYTES)
    throw new RemoteFailure(
      'refused',
      `The attached files have ${bytes} bytes; an external agent is sent at most ${MOST_FILE_BYTES}. Attach less.`,
    )
  const parts: RemotePart[] = wholeParts({ text, parts: said ?? [] }).map(toRemote)
  for (const { id, name, mediaType } of files) {
    const { content } = await attachments.open({ organisation, workspaceId }, id)
    parts.push({ kind: 'file', bytes: await wholeOf(content), name, mediaType })
  }
  return parts
}

function toRemote(part: MessagePart): RemotePart {
  return part.kind === 'text' ? part : { kind: 'data', data: part.data ?? null }
}

async function wholeOf(content: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of content) pieces.push(piece)
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
