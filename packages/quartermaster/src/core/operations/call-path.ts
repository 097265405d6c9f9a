import { AppError, type AuditEntry, type CallAnswer, type Settings, toAppError } from '../../contracts/index.ts'
import type { Grant, Seat } from '../agents/index.ts'
import type { Catalogue, Tool } from '../catalogue/index.ts'
import type { Health } from '../health/index.ts'
import {
  type Clock,
  canonicalJson,
  type Digest,
  didYouMean,
  type Emitter,
  type Ids,
  type Log,
} from '../kernel/index.ts'
import { createCallContext } from './call-context.ts'
import type { CallRequest, Calls } from './call-request.ts'
import { type Consent, decideConsent } from './consent-stage.ts'
import { createDeadline, type Deadline } from './deadline.ts'
import { awaitHealth, isReady, refuseDisabled } from './health-stage.ts'
import { checkInput } from './input-stage.ts'
import { auditOf, type Journey } from './journey.ts'
import type { KeptResults } from './kept-results.ts'
import type { OperationLog } from './operation-log.ts'
import { runTool } from './run-stage.ts'

export interface CallPathDeps {
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly health: Pick<Health, 'availability' | 'missing' | 'recheckTool' | 'settled' | 'reportFailure'>
  readonly results: KeptResults
  readonly operations: OperationLog
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly emitter: Emitter
  readonly log: Log
  readonly settings: Pick<Settings, 'restartWaitSeconds' | 'nestedCallDepth'>
}

/** Builds the call path: permission, validation, health, consent, record, the same once more, run, verify, settle, audit. */
export function createCalls(deps: CallPathDeps): Calls {
  const { catalogue, health, results, operations, clock, ids, digest, emitter, settings } = deps
  const restartWaitMs = settings.restartWaitSeconds * 1000
  const underWay = new Set<Deadline>()
  let isStopping = false

  async function travel(journey: Journey): Promise<CallAnswer> {
    try {
      const answer = await walk(journey)
      settle(journey, answer.result.isError ? 'failed' : 'succeeded')
      return answer
    } catch (error) {
      const failure = toAppError(error)
      settle(journey, outcomeOf(failure, journey), failure.code)
      throw failure
    }
  }

  async function walk(journey: Journey): Promise<CallAnswer> {
    const { request } = journey
    if (isStopping) throw stopping()
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
      operations.begin(recordOf(journey, tool))
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

  /** From here on the call is on record. What was allowed before is looked at once more, because waiting took time. */
  async function runRecorded(journey: Journey, ready: ReadyCall, deadline: Deadline): Promise<CallAnswer> {
    const { request, operationId } = journey
    const { seat } = request
    const { tool, config, input } = ready
    if (deadline.reason) throw deadline.reason
    permit(seat, tool.name)
    if (!request.evenIfDisabled) refuseDisabled(tool, health)
    consentFor(journey, tool)
    deadline.limitRun(tool.timeoutMs, `"${tool.name}"`)
    journey.hasRun = true
    const nested = (name: string, given: unknown) => callNested(journey, deadline, name, given)
    const context = createCallContext(journey, { tool, config, deadline, log: deps.log, nested })
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
    await deadline.race(awaitHealth(tool, deadline.signal, { health, restartWaitMs }))
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
    const { seat, ask } = around.request
    const request: CallRequest = { seat, tool, input, signal: outer.signal, ask }
    return (await travel(begin(request, depth, outer))).result
  }

  function begin(request: CallRequest, depth = 0, outer?: Deadline): Journey {
    const startedAt = clock.now()
    const operationId = ids.next('op')
    return {
      request,
      operationId,
      startedAt,
      depth,
      outer,
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

  function settle(journey: Journey, outcome: AuditEntry['outcome'], code?: string): void {
    operations.end(journey.operationId)
    const end = { at: clock.now(), outcome }
    emitter.emit('call.settled', auditOf(journey, code === undefined ? end : { ...end, code }))
  }

  return {
    call: request => travel(begin(request)),
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

/** A tool that is not granted does not exist for the caller, and the two are answered alike. */
function permit(seat: Seat, name: string): Grant {
  const grant = seat.grant(name)
  if (grant) return grant
  const visible = seat.view().tools.map(({ tool }) => tool.name)
  throw new AppError('TOOL_NOT_FOUND', `"${seat.caller.name}" has no tool "${name}".${didYouMean(name, visible)}`)
}

function recordOf({ request, operationId, digest, startedAt }: Journey, tool: Tool) {
  const { caller } = request.seat
  return { id: operationId, caller, tool: tool.name, definitionHash: tool.hash, digest, startedAt }
}

function outcomeOf(error: AppError, { hasRun }: Journey): AuditEntry['outcome'] {
  if (!hasRun) return 'notRun'
  return error.code === 'OUTCOME_UNKNOWN' ? 'unknown' : 'failed'
}
