import {
  AppError,
  type ApprovalRow,
  type Caller,
  type GrantRow,
  MOST_APPROVALS,
  type OperationRow,
  type Settings,
} from '../../../contracts/index.ts'
import { type Catalogue, isOldHash, type Tool } from '../../catalogue/index.ts'
import { callerKey, canonicalJson } from '../../kernel/index.ts'
import { mustExist, pagesOf, type Store, update, type Where, type Write } from '../../store/index.ts'
import {
  type CallerColumns,
  callerColumnsOf,
  callerOf,
  GRANT_GUARD,
  type StorageAccess,
} from '../record/operation-storage.ts'
import { queued, type Step } from '../record/transitions.ts'
import { decideConsent } from './consent-decision.ts'
import { findGrants } from './grants.ts'

/** The request for consent to an operation of this organisation, answered or not. Throws `NAME_UNKNOWN`. */
export async function findRequest(store: Store, organisation: string, id: string): Promise<ApprovalRow> {
  const row = await store.get('approvals', id)
  if (row?.organisation === organisation) return row
  throw new AppError('NAME_UNKNOWN', `There is no request for consent to "${id}". See \`quartermaster approvals\`.`)
}

/** The error for an answer that comes second, or after the end. */
export function alreadyAnswered({ id, state, answeredBy }: ApprovalRow): AppError {
  const how = answeredBy === null ? 'It is over.' : `It was ${state} by ${answeredBy}.`
  return new AppError('REQUEST_REFUSED', `"${id}" is not waiting for an answer any more. ${how}`, {
    details: { operationId: id, state },
  })
}

const PAGE = 500

/** The open requests of an organisation, oldest first, a page at a time. */
export function openRequests(
  store: Store,
  more: Where<'approvals'> & { readonly organisation: string },
): AsyncGenerator<readonly ApprovalRow[]> {
  const where = { state: 'open' as const, ...more }
  return pagesOf(store, 'approvals', { where, order: { by: ['createdAt', 'id'] }, limit: PAGE })
}

/** A request, and how many equal calls wait for the same answer. */
export type SharedRequest = ApprovalRow & { readonly calls: number }

/** Groups equal calls of one caller under their oldest request. */
export function groupEqual(requests: readonly ApprovalRow[]): SharedRequest[] {
  const oldest = new Map<string, SharedRequest>()
  for (const request of requests) {
    const key = equalityKey(request)
    const known = oldest.get(key)
    oldest.set(key, known ? { ...known, calls: known.calls + 1 } : { ...request, calls: 1 })
  }
  return [...oldest.values()]
}

/** The open requests of equal calls, oldest first; includes this one while it is open. */
export async function equalRequests(store: Store, request: EqualityFields): Promise<ApprovalRow[]> {
  const { tool, digest, definitionHash } = request
  const equal: ApprovalRow[] = []
  for await (const page of openRequests(store, { ...callerColumnsOf(request), tool, digest, definitionHash }))
    equal.push(...page.filter(other => equalityKey(other) === equalityKey(request)))
  return equal
}

type EqualityFields = CallerColumns & Pick<ApprovalRow, 'tool' | 'digest' | 'definitionHash' | 'asks'>

function equalityKey(request: EqualityFields): string {
  const { tool, digest, definitionHash, asks } = request
  return canonicalJson([callerKey(callerOf(request)), tool, digest, definitionHash, asks])
}

/** Cuts a list of requests, oldest first: each agent keeps as many as any other, so that none hides another's. */
export function limitPerAgent<R extends ApprovalRow>(requests: readonly R[], most = MOST_APPROVALS): readonly R[] {
  if (requests.length <= most) return requests
  const counts = new Map<string, number>()
  const ranked = requests.map((request, index) => {
    const rank = counts.get(request.workspace) ?? 0
    counts.set(request.workspace, rank + 1)
    return { request, rank, index }
  })
  const kept = ranked.toSorted((a, b) => a.rank - b.rank || a.index - b.index).slice(0, most)
  return kept.toSorted((a, b) => a.index - b.index).map(({ request }) => request)
}

const DECISION_KINDS = { allow: 'allowed', deny: 'denied' } as const

/** Open requests of the same caller that lasting grants decide by now, so that no person has to answer them. */
export async function* decidedRequests(
  store: Store,
  answered: ApprovalRow,
  options: { readonly decision: 'allow' | 'deny'; readonly catalogue: Definitions; readonly now: number },
): AsyncGenerator<ApprovalRow> {
  const { decision, catalogue, now } = options
  for await (const page of openRequests(store, callerColumnsOf(answered))) {
    for (const request of page) {
      if (requestStatus(request, catalogue) !== 'valid') continue
      const { id: operationId, asks, tool, digest } = request
      const wanted = { caller: callerOf(request), asks, operationId }
      const grants = await findGrants(store, wanted, { expiresAt: { above: now }, revokedAt: null })
      // What the agent's file allows was not asked for.
      const nothing = { snapshot: new Set<string>(), allowedNow: new Set<string>() }
      const { kind } = decideConsent({ operationId, tool, digest, asks, grants, now, ...nothing })
      if (kind === DECISION_KINDS[decision]) yield request
    }
  }
}

/**
 * Whether the tool is still the one that a person was asked about. `unavailable` where it may come back unchanged: with a server
 * that has not answered yet, for example.
 */
