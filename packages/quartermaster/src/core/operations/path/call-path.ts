import {
  AppError,
  type CallAnswer,
  ERRORS,
  isAppError,
  type OperationRow,
  type Settings,
  type ToolResult,
} from '../../../contracts/index.ts'
import type { SchemaCompiler, Tool } from '../../catalogue/index.ts'
import type { Health } from '../../health/index.ts'
import {
  type Clock,
  canonicalJson,
  type Digest,
  type Emitter,
  type Ids,
  type Log,
  type Random,
  type Tracer,
} from '../../kernel/index.ts'
import type { Admission } from '../consent/admission.ts'
import { type ConsentGate, consentDenied, consentRequired } from '../consent/consent-gate.ts'
import { afterFailure, type RetryTerms } from '../queue/retry-policy.ts'
import type { Idempotency } from '../record/idempotency.ts'
import type { Begun, OperationLog, OperationRecord } from '../record/operation-log.ts'
import { recordOf as recordOfRow } from '../record/operation-record.ts'
import type { Operations } from '../record/operations.ts'
import { createCallContext } from './call-context.ts'
import type { CallRequest, Calls } from './call-request.ts'
import { createCallSpans } from './call-spans.ts'
import { createDeadline, type Deadline } from './deadline.ts'
import { doneBefore, type EffectfulRun, type EffectsStage } from './effects-stage.ts'
import { awaitHealth, isReady, refuseDisabled } from './health-stage.ts'
import { checkInput } from './input-stage.ts'
import type { Journey } from './journey.ts'
import type { KeptResults } from './kept-results.ts'
import { followForward, permit } from './permission-stage.ts'
import { progressText } from './progress-text.ts'
import { runTool } from './run-stage.ts'
import { toSendableError } from './sendable-error.ts'
import { putOff, settle } from './settle-stage.ts'
import { waitingAnswer } from './waiting-answer.ts'

export interface CallPathDeps {
  readonly health: Pick<Health, 'availability' | 'missing' | 'recheckFor' | 'settled' | 'reportFailure'>
  readonly results: KeptResults
  readonly operations: OperationLog
  readonly idempotency: Idempotency
  readonly admission: Admission
  readonly gate: ConsentGate
  readonly effects: EffectsStage
  readonly records: Pick<Operations, 'show' | 'waiting'>
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly emitter: Emitter
  readonly log: Log
  readonly compiler: SchemaCompiler
  /** Nobody follows calls without one. */
  readonly tracer?: Tracer | undefined
  readonly random: Random
  readonly settings: Pick<Settings, 'restartWaitSeconds' | 'nestedCallDepth'> & RetryTerms['settings']
}

