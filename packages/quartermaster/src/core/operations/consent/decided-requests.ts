import type { ApprovalRow } from '../../../contracts/index.ts'
import type { Store } from '../../store/index.ts'
import { callerOf, whoseOf } from '../record/whose.ts'
import { type ConsentDecision, decideConsent } from './consent-decision.ts'
import { findGrants } from './find-grants.ts'
import { openRequests } from './open-requests.ts'
import { type Definitions, worthOf } from './request-worth.ts'

export interface DecidedOptions {
  readonly decision: 'allow' | 'deny'
  readonly catalogue: Definitions
  readonly now: number
}

/** What waits of the same caller, and what grants that last decide so by now: nobody need be asked about that any more. */
export async function* decidedRequests(
  store: Store,
  answered: ApprovalRow,
  { decision, catalogue, now }: DecidedOptions,
): AsyncGenerator<ApprovalRow> {
  for await (const page of openRequests(store, whoseOf(answered))) {
    for (const request of page) {
      if (worthOf(request, catalogue) !== 'sound') continue
      if ((await decisionOn(store, request, now)) === KINDS[decision]) yield request
    }
  }
}

const KINDS = { allow: 'allowed', deny: 'denied' } as const

async function decisionOn(store: Store, request: ApprovalRow, now: number): Promise<ConsentDecision['kind']> {
  const { id: operationId, asks, tool, digest } = request
  const live = { expiresAt: { above: now }, revokedAt: null }
  const grants = await findGrants(store, { caller: callerOf(request), asks, operationId }, live)
  // What the agent's file allowed was not asked for.
  const nothing = { standing: new Set<string>(), allowedNow: new Set<string>() }
  return decideConsent({ operationId, tool, digest, asks, grants, now, ...nothing }).kind
}
