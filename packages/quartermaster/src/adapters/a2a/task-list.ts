import {
  type ActivityRow,
  AppError,
  type DelegationRow,
  DelegationState,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Delegations, type ListedRow, placeBehind } from '../../core/delegation/index.ts'
import { STATES, toArtifacts, toHistory, toTask } from './task.ts'
import type { Visit } from './visit.ts'
import type { ListTasks, Task, TaskState } from './wire.ts'

export interface ListDeps {
  readonly delegations: Pick<Delegations, 'between'>
  saidOf(asker: WorkspaceRow, row: ListedRow, limit?: number): Promise<readonly ActivityRow[]>
  taskRow(visit: Visit, id: string): Promise<DelegationRow>
}

const USUAL_PAGE = 50
/** Tasks in progress are looked through so many at a time. */
const STEP = 200
/** A page with results ends here, and the next goes on behind it. */
const MOST_CHARACTERS = 4_000_000

/** The tasks that one workspace has given another, what changed last first (§3.1.4). */
export async function listTasks(deps: ListDeps, visit: Visit, request: ListTasks): Promise<object> {
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

async function pageOf(deps: ListDeps, { asker, peer }: Visit, request: ListTasks): Promise<Page> {
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
  visit: Visit,
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
