import {
  AppError,
  type ApprovalRow,
  type Caller,
  type GrantRow,
  MOST_APPROVALS,
  type OperationRow,
  type Settings,
} from '../../../contracts/index.ts'
import { type Catalogue, isOlderHash, type Tool } from '../../catalogue/index.ts'
import { callerKey, canonicalJson } from '../../kernel/index.ts'
import { mustExist, type Store, update, type Where, type Write } from '../../store/index.ts'
import {
  type CallerColumns,
  callerColumnsOf,
  callerOf,
  GRANT_GUARD,
  type StorageAccess,
} from '../record/operation-storage.ts'
import { queued, type Step } from '../record/transitions.ts'
import { type ConsentDecision, decideConsent } from './consent-decision.ts'
import { findGrants } from './grants.ts'

/** What persons of an organisation are asked about one operation, answered or not. Throws `NAME_UNKNOWN`. */
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

/** What waits for an answer in an organisation, oldest first, a page at a time. */
export async function* openRequests(
  store: Store,
  whose: Where<'approvals'> & { readonly organisation: string },
): AsyncGenerator<readonly ApprovalRow[]> {
  const where = { state: 'open' as const, ...whose }
  const query = { where, order: { by: ['createdAt', 'id'] as const }, limit: PAGE }
  for (let after: readonly [number, string] | undefined; ; ) {
    const page = await store.find('approvals', after ? { ...query, after } : query)
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (!last || page.length < PAGE) return
    after = [last.createdAt, last.id]
  }
}

/** A request, and how many equal calls wait for the same answer. */
export type SharedRequest = ApprovalRow & { readonly calls: number }

/** Equal calls of one caller ask once: the oldest stands for all of them. */
export function groupEqual(requests: readonly ApprovalRow[]): SharedRequest[] {
  const oldest = new Map<string, SharedRequest>()
  for (const request of requests) {
    const key = equalityKey(request)
    const known = oldest.get(key)
    oldest.set(key, known ? { ...known, calls: known.calls + 1 } : { ...request, calls: 1 })
  }
  return [...oldest.values()]
}

/** The open requests of equal calls, oldest first; its own among them while it is open. */
export async function equalRequests(store: Store, request: Asking): Promise<ApprovalRow[]> {
  const { tool, digest, definitionHash } = request
  const equal: ApprovalRow[] = []
  for await (const page of openRequests(store, { ...callerColumnsOf(request), tool, digest, definitionHash }))
    equal.push(...page.filter(other => equalityKey(other) === equalityKey(request)))
  return equal
}

type Asking = CallerColumns & Pick<ApprovalRow, 'tool' | 'digest' | 'definitionHash' | 'asks'>

function equalityKey(request: Asking): string {
  const { tool, digest, definitionHash, asks } = request
  return canonicalJson([callerKey(callerOf(request)), tool, digest, definitionHash, asks])
}

/** As many of these as a list holds, oldest first: of each agent as many as of any other, so that none hides what another asks. */
export function limitPerAgent<R extends ApprovalRow>(requests: readonly R[], most = MOST_APPROVALS): readonly R[] {
  if (requests.length <= most) return requests
  const asked = new Map<string, number>()
  const ranked = requests.map((request, place) => {
    const rank = asked.get(request.workspace) ?? 0
    asked.set(request.workspace, rank + 1)
    return { request, rank, place }
  })
  const kept = ranked.toSorted((a, b) => a.rank - b.rank || a.place - b.place).slice(0, most)
  return kept.toSorted((a, b) => a.place - b.place).map(({ request }) => request)
}

interface DecidedOptions {
  readonly decision: 'allow' | 'deny'
  readonly catalogue: Definitions
  readonly now: number
}

