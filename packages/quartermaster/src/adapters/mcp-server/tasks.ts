import {
  type ClientCapabilities,
  type InputRequest,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'
import {
  AppError,
  type CallAnswer,
  type Caller,
  type OperationFacts,
  type Progress,
  type Settings,
} from '../../contracts/index.ts'
import type { Tool } from '../../core/catalogue/index.ts'
import {
  type CancelSignal,
  type Clock,
  callerKey,
  createCancellation,
  createInFlight,
} from '../../core/kernel/index.ts'
import {
  type CallListeners,
  type CallRequest,
  type Elicitation,
  type Elicitations,
  type IsDelivered,
  type OperationAdmin,
  type Operations,
  progressText,
  type Turn,
  waitingText,
} from '../../core/operations/index.ts'
import { toProtocolError } from './errors.ts'
import type { McpRequest } from './mcp-request.ts'
import { toAnswers, toInputRequests } from './multi-round.ts'
import { toMcpOutcome } from './render.ts'

/** A call that becomes a task unless it finishes quickly. */
export interface TaskCandidate {
  readonly caller: Caller
  /** Goes into the call request. */
  readonly request: Required<Pick<CallRequest, 'asTask'>> & { onRecorded(operationId: string): void }
  /** Resolves with the operation's id once it is recorded. */
  readonly recorded: Promise<string>
  readonly createdAt: number
  /** The latest progress before it became a task. */
  message: string | undefined
  /** Releases its slot of the agent's task limit. */
  leave(): void
}

export interface Tasks {
  candidate(caller: Caller): TaskCandidate
  /** The next turn of a call, or a task if the call was to be one and is slow, or already is one. */
  turn(
    exchange: Elicitation<CallAnswer>,
    candidate: TaskCandidate | undefined,
    waiting: { signal: CancelSignal; audience: CallListeners },
  ): Promise<Turn<CallAnswer> | { task: WireTask }>
  get(caller: Caller, taskId: string, options: { isDelivered: IsDelivered; toolNow: FindTool }): Promise<WireTask>
  /** Passes on answers to the task's questions. */
  update(caller: Caller, taskId: string, inputResponses: Readonly<Record<string, unknown>>): Promise<void>
  cancel(caller: Caller, taskId: string): Promise<void>
}

interface TasksDeps {
  readonly clock: Clock
  readonly operations: Pick<Operations, 'show'>
  readonly operationAdmin: Pick<OperationAdmin, 'cancel'>
  readonly exchanges: Pick<Elicitations, 'release'>
  readonly settings: Pick<Settings, 'taskAfterMs' | 'taskTtlMinutes'>
}

/** Per agent. Each task holds a running handler, for up to a day while a question waits. */
export const MOST_TASKS = 100
/** An operation may be between two runs when it is cancelled, so cancelling tries again. */
const CANCEL_ATTEMPTS = 3
const LONGEST_TIMER_MS = 2 ** 31 - 1

interface LiveTask {
  readonly candidate: TaskCandidate
  readonly exchange: Elicitation<CallAnswer>
  updatedAt: number
  message: string | undefined
}

export function createTasks({ clock, operations, operationAdmin, exchanges, settings }: TasksDeps): Tasks {
  const live = new Map<string, LiveTask>()
  const places = createInFlight({ most: MOST_TASKS, what: 'tasks under way' })
  const candidates = new WeakMap<Elicitation<CallAnswer>, TaskCandidate>()
  const taskIds = new WeakMap<Elicitation<CallAnswer>, string>()
  const ttlMs = settings.taskTtlMinutes * 60_000

  /** Detaches the call from its request: from now on it belongs to the task. */
  function adopt(taskId: string, exchange: Elicitation<CallAnswer>, candidate: TaskCandidate): void {
    const task: LiveTask = { candidate, exchange, updatedAt: clock.now(), message: candidate.message }
    live.set(taskId, task)
    taskIds.set(exchange, taskId)
    exchanges.release(exchange)
    const over = new AppError('DEADLINE_EXCEEDED', `The task was not over within ${settings.taskTtlMinutes} minutes.`)
    const cancelExpiry = clock.after(Math.min(ttlMs, LONGEST_TIMER_MS), () => exchange.cancel(over))
    const forget = () => {
      cancelExpiry()
      live.delete(taskId)
    }
    exchange.done.then(forget, forget)
    listen(task)
  }

  /** The task of a call, while it runs. */
  function handleOf(exchange: Elicitation<CallAnswer>): { task: WireTask } | undefined {
    const taskId = taskIds.get(exchange)
    const task = taskId === undefined ? undefined : live.get(taskId)
    if (taskId === undefined || !task) return undefined
    // Questions are shown only to a client that reads the task.
    const { inputRequests: _, ...handle } = wireOf(taskId, task)
    return { task: { ...handle, resultType: 'task' } }
  }

  /** Follows progress. Questions wait in the task until they are answered, so no request has to wait for this turn. */
  function listen(task: LiveTask): void {
    const onProgress = (progress: Progress) => note(task, progress)
    // The end of the call answers no request; a question ends this turn, and there may be no other.
    task.exchange.turn(NEVER, { onProgress, isGone: () => true }).then(task.exchange.leave, () => {})
  }

  function note(task: LiveTask, progress: Progress): void {
    task.updatedAt = clock.now()
    task.message = progressText(progress)
  }

  function wireOf(taskId: string, { candidate, exchange, updatedAt, message }: LiveTask): WireTask {
    const questions = exchange.questions()
    return {
      ...taskEnvelope({ taskId, createdAt: candidate.createdAt, updatedAt, ttlMs }),
      status: questions.size > 0 ? 'input_required' : 'working',
      ...(message === undefined ? {} : { statusMessage: message }),
      ...(questions.size > 0 ? { inputRequests: toInputRequests(questions, { isModern: true }) } : {}),
    }
  }

  function findLive(caller: Caller, taskId: string): LiveTask | undefined {
    const task = live.get(taskId)
    return task && callerKey(task.candidate.caller) === callerKey(caller) ? task : undefined
  }

  async function stored(
    caller: Caller,
    taskId: string,
    isDelivered: IsDelivered = NOT_DELIVERED,
  ): Promise<OperationFacts> {
    const facts = await operations.show(caller, taskId, isDelivered)
    if (facts?.ttlMs !== undefined) return facts
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `There is no task "${taskId}", or no longer. Call the tool again.`,
    )
  }

  /** A running task with its questions, or with what the call waits for when its tool reported nothing. */
  async function liveTask(taskId: string, task: LiveTask): Promise<WireTask> {
    const wire = wireOf(taskId, task)
    task.exchange.show(task.exchange.questions())
    if (wire.status !== 'working' || wire.statusMessage !== undefined) return wire
    const facts = await operations.show(task.candidate.caller, taskId, NOT_DELIVERED)
    return facts?.state === 'waitingForApproval' ? { ...wire, statusMessage: waitingText(facts) } : wire
  }

  /** Cancels an operation that has no running call here: it waits, or was resumed without a caller. */
  async function cancelStored(caller: Caller, taskId: string): Promise<void> {
    for (let looks = 1; (await stored(caller, taskId)).endedAt === undefined; looks++) {
      const failure = await operationAdmin.cancel(taskId).then(() => undefined, toProtocolError)
      if (!failure) return
      if (looks === CANCEL_ATTEMPTS) throw failure
    }
  }

  /** Waits for a turn of a call that becomes a task when it is slow. */
  async function turnOf(
    candidate: TaskCandidate,
    { exchange, isNew }: { exchange: Elicitation<CallAnswer>; isNew: boolean },
    { signal, audience }: { signal: CancelSignal; audience: CallListeners },
  ): Promise<Turn<CallAnswer> | { task: WireTask }> {
    // A client that missed the task's handle repeats the call and gets the same task.
    const known = handleOf(exchange)
    if (known) return known
    candidates.set(exchange, candidate)
    if (isNew) exchange.done.then(candidate.leave, candidate.leave)
    // The request's own signal must not cancel a call that has become a task.
    const linked = createLinkedSignal(signal)
    const timer = createTaskTimer(clock, candidate.recorded, settings.taskAfterMs)
    try {
      const first = await Promise.race([
        exchange.turn(linked.signal, withTaskProgress(candidate, audience)),
        timer.over,
      ])
      if (typeof first === 'string' && !taskIds.has(exchange)) adopt(first, exchange, candidate)
      // Of several requests waiting for one call, the first makes it a task and the others get that task.
      return handleOf(exchange) ?? (typeof first === 'string' ? exchange.turn(linked.signal, audience) : first)
    } finally {
      timer.end()
      linked.release()
    }
  }

  return {
    candidate(caller) {
      const leave = places.enter(callerKey(caller))
      let onRecorded = (_operationId: string): void => {}
      const recorded = new Promise<string>(resolve => {
        onRecorded = resolve
      })
      return {
        caller,
        request: { asTask: { ttlMs }, onRecorded },
        recorded,
        createdAt: clock.now(),
        message: undefined,
        leave,
      }
    },
    turn(exchange, given, waiting) {
      const candidate = given ?? candidates.get(exchange)
      const isNew = given !== undefined
      return candidate
        ? turnOf(candidate, { exchange, isNew }, waiting)
        : exchange.turn(waiting.signal, waiting.audience)
    },
    async get(caller, taskId, { isDelivered, toolNow }) {
      const task = findLive(caller, taskId)
      return task ? await liveTask(taskId, task) : toStoredTask(await stored(caller, taskId, isDelivered), toolNow)
    },
    async update(caller, taskId, inputResponses) {
      const task = findLive(caller, taskId)
      if (!task) return void (await stored(caller, taskId))
      const answers = toAnswers(task.exchange.questions(), inputResponses)
      if (Object.keys(answers).length === 0) return
      task.exchange.answer(answers)
      task.updatedAt = clock.now()
      listen(task)
    },
    async cancel(caller, taskId) {
      const task = findLive(caller, taskId)
      task?.exchange.cancel(new AppError('CANCELLED', 'The task was cancelled.'))
      // The next request should see the task cancelled. The call path releases the handler at once, so this is short.
      await task?.exchange.done.catch(() => {})
      await cancelStored(caller, taskId)
    },
  }
}

