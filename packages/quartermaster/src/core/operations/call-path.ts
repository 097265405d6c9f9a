import { AppError, type AuditEntry, type CallAnswer, type Settings, toAppError } from '../../contracts/index.ts'
import type { Grant, Seat } from '../agents/index.ts'
import type { CallContext, Catalogue, Tool } from '../catalogue/index.ts'
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
import type { CallRequest, Calls } from './call-request.ts'
import { type Consent, decideConsent } from './consent-stage.ts'
import { createDeadline, type Deadline } from './deadline.ts'
import { awaitHealth, refuseDisabled } from './health-stage.ts'
import { checkInput } from './input-stage.ts'
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

/** What a nested call inherits from the one around it. */
interface Nesting {
  readonly depth: number
  readonly deadline: Deadline | undefined
}

/** What is known of a call while it goes along the path; the audit tells it at the end, however it ended. */
interface Trace {
  readonly operationId: string
  readonly startedAt: number
  tool: Tool | undefined
  digest: string
  consent: Consent | undefined
  hasRun: boolean
}

/** Builds the call path: permission, validation, health, consent, record, the same once more, run, verify, settle, audit. */
export function createCalls(deps: CallPathDeps): Calls {
  const { catalogue, health, results, operations, clock, ids, digest, emitter, settings } = deps
  const healthStage = { health, restartWaitMs: settings.restartWaitSeconds * 1000 }

  async function call(request: CallRequest, nesting: Nesting): Promise<CallAnswer> {
    const trace: Trace = {
      operationId: ids.next('op'),
      startedAt: clock.now(),
      tool: undefined,
      digest: '',
      consent: undefined,
      hasRun: false,
    }
    try {
      const answer = await walk(request, nesting, trace)
      audit(request, trace, answer.result.isError ? 'failed' : 'succeeded')
      return answer
    } catch (error) {
      const failure = toAppError(error)
      audit(request, trace, outcomeOf(failure, trace), failure.code)
      throw failure
    }
  }

  async function walk(request: CallRequest, nesting: Nesting, trace: Trace): Promise<CallAnswer> {
    const { seat } = request
    const { tool } = permit(seat, request.tool)
    trace.tool = tool
    const waiting = waitingDeadline(request, nesting, tool)
    try {
      const checked = checkInput(tool, request.input)
      const input = checked instanceof Promise ? await waiting.race(checked) : checked
      trace.digest = digest(canonicalJson(request.input ?? {}))
      if (!request.evenIfDisabled) await waiting.race(awaitHealth(tool, waiting.signal, healthStage))
      trace.consent = consentFor(request, tool, trace.digest)
      operations.begin(recordOf(request, tool, trace))
      return await runRecorded(request, nesting, trace, { tool, input, waiting })
    } finally {
      waiting.end()
      operations.end(trace.operationId)
    }
  }

  /** From here on the call is on record. What was allowed before the waiting is looked at once more, because waiting takes time. */
  async function runRecorded(
    request: CallRequest,
    nesting: Nesting,
    trace: Trace,
    ready: ReadyCall,
  ): Promise<CallAnswer> {
    const { tool, waiting } = ready
    waiting.signal.throwIfAborted()
    const { config } = permit(request.seat, tool.name)
    if (!request.evenIfDisabled) refuseDisabled(tool, health)
    consentFor(request, tool, trace.digest)
    const ms = Math.min(tool.timeoutMs, waiting.at - clock.now())
    const deadline = createDeadline({ clock, ms, parent: waiting.signal, what: `"${tool.name}"` })
    trace.hasRun = true
    try {
      const context = contextFor(request, nesting, trace, { tool, config, deadline })
      const result = await runTool(tool, ready.input, context, deadline, deps)
      const { caller } = request.seat
      const limited = results.limit(result, { maxBytes: tool.maxResultBytes, caller, operationId: trace.operationId })
      return { operationId: trace.operationId, ...limited }
    } finally {
      deadline.end()
    }
  }

  function waitingDeadline(request: CallRequest, nesting: Nesting, tool: Tool): Deadline {
    const own = request.timeoutMs ?? tool.timeoutMs + healthStage.restartWaitMs
    const remaining = nesting.deadline ? nesting.deadline.at - clock.now() : own
    return createDeadline({
      clock,
      ms: Math.max(0, Math.min(own, remaining)),
      parent: request.signal,
      what: `The call of "${tool.name}"`,
    })
  }

  function consentFor(request: CallRequest, tool: Tool, argumentsDigest: string): Consent | undefined {
    if (tool.consent.length === 0) return undefined
    const agent = request.seat.agent()
    const operationsByName = catalogue.current().consentOperations
    return decideConsent({
      tool,
      digest: argumentsDigest,
      agent,
      consented: request.consented,
      operations: operationsByName,
    })
  }

  function contextFor(
    request: CallRequest,
    nesting: Nesting,
    trace: Trace,
    run: { tool: Tool; config: unknown; deadline: Deadline },
  ): CallContext {
    const { tool, config, deadline } = run
    const { seat } = request
    return {
      caller: seat.caller,
      config,
      signal: deadline.signal,
      deadline: deadline.at,
      operationId: trace.operationId,
      idempotencyKey: trace.operationId,
      progress(update) {
        request.onProgress?.(update)
        seat.callbacks?.progress?.({ tool: tool.name, ...update })
      },
      ask: question => deadline.race(ask(request, tool, question, deadline.signal)),
      async call(name, input) {
        const depth = nesting.depth + 1
        if (depth >= settings.nestedCallDepth) {
          throw new AppError(
            'LIMIT_EXCEEDED',
            `"${tool.name}" calls "${name}" at depth ${depth + 1}; ${settings.nestedCallDepth} is the most.`,
          )
        }
        const inner: CallRequest = {
          seat,
          tool: name,
          input,
          signal: deadline.signal,
          ask: request.ask,
          onProgress: undefined,
        }
        return (await call(inner, { depth, deadline })).result
      },
      missingEffects: [],
      log: toolLog(deps.log, tool, trace.operationId),
    }
  }

  function audit(request: CallRequest, trace: Trace, outcome: AuditEntry['outcome'], code?: string): void {
    const entry: AuditEntry = {
      at: Math.round(clock.now()),
      operationId: trace.operationId,
      caller: request.seat.caller,
      tool: request.tool,
      digest: trace.digest,
      decision: trace.hasRun ? 'allowed' : 'refused',
      outcome,
      mutates: trace.tool?.mutates ?? false,
      durationMs: clock.now() - trace.startedAt,
    }
    if (code !== undefined) entry.code = code
    if (trace.consent) entry.consent = trace.consent
    emitter.emit('call.settled', entry)
  }

  return { call: request => call(request, { depth: 0, deadline: undefined }) }
}

