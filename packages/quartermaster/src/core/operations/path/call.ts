import {
  AppError,
  type CallAnswer,
  type OperationRow,
  type Progress,
  type Settings,
  type TraceContext,
} from '../../../contracts/index.ts'
import type { AgentSession } from '../../agents/index.ts'
import type { Catalogue, Tool } from '../../catalogue/index.ts'
import type { Health } from '../../health/index.ts'
import {
  type CancelSignal,
  type Clock,
  createCancellation,
  type Emitter,
  type Ids,
  type Span,
  type Tracer,
  throwIfCancelled,
  unlessCancelled,
} from '../../kernel/index.ts'
import { isSameTool } from '../consent/requests.ts'
import type { Idempotency } from '../record/idempotency.ts'
import type { OperationLog } from '../record/operation-log.ts'
import { recordOf } from '../record/operation-row.ts'
import { mayBeDone } from '../record/verify-after-failure.ts'
import {
  createOperationStarter,
  type OperationStarterDeps,
  type ResumeFromRecordDeps,
  resumeFromRecord,
} from './begin-operation.ts'
import { type CallRequest, type CallState, type Calls, type ResumeRequest } from './call-state.ts'
import { awaitHealth, checkInput, digestOf, followForward, isReady, permit } from './check-call.ts'
import { createDeadline, type Deadline } from './deadline.ts'
import { type ExecuteDeps, execute } from './execute.ts'
import { afterFailedCall, type FailedCallDeps, finish, toReportableError } from './finish.ts'

export interface CallsDeps
  extends Omit<OperationStarterDeps & ResumeFromRecordDeps, 'idempotency'>,
    ExecuteDeps,
    FailedCallDeps {
  readonly idempotency: Idempotency
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly health: Pick<Health, 'availability' | 'missing' | 'recheckFor' | 'settled' | 'reportFailure'>
  readonly operations: OperationLog
  readonly ids: Ids
  /** Calls are not traced when absent. */
  readonly tracer?: Tracer | undefined
  /** Connects a unit that has not been seen yet, and resolves when its tools are there, or the time is over. It does not throw. */
  readonly connectUnseen?: ((unit: string, withinMs: number) => Promise<void>) | undefined
  readonly settings: Pick<Settings, 'restartWaitSeconds' | 'callTimeoutSeconds' | 'nestedCallDepth'> &
    FailedCallDeps['settings']
}