/** Reads the operation without marking its result as delivered. */
const NOT_DELIVERED = () => false

const NEVER = createCancellation().signal

/** Passes progress on, and keeps the latest for the task. */
function withTaskProgress(candidate: TaskCandidate, listeners: CallListeners): CallListeners {
  return {
    ...listeners,
    onProgress(progress) {
      candidate.message = progressText(progress)
      listeners.onProgress?.(progress)
    },
  }
}

/** A signal that follows another one until it is released. */
function createLinkedSignal(signal: CancelSignal): { signal: CancelSignal; release(): void } {
  const own = createCancellation()
  const pull = () => own.cancel(signal.reason)
  if (signal.aborted) pull()
  signal.addEventListener('abort', pull, { once: true })
  return { signal: own.signal, release: () => signal.removeEventListener('abort', pull) }
}

/** Resolves with the operation's id when the tool has run for this long. */
function createTaskTimer(clock: Clock, recorded: Promise<string>, ms: number): { over: Promise<string>; end(): void } {
  let cancel = () => {}
  let isEnded = false
  const over = new Promise<string>(resolve => {
    void recorded.then(id => {
      if (!isEnded) cancel = clock.after(ms, () => resolve(id))
    })
  })
  const end = () => {
    isEnded = true
    cancel()
  }
  return { over, end }
}

