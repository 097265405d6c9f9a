import {
  type Answer,
  AppError,
  type EffectSpec,
  messageOf,
  Progress,
  type Question,
  type ToolResult,
} from '../../contracts/index.ts'
import type { CallContext, Tool } from '../catalogue/index.ts'
import type { Log } from '../kernel/index.ts'
import type { CallRequest } from './call-request.ts'
import type { Deadline } from './deadline.ts'
import type { Journey } from './journey.ts'

export interface ContextParts {
  readonly tool: Tool
  readonly config: unknown
  readonly deadline: Deadline
  readonly log: Log
  /** Calls another tool from inside this one. */
  nested(tool: string, input: unknown): Promise<ToolResult>
}

/** What a handler is told beside its input. */
export function createCallContext({ request, operationId }: Journey, parts: ContextParts): CallContext {
  const { tool, config, deadline, log, nested } = parts
  const { seat } = request
  return {
    caller: seat.caller,
    config,
    get signal() {
      return deadline.signal
    },
    get deadline() {
      return deadline.at
    },
    operationId,
    idempotencyKey: operationId,
    progress: update => passProgress(update, request, tool, log),
    async ask(question) {
      // Waiting for a person is not running: the tool's own time stands still meanwhile.
      const resume = deadline.pauseRun()
      try {
        return await deadline.race(ask(request, tool, question, deadline.signal))
      } finally {
        resume()
      }
    },
    call: nested,
    missingEffects: NO_EFFECTS,
    get log() {
      return toolLog(log, { tool: tool.name, operationId })
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

const NO_EFFECTS: readonly EffectSpec[] = Object.freeze([])

async function ask(request: CallRequest, tool: Tool, question: Question, signal: AbortSignal): Promise<Answer> {
  if (request.ask) return request.ask(question, signal)
  const callback = request.seat.callbacks?.ask
  if (callback) return callback(question, { tool: tool.name, signal })
  const message = `"${tool.name}" has a question, and nobody is there to answer it: "${question.message}"`
  throw new AppError('ANSWER_UNAVAILABLE', message)
}

function toolLog(log: Log, fields: Record<string, unknown>): Log {
  return {
    debug: (message, more) => log.debug(message, { ...more, ...fields }),
    info: (message, more) => log.info(message, { ...more, ...fields }),
    warn: (message, more) => log.warn(message, { ...more, ...fields }),
    error: (message, more) => log.error(message, { ...more, ...fields }),
  }
}
