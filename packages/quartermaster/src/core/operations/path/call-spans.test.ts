import { describe, expect, it } from 'vitest'
import type { AuditEntry, TraceContext } from '../../../contracts/index.ts'
import type { AgentSession } from '../../agents/index.ts'
import { createEmitter, type Span, type SpanStart, type Tracer } from '../../kernel/index.ts'
import { createCallSpans } from './call.ts'

const emitter = () => createEmitter({ onError: error => expect.fail(String(error)) })
const session = {
  caller: { kind: 'agent', organisation: 'default', name: 'worker', workspace: 'worker' },
} as AgentSession
const PARENT: TraceContext = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }
const OWN: TraceContext = { traceparent: `00-${'a'.repeat(32)}-${'c'.repeat(16)}-01` }

function noting() {
  const begun: SpanStart[] = []
  const ended: Parameters<Span['end']>[0][] = []
  const tracer: Tracer = {
    start(span) {
      begun.push(span)
      return { trace: OWN, end: end => void ended.push(end) }
    },
  }
  return { tracer, begun, ended }
}

const settled = (end: Pick<AuditEntry, 'outcome'> & { code?: string }): AuditEntry => ({
  at: 0,
  operationId: 'op_1',
  caller: session.caller,
  tool: 'add',
  digest: '',
  decision: 'allowed',
  mutates: false,
  durationMs: 1,
  ...end,
})

describe('the span of a call', () => {
  it('is a child of the caller’s span, and names agent and operation, never the arguments', () => {
    const { tracer, begun } = noting()
    const spans = createCallSpans({ tracer, emitter: emitter() })
    expect(spans.begin({ session, tool: 'add', input: { secret: 1 }, trace: PARENT }, 'op_1')).toBe(OWN)
    expect(begun).toEqual([
      {
        name: 'execute_tool add',
        kind: 'internal',
        parent: PARENT,
        facts: {
          'gen_ai.operation.name': 'execute_tool',
          'quartermaster.organisation': 'default',
          'quartermaster.agent': 'worker',
          'quartermaster.operation_id': 'op_1',
        },
      },
    ])
  })

  it.each([
    [{ outcome: 'succeeded' as const }, undefined],
    [{ outcome: 'failed' as const }, 'TOOL_SAID_NO'],
    [{ outcome: 'notRun' as const, code: 'TOOL_NOT_FOUND' }, 'TOOL_NOT_FOUND'],
  ])('ends once, as the audit says: %j', (end, error) => {
    const { tracer, ended } = noting()
    const events = emitter()
    createCallSpans({ tracer, emitter: events }).begin({ session, tool: 'add', input: {} }, 'op_1')
    events.emit('call.settled', settled(end))
    events.emit('call.settled', settled(end))
    expect(ended).toEqual([{ facts: { 'gen_ai.tool.name': 'add', 'quartermaster.outcome': end.outcome }, error }])
  })

  it('is not made without a tracer, and the trace passes unchanged', () => {
    const spans = createCallSpans({ emitter: emitter() })
    expect(spans.begin({ session, tool: 'add', input: {}, trace: PARENT }, 'op_1')).toBe(PARENT)
  })
})