/** Builds the call path: permission, validation, health, consent, record, the same once more, run, verify, settle, audit. */
export function createCalls(deps: CallPathDeps): Calls {
  const { health, results, operations, idempotency, admission, gate, effects, clock, ids, digest, settings } = deps
  const restartWaitMs = settings.restartWaitSeconds * 1000
  const underWay = new Map<string, Deadline>()
  const spans = createCallSpans(deps)
  let isStopping = false

  async function travel(journey: Journey): Promise<CallAnswer> {
    let answer: CallAnswer
    try {
      answer = await walk(journey)
    } catch (error) {
      return await failed(journey, toSendableError(error))
    }
    // It has not ended, and whoever ends it will say so.
    if (answer.waiting && journey.repeatOf === undefined) return answer
    const writing = settle(journey, { answer }, deps)
    // Not awaited for nothing: most calls have no record, and each turn of the event loop is felt.
    if (writing) await writing
    return answer
  }

  /** What was allowed, or is to be tried again, and had not begun when the process stopped, is begun by the next. */
  async function putBack(journey: Journey, failure: AppError): Promise<CallAnswer> {
    const dueAt = Math.round(clock.now())
    await putOff(journey, { failure, dueAt }, deps)
    return waitingAnswer({ id: journey.operationId, tool: journey.request.tool, state: 'queued', dueAt })
  }

  /** Tells the caller why, unless it is tried again by itself: then the caller gets a handle on it. */
  async function failed(journey: Journey, failure: AppError): Promise<CallAnswer> {
    const { tool, resumed, isParked, isRecorded, hasRun, startedAt } = journey
    // What waited for a person was ended, and put on record, by whoever ended it.
    if (isParked && !isRecorded) throw failure
    if (failure.code === 'STOPPING' && !hasRun && isRecorded && (isParked || resumed))
      return await putBack(journey, failure)
    const now = clock.now()
    const { attempts = 1, createdAt = startedAt } = resumed ?? {}
    // The tool around a nested call has its own idea of what to do, and is still there to hear that this one failed.
    const policy = journey.depth > 0 || !tool ? 'manual' : tool.retry
    const mutates = tool?.mutates ?? false
    const next = afterFailure({ policy, mutates, failure, hasRun, attempts, createdAt, now }, deps)
    if (next.kind === 'end' || !tool || !isRecorded) {
      await settle(journey, { failure, ...(next.kind === 'end' ? { state: next.state } : {}) }, deps)
      throw failure
    }
    const { dueAt } = next
    await putOff(journey, { failure, dueAt }, deps)
    return waitingAnswer({ id: journey.operationId, tool: tool.name, state: 'queued', dueAt: dueAt ?? null })
  }

  async function walk(journey: Journey): Promise<CallAnswer> {
    if (isStopping) throw stopping()
    journey.request = followForward(journey.request)
    const { request } = journey
    const { tool, config } = permit(request.seat, request.tool)
    journey.tool = tool
    const deadline = deadlineFor(journey, tool)
    underWay.set(journey.operationId, deadline)
    try {
      const checked = checkInput(tool, request.input)
      const input = checked instanceof Promise ? await inTime(tool, deadline.race(checked)) : checked
      journey.digest = digestOf(tool, request.input)
      if (journey.resumed) refuseChanged(journey.resumed, tool)
      const first = request.idempotencyKey === undefined ? undefined : await firstAnswer(journey, deadline)
      if (first) return first
      await passHealth(request, tool, deadline)
      const instead = await enter(journey, tool, deadline)
      if (instead) return instead
      return await runRecorded(journey, { tool, config, input }, deadline)
    } finally {
      underWay.delete(journey.operationId)
      deadline.release()
    }
  }

  /** A check that asks somewhere else gets no longer than the tool itself. */
  async function inTime<T>(tool: Tool, work: Promise<T>): Promise<T> {
    const what = `Checking the arguments of "${tool.name}"`
    const deadline = createDeadline({ clock, ms: tool.timeoutMs, parent: undefined, what })
    try {
      return await deadline.race(work)
    } finally {
      deadline.release()
    }
  }

  /** Gets the call on record, and allowed where a person has to allow it. Answers what its caller gets instead of a run. */
  async function enter(journey: Journey, tool: Tool, deadline: Deadline): Promise<CallAnswer | undefined> {
    const record = recordOf(journey, tool)
    const answer = record.needsConsent
      ? await admission.admit({ journey, tool, record, deadline })
      : await entered(journey, journey.resumed ? undefined : operations.begin(record))
    return answer === 'known' ? await beaten(journey, deadline) : answer
  }

  /** Waited for to its end: a record that nobody waits for would stand there as if its call were running. */
  async function entered(journey: Journey, writing: Promise<Begun> | undefined): Promise<'known' | undefined> {
    if (!writing) return undefined
    if ((await writing) !== 'begun') return 'known'
    journey.isRecorded = true
    journey.request.onRecorded?.(journey.operationId)
    return undefined
  }

  /** What the caller's key stands for already. Looked at before anything else is: it may be done, whatever is wrong now. */
  async function firstAnswer(journey: Journey, deadline: Deadline): Promise<CallAnswer | undefined> {
    const { seat, tool, idempotencyKey: key } = journey.request
    if (key === undefined) return undefined
    const first = idempotency.first({ caller: seat.caller, tool, key, digest: journey.digest })
    const known = await deadline.race(first)
    journey.repeatOf = known?.operationId
    return known?.answer()
  }

  /** Somebody else was faster with the same key. */
  async function beaten(journey: Journey, deadline: Deadline): Promise<CallAnswer> {
    const first = await firstAnswer(journey, deadline)
    if (first) return first
    throw new AppError('STORE_BUSY', `What was called under the same key is being forgotten. Call again.`)
  }

  /** From here on the call is on record. What was allowed before is looked at once more, because waiting took time. */
  async function runRecorded(journey: Journey, ready: ReadyCall, deadline: Deadline): Promise<CallAnswer> {
    const { request, operationId } = journey
    const { seat } = request
    const { tool, config, input } = ready
    const late = deadline.reason()
    if (late) throw late
    permit(seat, tool.name)
    if (!request.evenIfDisabled) refuseDisabled(tool, health)
    if (tool.consent.length > 0) await refuseRevoked(journey, tool, deadline)
    deadline.limitRun(tool.timeoutMs, `"${tool.name}"`)
    const effectful = tool.effects.length > 0 ? { journey, deadline, ...ready } : undefined
    const missingEffects = effectful ? await effects.before(effectful) : NOTHING
    if (missingEffects === 'done') return doneBefore(tool, operationId)
    journey.hasRun = true
    const nested = (name: string, given: unknown) => callNested(journey, deadline, name, given)
    const context = createCallContext(journey, {
      tool,
      config,
      deadline,
      log: deps.log,
      compiler: deps.compiler,
      records: deps.records,
      missingEffects,
      nested,
    })
    const result = await ran(runTool({ tool, input, context, deadline }, deps), effectful)
    const limited = results.limit(result, { maxBytes: tool.maxResultBytes, caller: seat.caller, operationId })
    return { operationId, ...limited }
  }

  /** Holds what a tool says it did against what is there. One that was cut off may have done all of it. */
  async function ran(running: Promise<ToolResult>, effectful: EffectfulRun | undefined): Promise<ToolResult> {
    if (!effectful) return running
    try {
      const result = await running
      if (!result.isError) await effects.confirm(effectful)
      return result
    } catch (error) {
      if (!isUncertain(error) || !(await effects.isDone(effectful))) throw error
      return doneBefore(effectful.tool, effectful.journey.operationId).result
    }
  }

  /** Waiting has budgets of its own; this bounds the whole only where the caller or the call around it does. */
  function deadlineFor({ request, outer }: Journey, tool: Tool): Deadline {
    const ms = request.timeoutMs ?? Number.POSITIVE_INFINITY
    return createDeadline({ clock, ms, parent: request.signal, outer, what: `The call of "${tool.name}"` })
  }

  async function passHealth(request: CallRequest, tool: Tool, deadline: Deadline): Promise<void> {
    if (request.evenIfDisabled || isReady(tool, health)) return
    await deadline.race(awaitHealth(tool, deadline.signal(), { health, restartWaitMs }))
  }

  /** Whoever allowed it may have thought better of it since. */
  async function refuseRevoked(
    { operationId, digest, request }: Journey,
    tool: Tool,
    deadline: Deadline,
  ): Promise<void> {
    const { seat, input, consented } = request
    const decision = await deadline.race(gate.decide({ operationId, seat, tool, digest, input, consented }))
    if (decision.kind === 'denied') throw consentDenied(tool, decision.grant)
    if (decision.kind === 'missing') throw consentRequired(tool, decision.asks, digest)
  }

  async function callNested(around: Journey, outer: Deadline, tool: string, input: unknown) {
    const depth = around.depth + 1
    if (depth >= settings.nestedCallDepth) {
      const most = `${settings.nestedCallDepth} is the most.`
      throw new AppError('LIMIT_EXCEEDED', `"${around.request.tool}" calls "${tool}" at depth ${depth + 1}; ${most}`)
    }
    const { seat, ask, canAnswer, trace, unallowed, client = around.operationId } = around.request
    const request: CallRequest = { seat, tool, input, signal: outer.signal(), ask, canAnswer, client, trace, unallowed }
    return (await travel(begin(request, { depth, outer, parentId: around.operationId }))).result
  }

  function begin(given: CallRequest, around: Around = OUTERMOST): Journey {
    const operationId = ids.next('op')
    const request = given.asTask ? followed(given, text => operations.progress(operationId, text)) : given
    const trace = spans.begin(request, operationId)
    return {
      request: trace === request.trace ? request : { ...request, trace },
      operationId,
      startedAt: clock.now(),
      ...around,
      tool: undefined,
      digest: '',
      consent: undefined,
      resumed: undefined,
      isParked: false,
      isRecorded: false,
      hasRun: false,
      effects: NOTHING,
      repeatOf: undefined,
    }
  }

  /** An operation that waited goes the whole way: what was allowed then may not be allowed now. */
  async function resume(row: OperationRow, { seat, input }: Pick<CallRequest, 'seat' | 'input'>): Promise<void> {
    const { id, tool, parentId } = row
    const around = { depth: 0, outer: undefined, parentId: parentId ?? undefined }
    const request = { seat, tool, input }
    const { effects: left } = row
    const journey: Journey = {
      ...begin(request, around),
      operationId: id,
      resumed: row,
      isRecorded: true,
      effects: left,
    }
    operations.adopt(recordOfRow(row, input), row)
    await travel(journey).catch(() => {
      // It is on record, and whoever asked for it is told of its end.
    })
  }

  function digestOf(tool: Tool, input: unknown): string {
    try {
      return digest(canonicalJson(input ?? {}))
    } catch (error) {
      throw new AppError('INPUT_INVALID', `The arguments of "${tool.name}" cannot be written as JSON.`, {
        cause: error,
      })
    }
  }

  return {
    call: request => travel(begin(request)),
    resume,
    cancel(operationId, reason) {
      const deadline = underWay.get(operationId)
      deadline?.cancel(reason)
      return deadline !== undefined
    },
    target: ({ seat, tool, input }) => permit(seat, followForward({ seat, tool, input }).tool),
    stop() {
      isStopping = true
      for (const deadline of underWay.values()) deadline.cancel(stopping())
    },
  }
}

