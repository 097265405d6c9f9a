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
import { betweenCursor, type Delegations, isOpen, isQuestion, type ListedRow } from '../../core/delegation/index.ts'
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
  WireMessage,
  WirePart,
} from './wire.ts'

/** Delegation states as task states. A delegation in progress may also be waiting for the asker's input. */
const STATES = {
  pending: 'TASK_STATE_SUBMITTED',
  queued: 'TASK_STATE_SUBMITTED',
  in_progress: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  expired: 'TASK_STATE_FAILED',
  cancelled: 'TASK_STATE_CANCELED',
} as const satisfies Record<DelegationState, TaskState>

/** A task, with the activity about it as far as it was read, oldest first. */
export interface TaskFacts {
  readonly row: ListedRow
  readonly activity: readonly ActivityRow[]
}

/** A task without its artifacts and history. */
export function toTask(facts: TaskFacts): Task {
  const { id, conversationId: contextId, state, deadlineAt } = facts.row
  const metadata = { 'quartermaster/state': state, 'quartermaster/deadline': new Date(deadlineAt).toISOString() }
  return { id, contextId, status: toStatus(facts), metadata }
}

function toStatus({ row, activity }: TaskFacts): TaskStatus {
  const timestamp = new Date(row.updatedAt).toISOString()
  if (row.state === 'failed' || row.state === 'expired' || row.state === 'cancelled')
    return { state: STATES[row.state], timestamp, message: endMessage(row) }
  const last = activity.findLast(({ kind }) => kind === 'peer_agent')
  if (row.state !== 'in_progress' || row.progress === null || !last) return { state: STATES[row.state], timestamp }
  return { ...statusAfter(last, row.id), timestamp }
}

/** The status of a task in progress after this activity. */
function statusAfter(entry: ActivityRow, taskId: string): TaskStatus {
  const timestamp = new Date(entry.createdAt).toISOString()
  // A message of the asker is its answer to a question.
  if (entry.direction === 'out') return { state: 'TASK_STATE_WORKING', timestamp }
  const state = isQuestion(entry.text) ? 'TASK_STATE_INPUT_REQUIRED' : 'TASK_STATE_WORKING'
  return { state, timestamp, message: toMessage(entry, taskId) }
}

function endMessage({ id, conversationId, error, state }: ListedRow): WireMessage {
  const text = error ?? state
  return { messageId: `${id}-end`, contextId: conversationId, taskId: id, role: 'ROLE_AGENT', parts: [toText(text)] }
}

/** The messages about a task, from the asker's activity log. */
export function toHistory(row: DelegationRow, activity: readonly ActivityRow[]): WireMessage[] {
  // Notices of the platform are in the status; the agent did not write them.
  const spoken = activity.filter(({ peerKind }) => peerKind !== 'platform')
  if (spoken.length > 0) return spoken.map(message => toMessage(message, row.id))
  // Logs expire earlier than unread tasks.
  const { messageId, conversationId: contextId, id: taskId, task: text, parts } = row
  const sent = wholeParts({ text, parts: parts ?? [] }).map(toPart)
  return [{ messageId, contextId, taskId, role: 'ROLE_USER', parts: sent }]
}

function toMessage(
  { messageId: ours, senderMessageId, conversationId: contextId, direction, text, parts }: ActivityRow,
  taskId: string,
): WireMessage {
  // The author of a message assigns its id (§4.1.4).
  const messageId = senderMessageId ?? ours
  const role = direction === 'out' ? 'ROLE_USER' : 'ROLE_AGENT'
  return { messageId, contextId, taskId, role, parts: wholeParts({ text, parts }).map(toPart) }
}

/** The result. Files can be downloaded with the same token. */
export function toArtifacts({ id, state, result }: DelegationRow, origin: string): Artifact[] {
  if (state !== 'completed' || !result) return []
  return [{ artifactId: `${id}-result`, name: 'result', parts: resultParts(result, origin) }]
}

function resultParts({ text, parts, attachments }: DelegationResult, origin: string): WirePart[] {
  const words = text.trim() === '' ? [] : [toText(text)]
  return [...words, ...parts.map(toPart), ...attachments.map(file => toFile(file, origin))]
}

function toText(text: string): WirePart {
  return { text, mediaType: 'text/plain' }
}

function toPart(part: MessagePart): WirePart {
  return part.kind === 'text' ? toText(part.text) : { data: part.data, mediaType: 'application/json' }
}

function toFile({ id, name: filename, mediaType }: MessageAttachment, origin: string): WirePart {
  return { url: `${origin}/api/v1/attachments/${id}/content`, filename, mediaType }
}

interface ListDeps {
  readonly delegations: Pick<Delegations, 'between'>
  activityOf(asker: WorkspaceRow, row: ListedRow, limit?: number): Promise<readonly ActivityRow[]>
  taskRow(context: RequestContext, id: string): Promise<DelegationRow>
}

