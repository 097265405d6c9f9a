import { type EffectSpec, messageOf, Progress, type ToolResult } from '../../../contracts/index.ts'
import type { CallContext, SchemaCompiler, Tool } from '../../catalogue/index.ts'
import { type Log, traceIdOf } from '../../kernel/index.ts'
import type { LogLevel } from '../exchange/audience.ts'
import type { Operations } from '../record/operations.ts'
import { askWhileWanted, canAnswer } from './ask-stage.ts'
import type { CallRequest } from './call-request.ts'
import type { Deadline } from './deadline.ts'
import { type Journey, whetherHeard } from './journey.ts'
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

/** What a handler is told beside its input. */
export function createCallContext(journey: Journey, parts: ContextParts): CallContext {
  const { request, operationId } = journey
  const { tool, config, deadline, log, compiler, records, results, missingEffects, nested } = parts
  const { seat, trace } = request
  return {
    caller: seat.caller,
    client: request.client ?? operationId,
    config,
    get signal() {
      return deadline.signal()
    },
    get deadline() {
      return deadline.at()
    },
    operationId,
    idempotencyKey: operationId,
    trace,
    progress: update => passProgress(update, request, tool, log),
    ask: (question, options) => askWhileWanted(question, { request, subject: tool.name, deadline, compiler }, options),
    canAnswer: kind => canAnswer(request, kind),
    call: nested,
    operation: id => records.show(seat.caller, id, whetherHeard(journey)),
    waitingOperations: () => records.waiting(seat.caller),
    resultPage: (id, offset) => results.page(seat.caller, id, offset),
    missingEffects,
    get log() {
      const facts = { tool: tool.name, operationId }
      return toolLog(log, trace ? { ...facts, traceId: traceIdOf(trace) } : facts, request.onLog)
    },
  }
}

/** Progress is a courtesy: neither a bad value nor a listener that fails may change how the call ends. */
function passProgress(update: unknown, { onProgress, seat }: CallRequest, tool: Tool, log: Log): void {
  const parsed = Progress.safeParse(update)
  if (!parsed.success) return log.warn('progress that is none was dropped', { tool: tool.name })
  try {
    onProgress?.(parsed.data)
    seat.callbacks?.progress?.({ tool: tool.name, ...parsed.data })
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