type RequestStatus = 'valid' | 'changed' | 'removed' | 'unavailable'

export type Definitions = Pick<Catalogue, 'current' | 'problems'>

/** The tool as it was when it was called. */
type CalledTool = Pick<ApprovalRow, 'definitionHash'> &
  Partial<Pick<ApprovalRow, 'asks'> & Pick<OperationRow, 'mutates' | 'retry' | 'parentId' | 'effects'>>

export function requestStatus(called: CalledTool & Pick<ApprovalRow, 'tool'>, catalogue: Definitions): RequestStatus {
  const { tool: name } = called
  const generation = catalogue.current()
  const tool = generation.tools.get(name)
  if (tool) return isSameTool(called, tool) ? 'valid' : 'changed'
  const mayReturn = [...generation.capabilities.values()].some(
    ({ unseen, hidden }) => unseen !== undefined || hidden.some(({ name: own, calledAs = own }) => calledAs === name),
  )
  return mayReturn || mayStillLoad(catalogue) ? 'unavailable' : 'removed'
}

/** Whether a missing tool may be in a source that is still loading, or in a file that cannot be read now. */
export function mayStillLoad(catalogue: Definitions): boolean {
  return catalogue.current().isPartial || catalogue.problems().some(({ severity }) => severity === 'error')
}

/** Whether the tool is unchanged since it was called. An older kind of hash cannot tell; the recorded safety facts can. */
export function isSameTool(called: CalledTool, tool: Tool): boolean {
  if (!isOldHash(called.definitionHash)) return called.definitionHash === tool.definitionHash
  const { mutates = tool.mutates, retry = tool.retry, parentId, asks = [], effects = [] } = called
  // A nested call is not retried, whatever its tool says.
  const isRetriedAlike = retry === tool.retry || (parentId !== undefined && parentId !== null)
  const hasEffect = ({ name, kind }: (typeof effects)[number]) =>
    tool.effects.some(effect => effect.name === name && effect.kind === kind)
  const hasEffects = effects.length === 0 || (effects.length === tool.effects.length && effects.every(hasEffect))
  const asksAlike = asks.every(({ operation }) => tool.consent.includes(operation))
  return mutates === tool.mutates && isRetriedAlike && hasEffects && asksAlike
}

/** Closes the request of a call that can no longer run. The call becomes due: its run ends it and reports the reason. */
export function closeRequest(
  row: OperationRow,
  { dueAt, expiresAt }: { dueAt: number; expiresAt: number },
  now: number,
): Step {
  const { error, attempts } = row
  const { writes, change } = queued(row, { dueAt, error, attempts, expiresAt }, now)
  const where = { id: row.id, state: 'open' as const }
  return {
    writes: [update('approvals', { where, set: { state: 'closed' }, guard: 'approval.open' }), ...writes],
    change,
  }
}

/** The error for an answer to a request whose tool is not the same any more. */
export function requestVoid({ id, tool }: Pick<ApprovalRow, 'id' | 'tool'>, status: 'changed' | 'removed'): AppError {
  const why =
    status === 'removed' ? `There is no tool "${tool}" any more.` : `"${tool}" has changed since it was asked for.`
  const message = `"${id}" is void: ${why} Nothing was allowed or denied, and it ends. A new call asks again.`
  return new AppError('REQUEST_REFUSED', message, { details: { operationId: id } })
}

/**
 * The conditions on grants in the commit that leases a run: grants for one call are used up by it, and the others still exist.
 * So a grant cannot be revoked, or used, in between.
 */
export function consentWrites(grants: readonly GrantRow[], operationId: string, now: number): readonly Write[] {
  return grants.map(({ id, lasting, usedBy }) => {
    const live = { id, revokedAt: null, expiresAt: { above: now } }
    if (lasting !== 'once' || usedBy === operationId) return mustExist('grants', live, GRANT_GUARD)
    const set = { usedBy: operationId, usedAt: now }
    return update('grants', { where: { ...live, usedBy: null }, set, guard: GRANT_GUARD })
  })
}

/** Limits how many calls of an agent wait for people. Throws `LIMIT_EXCEEDED`, or does the work that records one more. */
export function createPendingLimit(storage: StorageAccess, { approvalsPerAgent }: Pick<Settings, 'approvalsPerAgent'>) {
  /** By caller, calls that are being recorded: made at the same time, all would find the same number on record. */
  const entering = new Map<string, number>()

  function add(caller: string, by: 1 | -1): number {
    const now = (entering.get(caller) ?? 0) + by
    if (now === 0) entering.delete(caller)
    else entering.set(caller, now)
    return now
  }

  async function refuseFull({ organisation, workspace, name }: Caller, together: number): Promise<void> {
    const { store } = await storage.open()
    const waiting = await store.count('approvals', { organisation, state: 'open', workspace })
    if (waiting + together <= approvalsPerAgent) return
    const most = `"${name}" has ${waiting} calls that wait for a person; ${approvalsPerAgent} may.`
    const next = 'Wait until a person has answered some with `quartermaster approvals`, or cancel what is not needed.'
    throw new AppError('LIMIT_EXCEEDED', `${most} ${next}`)
  }

  return async <T>(caller: Caller, work: () => Promise<T>): Promise<T> => {
    const key = callerKey(caller)
    const together = add(key, 1)
    try {
      await refuseFull(caller, together)
      return await work()
    } finally {
      add(key, -1)
    }
  }
}
