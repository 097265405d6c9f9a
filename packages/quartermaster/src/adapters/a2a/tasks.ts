import {
  type ActivityRow,
  AppError,
  type DelegationResult,
  type DelegationRow,
  DelegationState,
  isBlank,
  type MessageAttachment,
  MessagePart,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Delegations, isOpen, isQuestion, type ListedRow, placeBehind } from '../../core/delegation/index.ts'
import { type CancelSignal, type Clock, createCancellation } from '../../core/kernel/index.ts'
import { wholeParts } from '../../core/messages/index.ts'
import { Refusal } from './errors.ts'
import type {
  Artifact,
  ListTasks,
  Part,
  StreamEvent,
  Task,
  TaskState,
  TaskStatus,
  ToldMessage,
  ToldPart,
} from './wire.ts'

/** What a task is called here while it is in this state; one in progress may also want something from its asker. */
const STATES = {
  pending: 'TASK_STATE_SUBMITTED',
  queued: 'TASK_STATE_SUBMITTED',
  in_progress: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  expired: 'TASK_STATE_FAILED',
  cancelled: 'TASK_STATE_CANCELED',
} as const satisfies Record<DelegationState, TaskState>

/** What is read of a task, and what was said about it as far as that is known. */
export interface TaskFacts {
  readonly row: ListedRow
  /** The oldest first. */
  readonly said: readonly ActivityRow[]
}

/** A task as it is told, without its artifacts and what was said. */
export function toTask(facts: TaskFacts): Task {
  const { id, conversationId: contextId, state, deadlineAt } = facts.row
  const metadata = { 'quartermaster/state': state, 'quartermaster/deadline': new Date(deadlineAt).toISOString() }
  return { id, contextId, status: toStatus(facts), metadata }
}

function toStatus({ row, said }: TaskFacts): TaskStatus {
  const timestamp = new Date(row.updatedAt).toISOString()
  if (row.state === 'failed' || row.state === 'expired' || row.state === 'cancelled')
    return { state: STATES[row.state], timestamp, message: endMessage(row) }
  const last = said.findLast(({ kind }) => kind === 'peer_agent')
  if (row.state !== 'in_progress' || row.progress === null || !last) return { state: STATES[row.state], timestamp }
  return { ...statusAfter(last, row.id), timestamp }
}

/** How a task in progress is once this was said about it. */
function statusAfter(said: ActivityRow, taskId: string): TaskStatus {
  const timestamp = new Date(said.createdAt).toISOString()
  // What the asker says is its answer.
  if (said.direction === 'out') return { state: 'TASK_STATE_WORKING', timestamp }
  const state = isQuestion(said.text) ? 'TASK_STATE_INPUT_REQUIRED' : 'TASK_STATE_WORKING'
  return { state, timestamp, message: toMessage(said, taskId) }
}

/** Why it came to nothing. */
function endMessage({ id, conversationId, error, state }: ListedRow): ToldMessage {
  const text = error ?? state
  return { messageId: `${id}-end`, contextId: conversationId, taskId: id, role: 'ROLE_AGENT', parts: [toText(text)] }
}

/** What was said about a task, by the log of the client that asked for it. */
export function toHistory(row: DelegationRow, said: readonly ActivityRow[]): ToldMessage[] {
  // What the platform says of an end is in the status; the agent has not said it.
  const spoken = said.filter(({ peerKind }) => peerKind !== 'platform')
  if (spoken.length > 0) return spoken.map(message => toMessage(message, row.id))
  // Logs are forgotten earlier than tasks that were not read.
  const { messageId, conversationId: contextId, id: taskId, task: text, parts } = row
  const told = wholeParts({ text, parts: parts ?? [] }).map(toPart)
  return [{ messageId, contextId, taskId, role: 'ROLE_USER', parts: told }]
}

function toMessage(
  { messageId: ours, senderMessageId, conversationId: contextId, direction, text, parts }: ActivityRow,
  taskId: string,
): ToldMessage {
  // The author of a message names it (§4.1.4).
  const messageId = senderMessageId ?? ours
  const role = direction === 'out' ? 'ROLE_USER' : 'ROLE_AGENT'
  return { messageId, contextId, taskId, role, parts: wholeParts({ text, parts }).map(toPart) }
}