const EXTENSION = 'io.modelcontextprotocol/tasks'

export const TASKS_CAPABILITY = { [EXTENSION]: {} }
/** The client capability without which no task is created. */
export const TASKS_REQUIRED: { requiredCapabilities: ClientCapabilities } = {
  requiredCapabilities: { extensions: { [EXTENSION]: {} } },
}

export function followsTasks({ isModern, client }: McpRequest): boolean {
  return isModern && client.extensions?.[EXTENSION] !== undefined
}

export interface WireTask {
  resultType: 'task' | 'complete'
  taskId: string
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'
  statusMessage?: string
  createdAt: string
  lastUpdatedAt: string
  ttlMs: number
  pollIntervalMs: number
  inputRequests?: Record<string, InputRequest>
  result?: object
  error?: { code: number; message: string; data?: unknown }
}

/** Suggested polling interval: responsive for a person, cheap for the server. */
const POLL_MS = 1_000

function taskEnvelope(task: { taskId: string; createdAt: number; updatedAt: number; ttlMs: number }) {
  return {
    resultType: 'complete' as const,
    taskId: task.taskId,
    createdAt: new Date(task.createdAt).toISOString(),
    lastUpdatedAt: new Date(task.updatedAt).toISOString(),
    ttlMs: task.ttlMs,
    pollIntervalMs: POLL_MS,
  }
}

type FindTool = (name: string) => Tool | undefined

/** A task without a running call, from the store: ended, waiting, or resumed after a crash. */
function toStoredTask(facts: OperationFacts, toolNow: FindTool): WireTask {
  const { id, createdAt, updatedAt, ttlMs = 0 } = facts
  return { ...taskEnvelope({ taskId: id, createdAt, updatedAt, ttlMs }), ...statusOf(facts, toolNow) }
}

function statusOf(facts: OperationFacts, toolNow: FindTool): Pick<WireTask, 'status'> & Partial<WireTask> {
  // Never `failed` before the end: a client stops polling a failed task and would miss the result.
  if (facts.endedAt === undefined) return { status: 'working', statusMessage: facts.progress ?? waitingText(facts) }
  return outcomeOf(facts, toolNow)
}

function outcomeOf(
  { state, result, error, ...facts }: OperationFacts,
  toolNow: FindTool,
): Pick<WireTask, 'status'> & Partial<WireTask> {
  if (result) return { status: 'completed', result: toMcpOutcome(result, facts, toolNow(facts.tool)) }
  const message = error?.message ?? 'It ended without a result.'
  // A tool that was cancelled half way may have done its work; the client should know.
  const isCancelled = state === 'cancelled' || error?.details?.because === 'CANCELLED'
  if (isCancelled) return { status: 'cancelled', statusMessage: message }
  return {
    status: 'failed',
    statusMessage: message,
    error: { code: ProtocolErrorCode.InternalError, message, data: error },
  }
}
