import {
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
import { type Store, type Where } from '../../store/index.ts'
import { callerColumns, callerColumnsOf } from '../record/operation-storage.ts'
import { REPEATABLE } from '../record/transitions.ts'
import { type Answerer } from './consent-decision.ts'

const HOUR_MS = 3_600_000

/** The longest validity of an answer. */
function longestMs({ grantHours }: Pick<Settings, 'grantHours'>): number {
  return grantHours * HOUR_MS
}

interface GrantTerms {
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
    ...callerColumnsOf(request),
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

/** Whose grants, and for what. */
interface GrantsWanted {
  readonly caller: Caller
  readonly asks: readonly Pick<ConsentAsk, 'operation' | 'scope' | 'grantable'>[]
  /** What was given for one call is looked for by the call it was given for. */
  readonly operationId: string
}

/** A call asks for a handful of things, and is asked about again a few times. */
const MOST_OF_ONE_CALL = 1_000

/**
 * Those grants that can decide about a call: of those that last, for each thing it asks for a no where there is one, else a yes;
 * and those that were given for this call. However many others there are, none hides one of these.
 */
export async function findGrants(
  store: Store,
  { caller, asks, operationId }: GrantsWanted,
  more: Where<'grants'>,
): Promise<readonly GrantRow[]> {
  const { workspace: _, ...own } = callerColumns(caller)
  const whose = { ...callerColumns(caller), ...more }
  const lasting = asks.map(({ operation, scope, grantable }) =>
    store.find('grants', {
      // For operations that can only be allowed per call, or whose subject is unknown, any no applies and no yes.
      where: {
        ...whose,
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
    // Not by workspace, or an index would be taken that finds those of all other calls as well.
    where: { ...own, askedFor: operationId, lasting: 'once', ...more },
    order: { by: ['createdAt', 'id'], direction: 'descending' },
    limit: MOST_OF_ONE_CALL,
  })
  return (await Promise.all([...lasting, single])).flat()
}

const PAGE = 200
/** What a person can have tried again, as `canRepeat` says it of one. */
const CAN_REPEAT = { state: { in: REPEATABLE }, arguments: { not: null } } as const

/**
 * The grants among these that are still of use, oldest first, a page at a time: a grant for one call is, used or not, for as
 * long as that call may be run, also because a person retries it.
 */
export async function* liveGrants(store: Store, where: Where<'grants'>): AsyncGenerator<readonly GrantRow[]> {
  const query = { where, order: { by: ['createdAt', 'id'] as const }, limit: PAGE }
  for (let after: readonly [number, string] | undefined; ; ) {
    const page = await store.find('grants', after ? { ...query, after } : query)
    const live = await ofWhatGoesOn(store, page)
    if (live.length > 0) yield live
    const last = page.at(-1)
    if (!last || page.length < PAGE) return
    after = [last.createdAt, last.id]
  }
}

async function ofWhatGoesOn(store: Store, grants: readonly GrantRow[]): Promise<readonly GrantRow[]> {
  const single = grants.flatMap(({ lasting, askedFor }) => (lasting === 'once' && askedFor ? [askedFor] : []))
  if (single.length === 0) return grants
  const id = { in: [...new Set(single)] }
  const rows = await Promise.all(
    [
      { id, endedAt: null },
      { id, ...CAN_REPEAT },
    ].map(where => store.find('operations', { where, columns: ['id'], limit: PAGE })),
  )
  const goesOn = new Set(rows.flat().map(one => one.id))
  return grants.filter(({ lasting, askedFor }) => lasting !== 'once' || goesOn.has(askedFor ?? ''))
}

/** A person's answer for one call: these operations, with the arguments of this digest. */
export interface ConsentedOnce {
  readonly operations: readonly string[]
  readonly digest: string
}

/** A person's answer to what one operation asks for. */
export interface ConsentAnswer {
  readonly decision: 'allow' | 'deny'
  readonly lasting: Lasting
  /** For a lasting grant: how long. */
  readonly minutes?: number | undefined
}

/** An answer, to what, and by whom. */
export interface GivenAnswer {
  readonly request: ApprovalRow
  readonly answer: ConsentAnswer
  readonly by: Answerer
}

/** An answer that lasts must not be given to what may be allowed once only, nor any but one for now on a client's word. */
export function validateAnswer({ request, answer, by }: GivenAnswer, settings: Pick<Settings, 'grantHours'>): void {
  const { id, asks } = request
  const { decision, lasting, minutes } = answer
  if (decision === 'allow' && lasting !== 'once') refuseLasting(id, asks)
  if (by.via === 'client' && (lasting !== 'once' || asks.some(({ weight }) => weight === 'high')))
    throw answerRefused(request, 'A client’s word counts for one call, and for nothing of high weight.')
  if (lasting !== 'time') return
  if (minutes === undefined || !(minutes > 0)) throw answerRefused(request, 'Say for how many minutes.')
  // Cut short without a word, it would be taken for what was said.
  if (minutes * 60_000 > longestMs(settings))
    throw answerRefused(
      request,
      `An answer counts for ${settings.grantHours} hours at most (the setting "grantHours").`,
    )
}

function refuseLasting(id: string, asks: readonly ConsentAsk[]): void {
  const single = asks.filter(({ grantable }) => grantable === 'once').map(({ operation }) => `"${operation}"`)
  if (single.length > 0) throw answerRefused({ id }, `${single.join(', ')} can be allowed for this call only.`)
}

/** The error for an answer that a request cannot be given. */
export function answerRefused({ id: operationId }: Pick<ApprovalRow, 'id'>, why: string): AppError {
  return new AppError('REQUEST_REFUSED', `"${operationId}" cannot be answered so. ${why}`, { details: { operationId } })
}
