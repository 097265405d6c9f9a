import { type Caller, type EffectSpec, messageOf, Progress, type ToolResult } from '../../../contracts/index.ts'
import { CANCEL_SIGNAL, type CallContext, PAUSE_RUN, type SchemaCompiler, type Tool } from '../../catalogue/index.ts'
import { type CancelSignal, type Log, traceIdOf } from '../../kernel/index.ts'
import type { LogLevel } from '../elicitation/elicitation.ts'
import type { Operations } from '../record/operations.ts'
import { askWhileWanted, canAnswer } from './ask-client.ts'
import type { CallRequest } from './call-request.ts'
import { type CallState, isDeliveredTo } from './call-state.ts'
import type { Deadline } from './deadline.ts'
import type { KeptResults } from './kept-results.ts'

export interface ContextParts {
  readonly tool: Tool
  readonly config: unknown
  readonly deadline: Deadline
  readonly log: Log
  readonly compiler: SchemaCompiler
  /** What is on record of the caller. */
  readonly records: Pick<Operations, 'show' | 'waiting'>
  readonly results: Pick<KeptResults, 'page'>
  /** What is still to be done, on a second attempt. */
  readonly missingEffects: readonly EffectSpec[]
  /** Calls another tool from inside this one. */
  nested(tool: string, input: unknown): Promise<ToolResult>
}

// No private fields: what a handler derives from its context inherits the getters, and these look there.
const CALL_STATE = Symbol('callState')
const PARTS = Symbol('parts')

/**
 * What a handler gets beside its input. A class, because an object with getters of its own is slow to make; members that are
 * taken out and called alone are bound to the object all the same.
 */
export class RunContext implements CallContext {
  readonly caller: CallContext['caller']
  readonly client: string
  readonly config: unknown
  readonly operationId: string
  readonly idempotencyKey: string
  readonly trace: CallContext['trace']
  readonly progress: CallContext['progress']
  readonly ask: CallContext['ask']
  readonly canAnswer: CallContext['canAnswer']
  readonly call: CallContext['call']
  readonly operation: CallContext['operation']
  readonly waitingOperations: CallContext['waitingOperations']
  readonly resultPage: CallContext['resultPage']
  readonly missingEffects: CallContext['missingEffects']
  readonly [CALL_STATE]: CallState
  readonly [PARTS]: ContextParts

  constructor(callState: CallState, parts: ContextParts) {
    const { request, operationId } = callState
    const { tool, log, records, results } = parts
    const { caller } = request.session
    this.caller = caller
    this.client = request.client ?? operationId
    this.config = parts.config
    this.operationId = operationId
    this.idempotencyKey = operationId
    this.trace = request.trace
    this.progress = progressOf(request, tool, log)
    this.ask = askOf(request, parts)
    this.canAnswer = canAnswerOf(request)
    this.call = parts.nested
    this.operation = operationOf(callState, records)
    this.waitingOperations = waitingOf(caller, records)
    this.resultPage = resultPageOf(caller, results)
    this.missingEffects = parts.missingEffects
    this[CALL_STATE] = callState
    this[PARTS] = parts
  }

  get signal(): AbortSignal {
    return this[PARTS].deadline.signal()
  }

  get [CANCEL_SIGNAL](): CancelSignal {
    return this[PARTS].deadline.cancelSignal()
  }

  [PAUSE_RUN](): () => void {
    return this[PARTS].deadline.pauseRun()
  }

  get deadline(): number {
    return this[PARTS].deadline.at()
  }

  get log(): Log {
    const { request, operationId } = this[CALL_STATE]
    const { tool, log } = this[PARTS]
    const facts = { tool: tool.name, operationId }
    const { trace, onLog } = request
    return toolLog(log, trace ? { ...facts, traceId: traceIdOf(trace) } : facts, onLog)
  }
}

// Each is made by a function of its own: V8 puts what is written out as `this.name = () => …` among the old objects at once, and
// with it all that the call holds, which is then copied and kept until the next great collection.

const progressOf =
  (request: CallRequest, tool: Tool, log: Log): CallContext['progress'] =>
  update =>
    passProgress(update, request, tool, log)

const askOf =
  (request: CallRequest, { tool, deadline, compiler }: ContextParts): CallContext['ask'] =>
  (question, options) =>
    askWhileWanted(question, { request, subject: tool.name, deadline, compiler }, options)

const canAnswerOf =
  (request: CallRequest): CallContext['canAnswer'] =>
  kind =>
    canAnswer(request, kind)

const operationOf =
  (callState: CallState, records: ContextParts['records']): CallContext['operation'] =>
  id =>
    records.show(callState.request.session.caller, id, isDeliveredTo(callState))

const waitingOf =
  (caller: Caller, records: ContextParts['records']): CallContext['waitingOperations'] =>
  () =>
    records.waiting(caller)

const resultPageOf =
  (caller: Caller, results: ContextParts['results']): CallContext['resultPage'] =>
  (id, offset) =>
    results.page(caller, id, offset)

/** Progress is a courtesy: neither a bad value nor a listener that fails may change how the call ends. */
function passProgress(update: unknown, { onProgress, session }: CallRequest, tool: Tool, log: Log): void {
  const parsed = Progress.safeParse(update)
  if (!parsed.success) return log.warn('progress that is none was dropped', { tool: tool.name })
  try {
    onProgress?.(parsed.data)
    session.callbacks?.progress?.({ tool: tool.name, ...parsed.data })
  } catch (error) {
    log.warn('a listener to progress failed', { tool: tool.name, error: messageOf(error) })
  }
}

/** The diagnostic log, and beside it whatever the client wants to see. */
export function toolLog(log: Log, facts: Record<string, unknown>, onLog: CallRequest['onLog']): Log {
  const write = (level: LogLevel) => (message: string, fields?: Record<string, unknown>) => {
    log[level](message, { ...fields, ...facts })
    onLog?.(level, message, fields)
  }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}