/** What came of it. Files are available with the same token. */
export function toArtifacts({ id, state, result }: DelegationRow, origin: string): Artifact[] {
  if (state !== 'completed' || !result) return []
  return [{ artifactId: `${id}-result`, name: 'result', parts: resultParts(result, origin) }]
}

function resultParts({ text, parts, attachments }: DelegationResult, origin: string): ToldPart[] {
  const words = text.trim() === '' ? [] : [toText(text)]
  return [...words, ...parts.map(toPart), ...attachments.map(file => toFile(file, origin))]
}

function toText(text: string): ToldPart {
  return { text, mediaType: 'text/plain' }
}

function toPart(part: MessagePart): ToldPart {
  return part.kind === 'text' ? toText(part.text) : { data: part.data, mediaType: 'application/json' }
}

function toFile({ id, name: filename, mediaType }: MessageAttachment, origin: string): ToldPart {
  return { url: `${origin}/api/v1/attachments/${id}/content`, filename, mediaType }
}

interface ListDeps {
  readonly delegations: Pick<Delegations, 'between'>
  saidOf(asker: WorkspaceRow, row: ListedRow, limit?: number): Promise<readonly ActivityRow[]>
  taskRow(visit: RequestContext, id: string): Promise<DelegationRow>
}

const USUAL_PAGE = 50
/** Tasks in progress are looked through so many at a time. */
const STEP = 200
/** A page with results ends here, and the next goes on behind it. */
const MOST_CHARACTERS = 4_000_000

/** The tasks that one workspace has given another, what changed last first (§3.1.4). */
export async function listTasks(deps: ListDeps, visit: RequestContext, request: ListTasks): Promise<object> {
  const { pageSize = USUAL_PAGE } = request
  const { rows, total, isLast } = await pageOf(deps, visit, request)
  const tasks: Task[] = []
  let size = 0
  for (const row of rows) {
    const task = await listed(deps, visit, { row, request })
    size += JSON.stringify(task).length
    if (tasks.length > 0 && size > MOST_CHARACTERS) break
    tasks.push(task)
  }
  const last = rows[tasks.length - 1]
  const nextPageToken = last && !(isLast && tasks.length === rows.length) ? placeBehind(last) : ''
  return { tasks, nextPageToken, pageSize, totalSize: total }
}

interface Page {
  readonly rows: readonly ListedRow[]
  readonly total: number
  readonly isLast: boolean
}

async function pageOf(deps: ListDeps, { asker, peer }: RequestContext, request: ListTasks): Promise<Page> {
  const { contextId: conversationId, pageSize: limit = USUAL_PAGE, pageToken: after, statusTimestampAfter } = request
  const state = stateIn(request.status)
  const states = state && statesFor(state)
  if (states?.length === 0) return { rows: [], total: 0, isLast: true }
  const changedSince = statusTimestampAfter === undefined ? undefined : Date.parse(statusTimestampAfter)
  const query = { asker, peer, states, conversationId, changedSince }
  if (state && ASKING.has(state)) return asking(deps, { ...query, state, after }, limit)
  const { rows, total, next } = await deps.delegations.between({ ...query, limit, after })
  return { rows, total, isLast: next === undefined }
}

type AskingQuery = Omit<Parameters<Delegations['between']>[0], 'limit'> & { readonly state: TaskState }

/** By a place in the order, and not by the row that was there: that may be in front of all by now, or want nothing any more. */
async function asking(deps: ListDeps, { after, ...query }: AskingQuery, limit: number): Promise<Page> {
  const behind = await fitting(deps, { ...query, after })
  const total = after === undefined ? behind.length : (await fitting(deps, query)).length
  return { rows: behind.slice(0, limit), total, isLast: limit >= behind.length }
}

