import { AppError, type ApprovalRow, type ConsentAsk, type Settings } from '../../../contracts/index.ts'
import { longestMs } from './answer-grants.ts'
import type { GivenAnswer } from './given-answer.ts'

/** An answer that lasts must not be given to what may be allowed once only, nor any but one for now on a client's word. */
export function refuseUnfit({ request, answer, by }: GivenAnswer, settings: Pick<Settings, 'grantHours'>): void {
  const { id, asks } = request
  const { decision, lasting, minutes } = answer
  if (decision === 'allow' && lasting !== 'once') refuseLasting(id, asks)
  if (by.via === 'client' && (lasting !== 'once' || asks.some(({ weight }) => weight === 'high')))
    throw unfit(request, 'A client’s word counts for one call, and for nothing of high weight.')
  if (lasting !== 'time') return
  if (minutes === undefined || !(minutes > 0)) throw unfit(request, 'Say for how many minutes.')
  // Cut short without a word, it would be taken for what was said.
  if (minutes * 60_000 > longestMs(settings))
    throw unfit(request, `An answer counts for ${settings.grantHours} hours at most (the setting "grantHours").`)
}

function refuseLasting(id: string, asks: readonly ConsentAsk[]): void {
  const single = asks.filter(({ grantable }) => grantable === 'once').map(({ operation }) => `"${operation}"`)
  if (single.length > 0) throw unfit({ id }, `${single.join(', ')} can be allowed for this call only.`)
}

/** The error for an answer that a request cannot be given. */
export function unfit({ id: operationId }: Pick<ApprovalRow, 'id'>, why: string): AppError {
  return new AppError('REQUEST_REFUSED', `"${operationId}" cannot be answered so. ${why}`, { details: { operationId } })
}