const USUAL_PAGE = 50
/** Page size when filtering tasks in progress. */
const STEP = 200
/** A page with results is cut here, and the next continues behind it. */
const MOST_CHARACTERS = 4_000_000

/** The tasks one workspace gave another, most recently changed first (§3.1.4). */
export async function listTasks(deps: ListDeps, context: RequestContext, request: ListTasks): Promise<object> {
  const { pageSize = USUAL_PAGE } = request
  const { rows, total, isLast } = await pageOf(deps, context, request)
  const tasks: Task[] = []
  let size = 0
  for (const row of rows) {
    const task = await listed(deps, context, { row, request })
    size += JSON.stringify(task).length
    if (tasks.length > 0 && size > MOST_CHARACTERS) break
    tasks.push(task)
  }
  const last = rows[tasks.length - 1]
  const nextPageToken = last && !(isLast && tasks.length === rows.length) ? betweenCursor(last) : ''
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
  if (state && ASKING.has(state)) return tasksInProgress(deps, { ...query, state, after }, limit)
  const { rows, total, next } = await deps.delegations.between({ ...query, limit, after })
  return { rows, total, isLast: next === undefined }
}

type AskingQuery = Omit<Parameters<Delegations['between']>[0], 'limit'> & { readonly state: TaskState }

/** Pages by a position in the order, not by a row: that row may have moved to the front or changed its state. */
async function tasksInProgress(deps: ListDeps, { after, ...query }: AskingQuery, limit: number): Promise<Page> {
  const behind = await matchingTasks(deps, { ...query, after })
  const total = after === undefined ? behind.length : (await matchingTasks(deps, query)).length
  return { rows: behind.slice(0, limit), total, isLast: limit >= behind.length }
}

/** Whether a task in progress waits for input depends on its last message, so all of them are read. */
async function matchingTasks({ delegations, activityOf }: ListDeps, { state, after, ...query }: AskingQuery) {
  const found: ListedRow[] = []
  for (let place = after, isMore = true; isMore; isMore = place !== undefined) {
    const { rows, next } = await delegations.between({ ...query, limit: STEP, after: place })
    for (const row of rows) if ((await toListed(activityOf, query.asker, row)).status.state === state) found.push(row)
    place = next
  }
  return found
}

async function listed(
  { activityOf, taskRow }: ListDeps,
  context: RequestContext,
  { row, request }: { readonly row: ListedRow; readonly request: ListTasks },
): Promise<Task> {
  const { includeArtifacts = false, historyLength = 0 } = request
  const task = await toListed(activityOf, context.asker, row)
  if (!includeArtifacts && historyLength === 0) return task
  const whole = await taskRow(context, row.id)
  // One more than wanted: the last entry may be a notice of the platform.
  const activity = historyLength === 0 ? [] : await activityOf(context.asker, row, historyLength + 1)
  const history = historyLength === 0 ? [] : toHistory(whole, activity).slice(-historyLength)
  return {
    ...task,
    ...(includeArtifacts && { artifacts: toArtifacts(whole, context.origin) }),
    ...(history.length > 0 && { history }),
  }
}

/** Reads the last activity only where the peer has reported something. */
async function toListed(activityOf: ListDeps['activityOf'], asker: WorkspaceRow, row: ListedRow): Promise<Task> {
  const isTalkedAbout = row.state === 'in_progress' && row.progress !== null
  return toTask({ row, activity: isTalkedAbout ? await activityOf(asker, row, 1) : [] })
}

/** The task states of a delegation in progress. */
const ASKING: ReadonlySet<string> = new Set(['TASK_STATE_WORKING', 'TASK_STATE_INPUT_REQUIRED'])

/** Indexes are the numbers that ProtoJSON accepts for these names. */
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
  // Numbers in a query are text.
  const place = NAMES.findIndex((name, i) => String(i) === String(status) || name === status)
  if (status === undefined || status === 'TASK_STATE_UNSPECIFIED' || place === 0) return undefined
  if (place > 0) return NAMES[place] as TaskState
  throw new AppError('INPUT_INVALID', 'status: must be the name of a task state, such as TASK_STATE_WORKING.')
}

function statesFor(state: TaskState): DelegationState[] {
  if (ASKING.has(state)) return ['in_progress']
  return DelegationState.options.filter(option => STATES[option] === state)
}

/** The longest possible timer. A client that still follows then reconnects. */
const LONGEST_MS = 20 * 86_400_000

/**
 * Yields the task after each change, until its end or until the signal aborts. A slow client gets only the latest state: keeping
 * all intermediate ones would cost memory.
 */