/** Builds the call path: permission, validation, health, consent, record, the same once more, run, verify, settle, audit. */
export function createCalls(deps: CallsDeps): Calls {
  const { catalogue, health, operations, clock, ids, digest, settings } = deps
  const restartWaitMs = settings.restartWaitSeconds * 1000
  const callTimeoutMs = settings.callTimeoutSeconds * 1000
  const underWay = new Map<string, { readonly callState: CallState; readonly deadline: Deadline }>()
  const spans = createCallSpans(deps)
  const starter = createOperationStarter(deps)
  const draining = createCancellation()
  const stopping = createCancellation()
  let onDrained = () => {}

  async function callAndFinish(callState: CallState): Promise<CallAnswer> {
    let answer: CallAnswer
    try {
      answer = await runSteps(callState)
    } catch (error) {
      return await afterFailedCall(callState, toReportableError(error), deps)
    }
    if (callState.resumed && answer.result.isError) answer = await orDoneEarlier(callState.resumed, answer)
    // It has not ended; the process that ends it reports it.
    if (answer.waiting && callState.repeatOf === undefined) return answer
    const writing = finish(callState, { answer }, deps)
    // Not awaited for nothing: most calls have no record, and each turn of the event loop is felt.
    if (writing) await writing
    return answer
  }

  /** The tool refused a retry of work that an earlier run had done: it cannot be done a second time. */
  async function orDoneEarlier(resumed: OperationRow, answer: CallAnswer): Promise<CallAnswer> {
    const result = await deps.failureVerifier.resultOf(resumed)
    return result ? { operationId: resumed.id, result } : answer
  }

  async function runSteps(callState: CallState): Promise<CallAnswer> {
    // A nested call belongs to a handler that is allowed to end.
    const over = callState.depth > 0 ? stopping.signal : draining.signal
    throwIfCancelled(over)
    const connecting = ensureConnected(callState.request, over)
    if (connecting) await connecting
    callState.request = followForward(callState.request)
    const forwarded = ensureConnected(callState.request, over)
    if (forwarded) await forwarded
    const { request } = callState
    const { tool, config } = permit(request.session, request.tool)
    callState.tool = tool
    callState.config = config
    const deadline = deadlineFor(callState, tool)
    underWay.set(callState.operationId, { callState, deadline })
    try {
      const checked = checkInput(tool, request.input)
      const input = checked instanceof Promise ? await inTime(tool, deadline.race(checked), clock) : checked
      callState.digest = digestOf(tool, request.input, digest)
      if (callState.resumed) refuseChanged(callState.resumed, tool)
      const first = request.idempotencyKey === undefined ? undefined : await starter.firstAnswer(callState, deadline)
      if (first) return first
      if (request.whenDisabled !== 'run' && !isReady(tool, health)) {
        const passing = passHealth(tool, deadline)
        const waiting = await passing.catch(error => starter.waitForTool(callState, tool, error, deadline))
        if (waiting) return waiting
      }
      const entering = starter.begin(callState, tool, deadline)
      const instead = entering && (await entering)
      if (instead) return instead
      const nested = (name: string, given: unknown) => callNested(callState, deadline, name, given)
      return await execute({ callState, tool, config, input, deadline }, nested, deps)
    } finally {
      // An operation that waited for a person may be run by the queue meanwhile, under the same id.
      if (underWay.get(callState.operationId)?.deadline === deadline) underWay.delete(callState.operationId)
      deadline.release()
      if (running() === 0) onDrained()
    }
  }

  function ensureConnected(
    { session, tool, signal, timeoutMs = callTimeoutMs }: ConnectRequest,
    over: CancelSignal = draining.signal,
  ): Promise<void> | undefined {
    if (session.grant(tool)) return undefined
    const withinMs = Math.min(timeoutMs, callTimeoutMs)
    const unit = session.unseen(tool)
    const isLoading = catalogue.current().isPartial && session.withheld(tool) !== undefined
    const connecting =
      unit === undefined ? isLoading && loaded(session, tool, withinMs) : deps.connectUnseen?.(unit, withinMs)
    if (!connecting) return undefined
    // A caller that waits would be cut off by the end of this process, without an answer.
    const connectingHere = unlessCancelled(connecting, over).then(() => throwIfCancelled(over))
    return unlessCancelled(connectingHere, signal)
  }

  /** Right after a start, code may still be read: resolves when the tool is there, or all is read, or the time is over. */
  function loaded(session: AgentSession, tool: string, withinMs: number): Promise<void> {
    return new Promise(resolve => {
      const end = () => {
        cancel()
        off()
        resolve()
      }
      const cancel = clock.after(withinMs, end)
      const off = deps.emitter.on('generation.swapped', () => {
        if (session.grant(tool) || !catalogue.current().isPartial) end()
      })
    })
  }

  /** Waiting has budgets of its own; this bounds the whole only where the caller or the call around it does. */
  function deadlineFor({ request, outer }: CallState, tool: Tool): Deadline {
    const ms = request.timeoutMs ?? Number.POSITIVE_INFINITY
    return createDeadline({ clock, ms, parent: request.signal, outer, what: `The call of "${tool.name}"` })
  }

  function passHealth(tool: Tool, deadline: Deadline): Promise<void> {
    return deadline.race(awaitHealth(tool, deadline.signal(), { health, restartWaitMs }))
  }

  async function callNested(around: CallState, outer: Deadline, tool: string, input: unknown) {
    const depth = around.depth + 1
    if (depth >= settings.nestedCallDepth) {
      const most = `${settings.nestedCallDepth} is the most.`
      throw new AppError('LIMIT_EXCEEDED', `"${around.request.tool}" calls "${tool}" at depth ${depth + 1}; ${most}`)
    }
    const { session, ask, canAnswer, trace, unallowed, client = around.operationId } = around.request
    const request: CallRequest = {
      session,
      tool,
      input,
      signal: outer.signal(),
      ask,
      canAnswer,
      client,
      trace,
      unallowed,
    }
    return (await callAndFinish(begin(request, { depth, outer, parentId: around.operationId }))).result
  }

  function begin(given: CallRequest, around: Around = OUTERMOST): CallState {
    const operationId = ids.next('op')
    const request = given.asTask ? followed(given, text => operations.progress(operationId, text)) : given
    const trace = spans.begin(request, operationId)
    return {
      request: trace === request.trace ? request : { ...request, trace },
      operationId,
      startedAt: clock.now(),
      depth: around.depth,
      outer: around.outer,
      parentId: around.parentId,
      tool: undefined,
      config: undefined,
      digest: '',
      consent: undefined,
      resumed: undefined,
      isParked: false,
      isRecorded: false,
      hasRun: false,
      wasHeldBack: false,
      effects: NOTHING,
      whole: undefined,
      repeatOf: undefined,
    }
  }

  /** An operation that waited goes the whole way: what was allowed then may not be allowed now. */
  async function resume(row: OperationRow, { session, input, effects }: ResumeRequest): Promise<void> {
    const { id, tool, parentId } = row
    const around = { depth: 0, outer: undefined, parentId: parentId ?? undefined }
    const request = { session, tool, input }
    const callState: CallState = { ...begin(request, around), operationId: id, resumed: row, isRecorded: true, effects }
    operations.adopt(recordOf(row, input), row)
    await callAndFinish(callState).catch(() => {
      // It is on record, and its caller is notified of the result.
    })
  }

  const isRunning = ({ depth, hasRun }: CallState) => depth === 0 && hasRun

  function running(): number {
    return [...underWay.values()].filter(({ callState }) => isRunning(callState)).length
  }

  return {
    call: request => callAndFinish(begin(request)),
    ensureConnected: request => ensureConnected(request),
    resumeFromRecord: async request => (await resumeFromRecord(request, deps)).answer(),
    resume,
    cancel(operationId, reason) {
      const deadline = underWay.get(operationId)?.deadline
      // A deadline that is over may belong to a caller who waited: the run that another caller begins under this id is not there yet.
      if (!deadline || deadline.reason()) return operations.isRunning(operationId) ? 'ending' : 'notHere'
      deadline.cancel(reason)
      return 'told'
    },
    target: ({ session, tool, input }) => permit(session, followForward({ session, tool, input }).tool),
    drain() {
      draining.cancel(stopped())
      for (const { callState, deadline } of underWay.values())
        if (callState.depth === 0 && !callState.hasRun) deadline.cancel(stopped())
      return new Promise(resolve => {
        onDrained = resolve
        if (running() === 0) resolve()
      })
    },
    running,
    stop() {
      draining.cancel(stopped())
      stopping.cancel(stopped())
      for (const { deadline } of underWay.values()) deadline.cancel(stopped())
    },
  }
}