/** Whether a task in progress wants something is told by what was said last, so all of them are looked at. */
async function fitting({ delegations, saidOf }: ListDeps, { state, after, ...query }: AskingQuery) {
  const found: ListedRow[] = []
  for (let place = after, isMore = true; isMore; isMore = place !== undefined) {
    const { rows, next } = await delegations.between({ ...query, limit: STEP, after: place })
    for (const row of rows) if ((await toListed(saidOf, query.asker, row)).status.state === state) found.push(row)
    place = next
  }
  return found
}

async function listed(
  { saidOf, taskRow }: ListDeps,
  visit: RequestContext,
  { row, request }: { readonly row: ListedRow; readonly request: ListTasks },
): Promise<Task> {
  const { includeArtifacts = false, historyLength = 0 } = request
  const task = await toListed(saidOf, visit.asker, row)
  if (!includeArtifacts && historyLength === 0) return task
  const whole = await taskRow(visit, row.id)
  // One more, as the last may be a notice of the platform.
  const said = historyLength === 0 ? [] : await saidOf(visit.asker, row, historyLength + 1)
  const history = historyLength === 0 ? [] : toHistory(whole, said).slice(-historyLength)
  return {
    ...task,
    ...(includeArtifacts && { artifacts: toArtifacts(whole, visit.origin) }),
    ...(history.length > 0 && { history }),
  }
}

/** Only where the peer has said something is it looked up whether that was the last word. */
async function toListed(saidOf: ListDeps['saidOf'], asker: WorkspaceRow, row: ListedRow): Promise<Task> {
  const isTalkedAbout = row.state === 'in_progress' && row.progress !== null
  return toTask({ row, said: isTalkedAbout ? await saidOf(asker, row, 1) : [] })
}

/** States that a delegation in progress has here. */
const ASKING: ReadonlySet<string> = new Set(['TASK_STATE_WORKING', 'TASK_STATE_INPUT_REQUIRED'])

/** In the order of the numbers that ProtoJSON takes for them as well. */
const NAMES = [
  undefined,
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
] as const

function stateIn(status: string | number | undefined): TaskState | undefined {
  // A query has numbers as text.
  const place = NAMES.findIndex((name, i) => String(i) === String(status) || name === status)
  if (status === undefined || status === 'TASK_STATE_UNSPECIFIED' || place === 0) return undefined
  if (place > 0) return NAMES[place] as TaskState
  throw new AppError('INPUT_INVALID', 'status: must be the name of a task state, such as TASK_STATE_WORKING.')
}

function statesFor(state: TaskState): DelegationState[] {
  if (ASKING.has(state)) return ['in_progress']
  return DelegationState.options.filter(option => STATES[option] === state)
}

/** Timers cannot be set further ahead. A client that still follows then reconnects. */
const LONGEST_MS = 20 * 86_400_000

interface Following {
  readonly row: DelegationRow
  /** Ends it. */
  readonly signal: CancelSignal
  /** Until the deadline of the task when absent. */
  readonly waitMs?: number | undefined
}

/**
 * A task each time that it has changed, up to its end or until the client stops listening. A slow client gets it as it
 * is by then: all that it has been meanwhile would have to be kept for as long.
 */
export async function* changesOf(
  delegations: Pick<Delegations, 'wait'>,
  clock: Pick<Clock, 'now'>,
  { row, signal, waitMs = Math.min(LONGEST_MS, row.deadlineAt - clock.now() + 60_000) }: Following,
): AsyncGenerator<DelegationRow> {
  if (!isOpen(row.state) || waitMs <= 0) return
  const over = createCancellation()
  const end = () => over.cancel(signal.reason)
  let changed: DelegationRow | undefined
  let ring = () => {}
  let isOver = false
  let { version } = row
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  const onChange = (now: DelegationRow) => {
    // It is told from time to time that nothing has changed too.
    if (now.version === version) return
    version = now.version
    changed = now
    ring()
  }
  const waiting = delegations.wait(row, { waitMs, signal: over.signal, onChange }).finally(() => {
    isOver = true
    ring()
  })
  // Told below, once what came before it is.
  waiting.catch(() => {})
  try {
    for (;;) {
      const now = changed
      changed = undefined
      if (now) yield now
      else if (isOver) break
      await new Promise<void>(resolve => {
        ring = resolve
        if (isOver || changed) resolve()
      })
    }
    await waiting
  } finally {
    signal.removeEventListener('abort', end)
    over.cancel(undefined)
  }
}

