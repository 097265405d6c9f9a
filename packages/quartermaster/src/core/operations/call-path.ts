import { AppError, type CallAnswer, type Settings } from '../../contracts/index.ts'
import type { Catalogue, SchemaCompiler, Tool } from '../catalogue/index.ts'
import type { Health } from '../health/index.ts'
import {
  type Clock,
  canonicalJson,
  type Digest,
  type Emitter,
  type Ids,
  type Log,
  type Tracer,
} from '../kernel/index.ts'
import { createCallContext } from './call-context.ts'
import type { CallRequest, Calls } from './call-request.ts'
import { createCallSpans } from './call-spans.ts'
import { type Consent, decideConsent } from './consent-stage.ts'
import { createDeadline, type Deadline } from './deadline.ts'
import { awaitHealth, isReady, refuseDisabled } from './health-stage.ts'
import { checkInput } from './input-stage.ts'
import type { Journey } from './journey.ts'
import type { KeptResults } from './kept-results.ts'
import type { OperationLog, OperationRecord } from './operation-log.ts'
import { followForward, permit } from './permission-stage.ts'
import { progressText } from './progress-text.ts'
import { runTool } from './run-stage.ts'
import { toSendableError } from './sendable-error.ts'
import { settle } from './settle-stage.ts'

export interface CallPathDeps {
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly health: Pick<Health, 'availability' | 'missing' | 'recheckFor' | 'settled' | 'reportFailure'>
  readonly results: KeptResults
  readonly operations: OperationLog
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly emitter: Emitter
  readonly log: Log
  readonly compiler: SchemaCompiler
  /** Nobody follows calls without one. */
  readonly tracer?: Tracer | undefined
  readonly settings: Pick<Settings, 'restartWaitSeconds' | 'nestedCallDepth'>
}

/** Builds the call path: permission, validation, health, consent, record, the same once more, run, verify, settle, audit. */
export function createCalls(deps: CallPathDeps): Calls {
  const { catalogue, health, results, operations, clock, ids, digest, settings } = deps
  const restartWaitMs = settings.restartWaitSeconds * 1000
  const underWay = new Set<Deadline>()
  const spans = createCallSpans(deps)
  let isStopping = false

  async function travel(journey: Journey): Promise<CallAnswer> {
    let answer: CallAnswer
    try {
      answer = await walk(journey)
    } catch (error) {
      const failure = toSendableError(error)
      await settle(journey, { failure }, deps)
      throw failure
    }
    const writing = settle(journey, { answer }, deps)
    // Not awaited for nothing: most calls have no record, and each turn of the event loop is felt.
    if (writing) await writing
    return answer
  }

  async function walk(journey: Journey): Promise<CallAnswer> {
    if (isStopping) throw stopping()
    journey.request = followForward(journey.request)
    const { request } = journey
    const { tool, config } = permit(request.seat, request.tool)
    journey.tool = tool
    const deadline = deadlineFor(journey, tool)
    underWay.add(deadline)
    try {
      const checked = checkInput(tool, request.input)
      const input = checked instanceof Promise ? await inTime(tool, deadline.race(checked)) : checked
      journey.digest = digestOf(tool, request.input)
      await passHealth(request, tool, deadline)
      journey.consent = consentFor(journey, tool)
      const writing = operations.begin(recordOf(journey, tool))
      if (writing) await recorded(journey, writing)
      return await runRecorded(journey, { tool, config, input }, deadline)
    } finally {
      underWay.delete(deadline)
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

  /** Waited for to its end: a record that nobody waits for would stand there as if its call were running. */
  async function recorded({ request, operationId }: Journey, writing: Promise<void>): Promise<void> {
    await writing
    request.onRecorded?.(operationId)
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
    consentFor(journey, tool)
    deadline.limitRun(tool.timeoutMs, `"${tool.name}"`)
    journey.hasRun = true
    const nested = (name: string, given: unknown) => callNested(journey, deadline, name, given)
    const context = createCallContext(journey, {
      tool,
      config,
      deadline,
      log: deps.log,
      compiler: deps.compiler,
      nested,
    })
    const result = await runTool({ tool, input, context, deadline }, deps)
    const limited = results.limit(result, { maxBytes: tool.maxResultBytes, caller: seat.caller, operationId })
    return { operationId, ...limited }
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

  function consentFor(journey: Journey, tool: Tool): Consent | undefined {
    if (tool.consent.length === 0) return undefined
    const { seat, consented } = journey.request
    const known = catalogue.current().consentOperations
    return decideConsent({ tool, digest: journey.digest, agent: seat.agent(), consented, operations: known })
  }

  async function callNested(around: Journey, outer: Deadline, tool: string, input: unknown) {
    const depth = around.depth + 1
    if (depth >= settings.nestedCallDepth) {
      const most = `${settings.nestedCallDepth} is the most.`
      throw new AppError('LIMIT_EXCEEDED', `"${around.request.tool}" calls "${tool}" at depth ${depth + 1}; ${most}`)
    }
    const { seat, ask, canAnswer, trace, client = around.operationId } = around.request
    const request: CallRequest = { seat, tool, input, signal: outer.signal(), ask, canAnswer, client, trace }
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
      hasRun: false,
    }
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
    target: ({ seat, tool, input }) => permit(seat, followForward({ seat, tool, input }).tool),
    stop() {
      isStopping = true
      for (const deadline of underWay) deadline.cancel(stopping())
    },
  }
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
  const { seat, input, asTask } = request
  return {
    id: operationId,
    caller: seat.caller,
    tool: tool.name,
    definitionHash: tool.hash,
    mutates: tool.mutates,
    digest,
    input,
    startedAt,
    parentId,
    ttlMs: asTask?.ttlMs,
  }
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
