import type { ReadingContext, SchemaCompiler } from '../catalogue/index.ts'
import type { Log } from '../kernel/index.ts'
import { askFitting, canAnswer } from './ask-stage.ts'
import { toolLog } from './call-context.ts'
import type { Deadline } from './deadline.ts'
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
      return deadline.signal
    },
    get deadline() {
      return deadline.at
    },
    async ask(question) {
      // Waiting for a person is not reading: its own time stands still meanwhile.
      const resume = deadline.pauseRun()
      try {
        const asking = askFitting(question, { request, subject: address, signal: deadline.signal, compiler })
        return await deadline.race(asking)
      } finally {
        resume()
      }
    },
    canAnswer: kind => canAnswer(request, kind),
    get log() {
      return toolLog(log, { reading: address, operationId }, request.onLog)
    },
  }
}