const NOTHING: readonly never[] = Object.freeze([])

/** A failure after which nobody knows whether the work was done. */
function isUncertain(error: unknown): boolean {
  return isAppError(error) && (error.code === 'OUTCOME_UNKNOWN' || ERRORS[error.code].retry === 'later')
}

function stopping(): AppError {
  return new AppError('STOPPING', 'Quartermaster is stopping.')
}

/** A call that was let through. The configuration belongs to the tool's own generation. */
interface ReadyCall {
  readonly tool: Tool
  readonly config: unknown
  readonly input: unknown
}

function recordOf({ request, operationId, digest, startedAt, parentId }: Journey, tool: Tool): OperationRecord {
  const { seat, input, asTask, idempotencyKey } = request
  return {
    id: operationId,
    caller: seat.caller,
    tool: tool.name,
    definitionHash: tool.hash,
    mutates: tool.mutates,
    retry: parentId === undefined ? tool.retry : 'manual',
    needsConsent: tool.consent.length > 0,
    digest,
    input,
    startedAt,
    parentId,
    ttlMs: asTask?.ttlMs,
    idempotencyKey,
  }
}

/** What was asked for, and perhaps allowed, was another tool under the same name. */
function refuseChanged({ tool: name, definitionHash }: OperationRow, tool: Tool): void {
  if (definitionHash === tool.hash) return
  const message = `"${name}" is not what it was when it was called: its definition has changed. Call it again.`
  throw new AppError('DEFINITION_INVALID', message, { details: { tool: name } })
}

/** The call around a call, as far as the inner one has to know. */
type Around = Pick<Journey, 'depth' | 'outer' | 'parentId'>

const OUTERMOST: Around = { depth: 0, outer: undefined, parentId: undefined }

/** Whoever looks at a task sees how far it has come, beside whoever listens already. */
function followed(request: CallRequest, note: (text: string) => void): CallRequest {
  return {
    ...request,
    onProgress(update) {
      note(progressText(update))
      request.onProgress?.(update)
    },
  }
}