/** Waiting requests of the same caller that lasting grants decide by now: they need no answer of a person any more. */
export async function* decidedRequests(
  store: Store,
  answered: ApprovalRow,
  { decision, catalogue, now }: DecidedOptions,
): AsyncGenerator<ApprovalRow> {
  for await (const page of openRequests(store, callerColumnsOf(answered))) {
    for (const request of page) {
      if (requestStatus(request, catalogue) !== 'sound') continue
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
  const nothing = { snapshot: new Set<string>(), allowedNow: new Set<string>() }
  return decideConsent({ operationId, tool, digest, asks, grants, now, ...nothing }).kind
}

/**
 * Whether what a person is asked about is still what would be run. `unseen` where its tool is away and may come back as it was:
 * with a server that has not answered yet, for example.
 */
type RequestStatus = 'sound' | 'changed' | 'gone' | 'unseen'

export type Definitions = Pick<Catalogue, 'current' | 'problems'>

/** What is known of the tool as it was when it was called. */
type Asked = Pick<ApprovalRow, 'definitionHash'> &
  Partial<Pick<ApprovalRow, 'asks'> & Pick<OperationRow, 'mutates' | 'retry' | 'parentId' | 'effects'>>

export function requestStatus(asked: Asked & Pick<ApprovalRow, 'tool'>, catalogue: Definitions): RequestStatus {
  const { tool: name } = asked
  const generation = catalogue.current()
  const tool = generation.tools.get(name)
  if (tool) return isSameTool(asked, tool) ? 'sound' : 'changed'
  const mayReturn = [...generation.capabilities.values()].some(
    ({ unseen, leftOut }) => unseen !== undefined || leftOut.some(({ name: own, calledAs = own }) => calledAs === name),
  )
  return mayReturn || mayStillLoad(catalogue) ? 'unseen' : 'gone'
}

/** Whether a tool that is missing may be in a source that is still being read, or in a file that cannot be read now. */
export function mayStillLoad(catalogue: Definitions): boolean {
  return catalogue.current().isPartial || catalogue.problems().some(({ severity }) => severity === 'error')
}

/** Whether the tool is what it was when it was called. An older hash is no answer; the safety facts on record are. */
export function isSameTool(asked: Asked, tool: Tool): boolean {
  if (!isOlderHash(asked.definitionHash)) return asked.definitionHash === tool.definitionHash
  const { mutates = tool.mutates, retry = tool.retry, parentId, asks = [], effects = [] } = asked
  // What is called from inside of another call is not retried, whatever its tool says.
  const isRetriedAlike = retry === tool.retry || (parentId !== undefined && parentId !== null)
  const hasEffect = ({ name, kind }: (typeof effects)[number]) =>
    tool.effects.some(effect => effect.name === name && effect.kind === kind)
  const hasEffects = effects.length === 0 || (effects.length === tool.effects.length && effects.every(hasEffect))
  const asksAlike = asks.every(({ operation }) => tool.consent.includes(operation))
  return mutates === tool.mutates && isRetriedAlike && hasEffects && asksAlike
}

/** Closes the request of a call that can not be run any more. The call is due: its run ends it with the reason, and tells that. */
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

/** The error for an answer that would apply to something else. */
export function requestVoid({ id, tool }: Pick<ApprovalRow, 'id' | 'tool'>, worth: 'changed' | 'gone'): AppError {
  const why =
    worth === 'gone' ? `There is no tool "${tool}" any more.` : `"${tool}" has changed since it was asked for.`
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

/** Limits how many calls of a caller wait for people, so that people can look through them. */
interface PendingLimit {
  /** Lets one more in, for as long as the work takes that puts it on record. Throws `LIMIT_EXCEEDED`. */
  enter<T>(caller: Caller, work: () => Promise<T>): Promise<T>
}

interface WaitingRoomDeps {
  readonly storage: StorageAccess
  readonly settings: Pick<Settings, 'approvalsPerAgent'>
}

export function createPendingLimit({ storage, settings }: WaitingRoomDeps): PendingLimit {
  const most = settings.approvalsPerAgent
  /** By caller, how many are at the door: those that come together would all find the same number on record. */
  const entering = new Map<string, number>()

  function step(who: string, by: 1 | -1): number {
    const now = (entering.get(who) ?? 0) + by
    if (now === 0) entering.delete(who)
    else entering.set(who, now)
    return now
  }

  async function refuseFull({ organisation, workspace, name }: Caller, together: number): Promise<void> {
    const { store } = await storage.open()
    const inside = await store.count('approvals', { organisation, state: 'open', workspace })
    if (inside + together <= most) return
    const next = 'Wait until a person has answered some with `quartermaster approvals`, or cancel what is not needed.'
    throw new AppError('LIMIT_EXCEEDED', `"${name}" has ${inside} calls that wait for a person; ${most} may. ${next}`)
  }

  return {
    async enter(caller, work) {
      const who = callerKey(caller)
      const together = step(who, 1)
      try {
        await refuseFull(caller, together)
        return await work()
      } finally {
        step(who, -1)
      }
    },
  }
}
