import { TRACEPARENT_META_KEY, TRACESTATE_META_KEY } from '@modelcontextprotocol/server'
import type { TraceContext } from '../../contracts/index.ts'
import { traceFrom, traceIdOf } from '../../core/kernel/index.ts'
import type { HeaderReader } from './header-reader.ts'

/**
 * Whose trace a request belongs to. The message names the client's own span (MCP 2026-07-28, trace context), the headers
 * the request that carried it; where both are of one trace the headers are nearer.
 */
export function traceOf(
  meta: Readonly<Record<string, unknown>>,
  headers: HeaderReader | undefined,
): TraceContext | undefined {
  const carried = headers && traceFrom(headers.get('traceparent'), headers.get('tracestate'))
  const named = traceFrom(meta[TRACEPARENT_META_KEY], meta[TRACESTATE_META_KEY])
  return carried && named && traceIdOf(carried) === traceIdOf(named) ? carried : (named ?? carried)
}