type ConnectRequest = Parameters<Calls['ensureConnected']>[0]

const NOTHING: readonly never[] = Object.freeze([])

/** A check that asks somewhere else gets no longer than the tool itself. */
async function inTime<T>(tool: Tool, work: Promise<T>, clock: Clock): Promise<T> {
  const what = `Checking the arguments of "${tool.name}"`
  const deadline = createDeadline({ clock, ms: tool.timeoutMs, parent: undefined, what })
  try {
    return await deadline.race(work)
  } finally {
    deadline.release()
  }
}

function stopped(): AppError {
  return new AppError('STOPPING', 'Quartermaster is stopping.')
}

/** What was asked for, and perhaps allowed, was another tool under the same name. */
function refuseChanged(row: OperationRow, tool: Tool): void {
  const { tool: name } = row
  if (isSameTool(row, tool)) return
  const next = mayBeDone(row) ? '' : ' Call it again.'
  const message = `"${name}" is not what it was when it was called: its definition has changed.${next}`
  throw new AppError('DEFINITION_INVALID', message, { details: { tool: name } })
}

/** The call around a call, as far as the inner one has to know. */
type Around = Pick<CallState, 'depth' | 'outer' | 'parentId'>

const OUTERMOST: Around = { depth: 0, outer: undefined, parentId: undefined }

/** Records progress of a task, beside the listeners of the call. */
function followed(request: CallRequest, note: (text: string) => void): CallRequest {
  return {
    ...request,
    onProgress(update) {
      note(progressText(update))
      request.onProgress?.(update)
    },
  }
}

/** A span for every call, from its beginning to the moment the audit hears of its end. */
interface CallSpans {
  /** The trace context for the parts of this call; unchanged without a tracer. */
  begin(request: CallRequest, operationId: string): TraceContext | undefined
}

export function createCallSpans({ tracer, emitter }: { tracer?: Tracer | undefined; emitter: Emitter }): CallSpans {
  if (!tracer) return { begin: ({ trace }) => trace }
  const open = new Map<string, Span>()
  emitter.on('call.settled', ({ operationId, tool, outcome, code }) => {
    const facts = { 'gen_ai.tool.name': tool, 'quartermaster.outcome': outcome }
    open.get(operationId)?.end({ facts, error: outcome === 'succeeded' ? undefined : (code ?? 'TOOL_SAID_NO') })
    open.delete(operationId)
  })
  return {
    begin({ session, tool, trace }, operationId) {
      const span = tracer.start({
        name: `execute_tool ${tool.slice(0, LONGEST_NAME)}`,
        kind: 'internal',
        parent: trace,
        facts: {
          'gen_ai.operation.name': 'execute_tool',
          'quartermaster.organisation': session.caller.organisation,
          'quartermaster.agent': session.caller.name,
          'quartermaster.operation_id': operationId,
        },
      })
      open.set(operationId, span)
      return span.trace
    },
  }
}

/** No tool has a longer one; a caller may have asked for anything. */
const LONGEST_NAME = 64

/** How far a call has come, in words: its own, or its numbers. */
export function progressText({ progress, total, message }: Progress): string {
  return message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)
}