export async function* changesOf(
  delegations: Pick<Delegations, 'wait'>,
  clock: Pick<Clock, 'now'>,
  {
    row,
    signal,
    waitMs = Math.min(LONGEST_MS, row.deadlineAt - clock.now() + 60_000),
  }: { row: DelegationRow; signal: CancelSignal; waitMs?: number },
): AsyncGenerator<DelegationRow> {
  if (!isOpen(row.state) || waitMs <= 0) return
  const over = createCancellation()
  const end = () => over.cancel(signal.reason)
  let changed: DelegationRow | undefined
  let wake = () => {}
  let isOver = false
  let { version } = row
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  const onChange = (now: DelegationRow) => {
    // The callback also reports now and then that nothing has changed.
    if (now.version === version) return
    version = now.version
    changed = now
    wake()
  }
  const waiting = delegations.wait(row, { waitMs, signal: over.signal, onChange }).finally(() => {
    isOver = true
    wake()
  })
  // A rejection is thrown below, after the changes before it.
  waiting.catch(() => {})
  try {
    for (;;) {
      const now = changed
      changed = undefined
      if (now) yield now
      else if (isOver) break
      await new Promise<void>(resolve => {
        wake = resolve
        if (isOver || changed) resolve()
      })
    }
    await waiting
  } finally {
    signal.removeEventListener('abort', end)
    over.cancel(undefined)
  }
}

/** Converts the parts of a client's message. Throws for what is neither text nor data. */
export function toParts(parts: readonly Part[]): MessagePart[] {
  const taken = parts.map(toMessagePart)
  if (!taken.every(part => part.kind === 'text' && isBlank(part.text))) return taken
  throw new AppError('INPUT_INVALID', 'message.parts: all parts are blank. Say something.')
}

/** Files are uploaded as attachments through the API, which checks them. */
function toMessagePart({ text, data, raw, url }: Part, index: number): MessagePart {
  const at = `message.parts.${index}`
  if (raw !== undefined || url !== undefined)
    throw new Refusal('CONTENT_TYPE_NOT_SUPPORTED', `${at}: only text and data are accepted, no files.`)
  // Null counts as data alone, and as absent beside text.
  if (text !== undefined && (data ?? undefined) !== undefined)
    throw new AppError('INPUT_INVALID', `${at}: has both text and data. Make two parts of it.`)
  const result = MessagePart.safeParse(text === undefined ? { kind: 'data', data } : { kind: 'text', text })
  if (result.success) return result.data
  throw new AppError('INPUT_INVALID', `${at}: must have text or data that can be kept.`)
}

interface TaskEventsDeps {
  readonly delegations: Pick<Delegations, 'wait'>
  readonly clock: Clock
  activityOf(asker: WorkspaceRow, row: DelegationRow): Promise<readonly ActivityRow[]>
  markSeen(context: RequestContext, row: DelegationRow): Promise<void>
}

/** The events of a task up to its end. Messages are read from the log, so a slow client costs no memory and misses none. */
export async function* taskEvents(
  deps: TaskEventsDeps,
  context: RequestContext,
  begun: { readonly row: DelegationRow; readonly task: Task; readonly last: ActivityRow | undefined },
): AsyncGenerator<StreamEvent> {
  const { row, task, last: lastActivity } = begun
  const { id: taskId, conversationId: contextId } = row
  const isNews = createIsNews(task.status)
  let seen = lastActivity?.sequence ?? 0
  let last = row
  yield { task }
  for await (const now of changesOf(deps.delegations, deps.clock, { row, signal: context.disconnected })) {
    last = now
    const activity = await deps.activityOf(context.asker, now)
    const since = activity.filter(({ sequence, kind }) => sequence > seen && kind === 'peer_agent')
    seen = activity.at(-1)?.sequence ?? seen
    for (const status of since.map(one => statusAfter(one, taskId)))
      if (isNews(status)) yield { statusUpdate: { taskId, contextId, status } }
    for (const artifact of toArtifacts(now, context.origin))
      yield { artifactUpdate: { taskId, contextId, artifact, lastChunk: true } }
    const status = toStatus({ row: now, activity })
    if (isNews(status)) yield { statusUpdate: { taskId, contextId, status } }
  }
  await deps.markSeen(context, last)
  // Without an error the client would take the task for ended.
  if (isOpen(last.state) && !context.disconnected.aborted)
    throw new AppError('STOPPING', `The stream ends here, and the task "${taskId}" goes on. Subscribe to it again.`)
}

/** Whether a status differs from the one before. */
function createIsNews(first: TaskStatus): (status: TaskStatus) => boolean {
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

/** The two workspaces of a request, and its connection. */
export interface RequestContext {
  readonly asker: WorkspaceRow
  readonly peer: WorkspaceRow
  /** The origin by which the client reached this server. */
  readonly origin: string
  /** Aborts when the client disconnects or loses access. */
  readonly disconnected: CancelSignal
}
