import type { ReadingContext, SchemaCompiler } from '../../catalogue/index.ts'
import type { Log } from '../../kernel/index.ts'
import { askWhileWanted, canAnswer } from '../path/ask-stage.ts'
import { toolLog } from '../path/call-context.ts'
import type { Deadline } from '../path/deadline.ts'
import type { ReadingRequest } from './reading-request.ts'

export interface ReadingContextParts {
  readonly request: ReadingRequest
  /** `prompt:review`: who asks and writes. */
  readonly address: string
  readonly operationId: string
  readonly config: unknown
  readonly deadline: Deadline
  readonly log: Log
  readonly compiler: SchemaCompiler
}

/** What filling in a prompt or reading a resource is told beside what was asked for. */
export function createReadingContext(parts: ReadingContextParts): ReadingContext {
  const { request, address, operationId, config, deadline, log, compiler } = parts
  return {
    caller: request.seat.caller,
    client: request.client ?? operationId,
    config,
    get signal() {
      return deadline.signal()
    },
    get deadline() {
      return deadline.at()
    },
    ask: (question, options) => askWhileWanted(question, { request, subject: address, deadline, compiler }, options),
    canAnswer: kind => canAnswer(request, kind),
    get log() {
      return toolLog(log, { reading: address, operationId }, request.onLog)
    },
  }
}