/** What a client says, as messages have it. Throws where that is not words or data. */
export function toParts(parts: readonly Part[]): MessagePart[] {
  const taken = parts.map(toMessagePart)
  if (!taken.every(part => part.kind === 'text' && isBlank(part.text))) return taken
  throw new AppError('INPUT_INVALID', 'message.parts: all of it is blank. Say something.')
}

/** Files are given as attachments of the API, which checks what they are. */
function toMessagePart({ text, data, raw, url }: Part, index: number): MessagePart {
  const at = `message.parts.${index}`
  if (raw !== undefined || url !== undefined)
    throw new Refusal('CONTENT_TYPE_NOT_SUPPORTED', `${at}: text and data are taken here, no files.`)
  // Null is data where there is nothing else, and says nothing beside text.
  if (text !== undefined && (data ?? undefined) !== undefined)
    throw new AppError('INPUT_INVALID', `${at}: has both text and data. Make two parts of it.`)
  const result = MessagePart.safeParse(text === undefined ? { kind: 'data', data } : { kind: 'text', text })
  if (result.success) return result.data
  throw new AppError('INPUT_INVALID', `${at}: must have text or data that can be kept.`)
}

interface TaskEventsDeps {
  readonly delegations: Pick<Delegations, 'wait'>
  readonly clock: Clock
  saidOf(asker: WorkspaceRow, row: DelegationRow): Promise<readonly ActivityRow[]>
  /** The client has the end in hand. */
  told(visit: RequestContext, row: DelegationRow): Promise<void>
}

/** A task as a stream begins with it. */
interface Begun {
  readonly row: DelegationRow
  readonly task: Task
  /** The last of what was said about it by then. */
  readonly lastSaid: ActivityRow | undefined
}

/**
 * What becomes of a task, up to its end. What was said is taken from the log, so that a client that is slow costs no memory,
 * and misses no word.
 */
export async function* taskEvents(
  deps: TaskEventsDeps,
  visit: RequestContext,
  begun: Begun,
): AsyncGenerator<StreamEvent> {
  const { row, task, lastSaid } = begun
  const { id: taskId, conversationId: contextId } = row
  const toldOnce = createToldOnce(task.status)
  let seen = lastSaid?.sequence ?? 0
  let last = row
  yield { task }
  for await (const now of changesOf(deps.delegations, deps.clock, { row, signal: visit.gone })) {
    last = now
    const said = await deps.saidOf(visit.asker, now)
    const since = said.filter(({ sequence, kind }) => sequence > seen && kind === 'peer_agent')
    seen = said.at(-1)?.sequence ?? seen
    for (const status of since.map(one => statusAfter(one, taskId)))
      if (toldOnce(status)) yield { statusUpdate: { taskId, contextId, status } }
    for (const artifact of toArtifacts(now, visit.origin))
      yield { artifactUpdate: { taskId, contextId, artifact, lastChunk: true } }
    const status = toStatus({ row: now, said })
    if (toldOnce(status)) yield { statusUpdate: { taskId, contextId, status } }
  }
  await deps.told(visit, last)
  // A client that heard nothing more would take the task for over.
  if (isOpen(last.state) && !visit.gone.aborted)
    throw new AppError('STOPPING', `The stream ends here, and the task "${taskId}" goes on. Subscribe to it again.`)
}

/** Whether a status says something that the one before it did not. */
function createToldOnce(first: TaskStatus): (status: TaskStatus) => boolean {
  let before = keyOf(first)
  return status => {
    const key = keyOf(status)
    const isNew = key !== before
    before = key
    return isNew
  }
}

function keyOf({ state, message }: TaskStatus): string {
  return JSON.stringify([state, message?.messageId])
}

/** Who asks whom, and how they came here. */
export interface RequestContext {
  readonly asker: WorkspaceRow
  readonly peer: WorkspaceRow
  /** Where the client reached us. */
  readonly origin: string
  /** Given when the client has gone, or may not be here any more. */
  readonly gone: CancelSignal
}
