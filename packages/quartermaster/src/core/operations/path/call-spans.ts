import type { TraceContext } from '../../../contracts/index.ts'
import type { Emitter, Span, Tracer } from '../../kernel/index.ts'
import type { CallRequest } from './call-request.ts'

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
