import { expect, it } from 'vitest'
import { traceOf } from './mcp-request.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const OTHER = '0af7651916cd43dd8448eb211c80319c'
const context = (trace: string, span: string) => `00-${trace}-${span.repeat(16)}-01`

it('follows the message, or the request that carried it where that is a step further in the same trace', () => {
  const headers = (trace: string) => new Headers({ traceparent: context(trace, 'a') })
  const meta = { traceparent: context(TRACE, 'b'), tracestate: 'v=1' }
  expect(traceOf({}, undefined)).toBeUndefined()
  expect(traceOf({}, headers(TRACE))).toEqual({ traceparent: context(TRACE, 'a') })
  expect(traceOf(meta, undefined)).toEqual(meta)
  expect(traceOf(meta, headers(TRACE))).toEqual({ traceparent: context(TRACE, 'a') })
  expect(traceOf(meta, headers(OTHER))).toEqual(meta)
  expect(traceOf({ traceparent: 'nonsense' }, headers(OTHER))).toEqual({ traceparent: context(OTHER, 'a') })
})
