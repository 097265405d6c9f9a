import type { NewRow, Settings } from '../../../contracts/index.ts'
import type { Ids } from '../../kernel/index.ts'
import { whoseOf } from '../record/whose.ts'
import type { GivenAnswer } from './given-answer.ts'

const HOUR_MS = 3_600_000

/** How long an answer counts at most. */
export function longestMs({ grantHours }: Pick<Settings, 'grantHours'>): number {
  return grantHours * HOUR_MS
}

export interface GrantTerms {
  readonly now: number
  readonly ids: Ids
  readonly settings: Pick<Settings, 'grantHours'>
}

/** What the answer leaves behind: for each thing asked a grant of its own. A no to one call leaves none. */
export function grantsFor(given: GivenAnswer, terms: GrantTerms): NewRow<'grants'>[] {
  const { request, answer, by } = given
  const { decision, lasting } = answer
  if (decision === 'deny' && lasting === 'once') return []
  const single = lasting === 'once' ? { tool: request.tool, digest: request.digest } : {}
  return request.asks.map(({ operation, scope }) => ({
    id: terms.ids.next('grant'),
    ...whoseOf(request),
    operation,
    scope,
    decision,
    lasting,
    ...single,
    askedFor: request.id,
    grantedBy: by.name,
    via: by.via,
    createdAt: terms.now,
    expiresAt: expiryOf(given, terms),
  }))
}

function expiryOf({ request, answer: { lasting, minutes } }: GivenAnswer, { now, settings }: GrantTerms): number {
  if (lasting === 'once') return request.expiresAt
  return now + (lasting === 'time' && minutes !== undefined ? Math.round(minutes * 60_000) : longestMs(settings))
}
