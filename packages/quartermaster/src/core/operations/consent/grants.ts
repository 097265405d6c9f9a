import {
  type AnsweredVia,
  AppError,
  type ApprovalRow,
  type Caller,
  type ConsentAsk,
  type GrantRow,
  type Lasting,
  type NewRow,
  type Settings,
} from '../../../contracts/index.ts'
import { type Ids } from '../../kernel/index.ts'
import { pagesOf, type Store, type Where } from '../../store/index.ts'
import { callerColumns, callerColumnsOf } from '../record/operation-storage.ts'
import { REPEATABLE } from '../record/transitions.ts'

const HOUR_MS = 3_600_000

interface GrantTerms {
  readonly now: number
  readonly ids: Ids
  readonly settings: Pick<Settings, 'grantHours'>
}

/** The grants that an answer creates, one for each ask. Denying a single call creates none. */
export function grantsFor(given: GivenAnswer, { now, ids, settings }: GrantTerms): NewRow<'grants'>[] {
  const { request, answer, by } = given
  const { decision, lasting, minutes } = answer
  if (decision === 'deny' && lasting === 'once') return []
  const single = lasting === 'once' ? { tool: request.tool, digest: request.digest } : {}
  const lastingMs = lasting === 'time' && minutes !== undefined ? Math.round(minutes * 60_000) : longestMs(settings)
  return request.asks.map(({ operation, scope }) => ({
    id: ids.next('grant'),
    ...callerColumnsOf(request),
    operation,
    scope,
    decision,
    lasting,
    ...single,
    askedFor: request.id,
    grantedBy: by.name,
    via: by.via,
    createdAt: now,
    expiresAt: lasting === 'once' ? request.expiresAt : now + lastingMs,
  }))
}

function longestMs({ grantHours }: Pick<Settings, 'grantHours'>): number {
  return grantHours * HOUR_MS
}

interface GrantsWanted {
  readonly caller: Caller
  readonly asks: readonly Pick<ConsentAsk, 'operation' | 'scope' | 'grantable'>[]
  /** Grants for one call are found by the operation that they were given for. */
  readonly operationId: string
}

/** A call has a handful of asks, and is asked about again a few times. */
const MOST_OF_ONE_CALL = 1_000

/**
 * The grants that can decide about a call: of the lasting ones, for each ask a denial where there is one, else an allowance; and
 * those given for this call. However many other grants exist, these are always found.
 */
export async function findGrants(
  store: Store,
  { caller, asks, operationId }: GrantsWanted,
  more: Where<'grants'>,
): Promise<readonly GrantRow[]> {
  const { workspace: _, ...own } = callerColumns(caller)
  const lasting = asks.map(({ operation, scope, grantable }) =>
    store.find('grants', {
      // Where only single calls can be allowed, or the resource is unknown, any denial applies and no allowance.
      where: {
        ...callerColumns(caller),
        ...more,
        operation,
        ...(grantable === 'once' ? { decision: 'deny' as const } : { scope }),
        lasting: { in: ['always', 'time'] },
      },
      // "deny" comes after "allow".
      order: { by: ['decision', 'id'], direction: 'descending' },
      limit: 1,
    }),
  )
  const single = store.find('grants', {
    // Without the workspace: its index would also read the grants of all other calls.
    where: { ...own, askedFor: operationId, lasting: 'once', ...more },
    order: { by: ['createdAt', 'id'], direction: 'descending' },
    limit: MOST_OF_ONE_CALL,
  })
  return (await Promise.all([...lasting, single])).flat()
}

const PAGE = 200

/**
 * The grants that are still of use, oldest first, a page at a time. A grant for one call is of use, even when used, for as long
 * as that call may run or be retried.
 */
export async function* liveGrants(store: Store, where: Where<'grants'>): AsyncGenerator<readonly GrantRow[]> {
  const query = { where, order: { by: ['createdAt', 'id'] as const }, limit: PAGE }
  for await (const page of pagesOf(store, 'grants', query)) {
    const live = await withRunnableCall(store, page)
    if (live.length > 0) yield live
  }
}

async function withRunnableCall(store: Store, grants: readonly GrantRow[]): Promise<readonly GrantRow[]> {
  const single = grants.flatMap(({ lasting, askedFor }) => (lasting === 'once' && askedFor ? [askedFor] : []))
  if (single.length === 0) return grants
  const id = { in: [...new Set(single)] }
  // The second condition is `canRepeat` as a query.
  const runnable = [
    { id, endedAt: null },
    { id, state: { in: REPEATABLE }, arguments: { not: null } },
  ]
  const found = await Promise.all(
    runnable.map(where => store.find('operations', { where, columns: ['id'], limit: PAGE })),
  )
  const ids = new Set(found.flat().map(row => row.id))
  return grants.filter(({ lasting, askedFor }) => lasting !== 'once' || ids.has(askedFor ?? ''))
}

/** A person's consent to one call: these operations, for the arguments with this digest. */
export interface ConsentedOnce {
  readonly operations: readonly string[]
  readonly digest: string
}

/** The person who answers or revokes. */
export interface Answerer {
  readonly name: string
  readonly via: AnsweredVia
}

/** A person's answer to a request for consent. */
export interface ConsentAnswer {
  readonly decision: 'allow' | 'deny'
  readonly lasting: Lasting
  /** For `time`: how long the grant lasts. */
  readonly minutes?: number | undefined
}

/** An answer, its request, and the person who gave it. */
export interface GivenAnswer {
  readonly request: ApprovalRow
  readonly answer: ConsentAnswer
  readonly by: Answerer
}

/** Throws `REQUEST_REFUSED` for a lasting answer where only one call may be allowed, or where a client gave it. */
export function validateAnswer({ request, answer, by }: GivenAnswer, settings: Pick<Settings, 'grantHours'>): void {
  const { asks } = request
  const { decision, lasting, minutes } = answer
  const single = asks.filter(({ grantable }) => grantable === 'once').map(({ operation }) => `"${operation}"`)
  if (decision === 'allow' && lasting !== 'once' && single.length > 0)
    throw answerRefused(request, `${single.join(', ')} can be allowed for this call only.`)
  if (by.via === 'client' && (lasting !== 'once' || asks.some(({ weight }) => weight === 'high')))
    throw answerRefused(request, 'A client can answer for one call only, and not for operations of high weight.')
  if (lasting !== 'time') return
  if (minutes === undefined || !(minutes > 0)) throw answerRefused(request, 'Say for how many minutes.')
  // Shortening it silently would leave the person with a wrong idea of what they allowed.
  if (minutes * 60_000 > longestMs(settings))
    throw answerRefused(
      request,
      `An answer is valid for ${settings.grantHours} hours at most (the setting "grantHours").`,
    )
}

/** The error for an answer that a request cannot be given. */
export function answerRefused({ id: operationId }: Pick<ApprovalRow, 'id'>, why: string): AppError {
  return new AppError('REQUEST_REFUSED', `"${operationId}" cannot be answered so. ${why}`, { details: { operationId } })
}
