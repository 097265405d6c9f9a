import {
  AppError,
  type CallAnswer,
  ErrorBody,
  KEPT_META,
  KeptResult,
  type ToolResult,
  WaitingHandle,
} from '../../contracts/index.ts'
import { withoutRest } from '../../core/kernel/index.ts'

/** What the way of a result puts around it; a tool has no say in that. */
const OF_THE_WAY = /^(quartermaster|io\.modelcontextprotocol)\//

/** What a call answered, as whoever has the store at hand is told of it. Throws what could not be run. */
export function toCallAnswer({ _meta: meta = {}, resultType: _kind, ...result }: ToolResult): CallAnswer {
  const error = ErrorBody.safeParse(meta['quartermaster/error'])
  if (result.isError && error.success) throw AppError.fromJSON(error.data)
  const operationId = String(meta['quartermaster/operationId'] ?? '')
  const waiting = WaitingHandle.safeParse(meta['quartermaster/waiting'])
  if (waiting.success) return { operationId, result: { content: result.content }, waiting: waiting.data }
  const own = Object.entries(meta).filter(([key]) => !OF_THE_WAY.test(key))
  const told = own.length === 0 ? result : { ...result, _meta: Object.fromEntries(own) }
  const kept = KeptResult.safeParse(meta[KEPT_META])
  if (!kept.success) return { operationId, result: told }
  // Where it goes on is said once more at its end, for those who read nothing else.
  return { operationId, result: { ...told, content: withoutRest(told.content) }, kept: kept.data }
}