interface ReadyCall {
  readonly tool: Tool
  readonly input: unknown
  readonly waiting: Deadline
}

/** A tool that is not granted does not exist for the caller, and the two are answered alike. */
function permit(seat: Seat, name: string): Grant {
  const grant = seat.grant(name)
  if (grant) return grant
  const visible = seat.view().tools.map(({ tool }) => tool.name)
  throw new AppError('TOOL_NOT_FOUND', `"${seat.caller.name}" has no tool "${name}".${didYouMean(name, visible)}`)
}

function recordOf(request: CallRequest, tool: Tool, trace: Trace) {
  const { caller } = request.seat
  return {
    id: trace.operationId,
    caller,
    tool: tool.name,
    definitionHash: tool.hash,
    digest: trace.digest,
    startedAt: trace.startedAt,
  }
}

async function ask(request: CallRequest, tool: Tool, question: Parameters<CallContext['ask']>[0], signal: AbortSignal) {
  if (request.ask) return request.ask(question, signal)
  const callback = request.seat.callbacks?.ask
  if (callback) return callback(question, { tool: tool.name, signal })
  throw new AppError(
    'ANSWER_UNAVAILABLE',
    `"${tool.name}" has a question, and nobody is there to answer it: "${question.message}"`,
  )
}

function outcomeOf(error: AppError, trace: Trace): AuditEntry['outcome'] {
  if (!trace.hasRun) return 'notRun'
  return error.code === 'OUTCOME_UNKNOWN' ? 'unknown' : 'failed'
}

function toolLog(log: Log, tool: Tool, operationId: string): Log {
  const fields = { tool: tool.name, operationId }
  return {
    debug: (message, more) => log.debug(message, { ...more, ...fields }),
    info: (message, more) => log.info(message, { ...more, ...fields }),
    warn: (message, more) => log.warn(message, { ...more, ...fields }),
    error: (message, more) => log.error(message, { ...more, ...fields }),
  }
}
