import {
  AppError,
  type ApprovalRow,
  type ConsentAsk,
  type GrantRow,
  isAppError,
  type Lasting,
  messageOf,
  type NewRow,
  type OperationRow,
  type Settings,
} from '../../../contracts/index.ts'
import type { Catalogue } from '../../catalogue/index.ts'
import type { Clock, Emitter, Ids, Log } from '../../kernel/index.ts'
import { insert, type Store, update, type Where } from '../../store/index.ts'
import { auditRow } from '../record/audit-row.ts'
import type { LastLook } from '../record/last-look.ts'
import { openArguments } from '../record/operation-row.ts'
import type { StorageAccess } from '../record/storage.ts'
import { type Ended, ended, queued, type Step } from '../record/transitions.ts'
import { auditOfAnswer } from './consent-audit.ts'
import type { Answerer } from './consent-decision.ts'
import { decidedRequests } from './decided-requests.ts'
import { liveGrants } from './live-grants.ts'
import { listed, openRequests } from './open-requests.ts'
import { voidAnswer, worthOf } from './request-worth.ts'
import { revokeGrants } from './revocation.ts'

/** A person's answer to what one operation asks for. */
export interface ConsentAnswer {
  readonly decision: 'allow' | 'deny'
  readonly lasting: Lasting
  /** Of one that lasts for a time: how long. */
  readonly minutes?: number | undefined
}

export type { Answerer }

/** Which grants are to be taken back. */
export interface GrantFilter {
  readonly id?: string | undefined
  readonly agent?: string | undefined
  readonly operation?: string | undefined
  /** Who gave them. */
  readonly by?: string | undefined
}

/** Where persons answer what agents' calls ask for, and take back what they allowed. */
export interface ConsentDesk {
  /** What waits for an answer, oldest first; of more than a thousand as many of each agent as of any other. */
  open(agent?: string): Promise<readonly ApprovalRow[]>
  /** One request, answered or not. Throws `NAME_UNKNOWN`. */
  request(operationId: string): Promise<ApprovalRow>
  /** The arguments it is about, as they were given, for whoever decides; nothing once they are forgotten. */
  argumentsOf(operationId: string): Promise<unknown>
  /** The first answer counts. Throws `REQUEST_REFUSED` when it has been answered, is over, or cannot be answered so. */
  answer(operationId: string, answer: ConsentAnswer, by: Answerer): Promise<void>
  /** What counts now, oldest first; a thousand at most. */
  grants(filter?: GrantFilter): Promise<readonly GrantRow[]>
  /** Takes grants back, from now on and for what waits; answers how many. */
  revoke(filter: GrantFilter, by: Answerer): Promise<number>
}

export interface ConsentDeskDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly emitter: Emitter
  readonly lastLook: Pick<LastLook, 'resultOf'>
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly log: Log
  readonly settings: Pick<Settings, 'grantHours' | 'operationDays' | 'retryMaxAgeMinutes'>
}

const ORGANISATION = 'default'
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Longer lists are nobody's to read. */
const MOST_GRANTS = 1_000

export function createConsentDesk(deps: ConsentDeskDeps): ConsentDesk {
  const { storage, clock, ids, emitter, lastLook, catalogue, log, settings } = deps
  const longestMs = settings.grantHours * HOUR_MS

  async function find(store: Store, id: string): Promise<ApprovalRow> {
    const row = await store.get('approvals', id)
    if (row) return row
    throw new AppError('NAME_UNKNOWN', `Nobody asked for consent to "${id}". See \`quartermaster approvals\`.`)
  }

  function expiryOf({ lasting, minutes }: ConsentAnswer, { expiresAt }: ApprovalRow, now: number): number {
    if (lasting === 'once') return expiresAt
    return now + (lasting === 'time' && minutes !== undefined ? Math.round(minutes * 60_000) : longestMs)
  }

  /** Cut short without a word, it would be taken for what was said. */
  function refuseTooLong({ id }: ApprovalRow, { lasting, minutes = 0 }: ConsentAnswer): void {
    if (lasting !== 'time' || minutes * 60_000 <= longestMs) return
    throw unfit(id, `An answer counts for ${settings.grantHours} hours at most (the setting "grantHours").`)
  }

  /** What the answer leaves behind: for each thing asked a grant of its own. A no to one call leaves none. */
  function grantsFor(request: ApprovalRow, answer: ConsentAnswer, by: Answerer, now: number): NewRow<'grants'>[] {
    const { decision, lasting } = answer
    if (decision === 'deny' && lasting === 'once') return []
    const single = lasting === 'once' ? { tool: request.tool, digest: request.digest } : {}
    return request.asks.map(({ operation, scope }) => ({
      id: ids.next('grant'),
      workspace: request.workspace,
      callerKind: request.callerKind,
      callerName: request.callerName,
      operation,
      scope,
      decision,
      lasting,
      ...single,
      askedFor: request.id,
      grantedBy: by.name,
      via: by.via,
      createdAt: now,
      expiresAt: expiryOf(answer, request, now),
    }))
  }

  function due(row: OperationRow, now: number): Step {
    const { error, attempts } = row
    const expiresAt = now + settings.retryMaxAgeMinutes * 60_000
    return queued(row, { dueAt: now, error, attempts, expiresAt }, now)
  }

  async function stepFor(row: OperationRow, { decision }: ConsentAnswer, now: number): Promise<Step> {
    if (decision === 'allow') return due(row, now)
    const error = new AppError('CONSENT_DENIED', `A person did not allow "${row.tool}".`, {
      details: { tool: row.tool },
    })
    const keepMs = row.ttlMs ?? settings.operationDays * DAY_MS
    // A no undoes nothing: what an earlier run had done is done.
    const result = await lastLook.resultOf(row)
    const end: Omit<Ended, 'result' | 'isTold'> = result
      ? { state: 'succeeded', outcome: 'succeeded', error: undefined }
      : { state: 'denied', outcome: undefined, error: error.toJSON() }
    return ended(row, { ...end, result, isTold: false }, { now, keepMs })
  }

  async function waiting(store: Store, request: ApprovalRow): Promise<OperationRow> {
    const row = await store.get('operations', request.id)
    if (row?.state === 'waitingForApproval') return row
    throw overAlready(request)
  }

  /** What waits for something else than would be run now gets no answer. A run finds that out as well, and ends it. */
  async function refuseVoid(store: Store, request: ApprovalRow, { lasting }: ConsentAnswer): Promise<void> {
    const worth = worthOf(request, catalogue.current())
    if (worth === 'unseen' && lasting !== 'once')
      throw unfit(request.id, `"${request.tool}" is not there now. Until it is, answer for this call only.`)
    if (worth === 'sound' || worth === 'unseen') return
    const now = Math.round(clock.now())
    const { writes, change } = due(await waiting(store, request), now)
    const close = { where: { id: request.id, state: 'open' as const }, set: { state: 'closed' as const } }
    const { committed } = await store.commit([update('approvals', { ...close, guard: 'approval.open' }), ...writes])
    if (!committed) throw overAlready(await find(store, request.id))
    emitter.emit('operation.changed', change)
    throw voidAnswer(request, worth)
  }

  /** The answer counts by now. What else it decides can be answered one by one where this fails. */
  async function decideOthers(store: Store, request: ApprovalRow, answer: ConsentAnswer, by: Answerer): Promise<void> {
    const { decision } = answer
    const options = { decision, generation: catalogue.current(), now: Math.round(clock.now()) }
    try {
      for await (const other of decidedRequests(store, request, options))
        await answered(store, other, answer, { by, grants: [] }).catch(unlessOver)
    } catch (error) {
      log.warn('what else an answer decides was left waiting', { error: messageOf(error) })
    }
  }

  async function answered(
    store: Store,
    request: ApprovalRow,
    answer: ConsentAnswer,
    { by, grants }: { readonly by: Answerer; readonly grants: readonly NewRow<'grants'>[] },
  ): Promise<void> {
    const now = Math.round(clock.now())
    const row = await waiting(store, request)
    const { writes, change } = await stepFor(row, answer, now)
    const line = auditOfAnswer(row, request, { ...answer, by }, now)
    const state = answer.decision === 'allow' ? ('allowed' as const) : ('denied' as const)
    const set = { state, answeredAt: now, answeredBy: by.name, via: by.via, lasting: answer.lasting }
    const { committed } = await store.commit([
      update('approvals', { where: { id: request.id, state: 'open' }, set, guard: 'approval.open' }),
      ...grants.map(grant => insert('grants', grant)),
      ...writes,
      insert('audit', auditRow(ids.next('audit'), line)),
    ])
    if (!committed) throw overAlready(await find(store, request.id))
    emitter.emit('approval.answered', { id: request.id, tool: request.tool, agent: request.callerName, state, by })
    emitter.emit('operation.changed', change)
  }

  function whereOf({ id, agent, operation, by }: GrantFilter): Where<'grants'> {
    return {
      organisation: ORGANISATION,
      revokedAt: null,
      expiresAt: { above: Math.round(clock.now()) },
      ...(id === undefined ? {} : { id }),
      ...(agent === undefined ? {} : { workspace: agent }),
      ...(operation === undefined ? {} : { operation }),
      ...(by === undefined ? {} : { grantedBy: by }),
    }
  }

  return {
    async open(agent) {
      const { store } = await storage.open()
      const open: ApprovalRow[] = []
      for await (const page of openRequests(store, agent === undefined ? {} : { workspace: agent })) open.push(...page)
      return listed(open)
    },
    async request(operationId) {
      return find((await storage.open()).store, operationId)
    },
    async argumentsOf(operationId) {
      const { store, sealer } = await storage.open()
      const row = await store.get('operations', operationId)
      return row && row.arguments !== null ? openArguments(row, sealer) : undefined
    },
    async answer(operationId, answer, by) {
      const { store } = await storage.open()
      const request = await find(store, operationId)
      if (request.state !== 'open') throw overAlready(request)
      refuseUnfit(request, answer, by)
      refuseTooLong(request, answer)
      await refuseVoid(store, request, answer)
      const grants = grantsFor(request, answer, by, Math.round(clock.now()))
      await answered(store, request, answer, { by, grants })
      if (answer.lasting !== 'once') await decideOthers(store, request, answer, by)
    },
    async grants(filter = {}) {
      const { store } = await storage.open()
      const found: GrantRow[] = []
      for await (const page of liveGrants(store, whereOf(filter))) {
        found.push(...page)
        if (found.length >= MOST_GRANTS) break
      }
      return found.slice(0, MOST_GRANTS)
    },
    async revoke(filter, by) {
      const { store } = await storage.open()
      const count = await revokeGrants(store, { where: whereOf(filter), by, now: Math.round(clock.now()), ids })
      const { by: grantedBy, ...asked } = filter
      if (count > 0) emitter.emit('grants.revoked', { ...asked, grantedBy, by: by.name, count })
      return count
    },
  }
}

/** Somebody else was faster. */
function unlessOver(error: unknown): void {
  if (!isAppError(error) || error.code !== 'REQUEST_REFUSED') throw error
}

/** An answer that lasts must not be given to what may be allowed once only, nor any but one for now on a client's word. */
function refuseUnfit(
  { id, asks }: ApprovalRow,
  { decision, lasting, minutes }: ConsentAnswer,
  { via }: Answerer,
): void {
  if (decision === 'allow' && lasting !== 'once') refuseLasting(id, asks)
  if (via === 'client' && (lasting !== 'once' || asks.some(({ weight }) => weight === 'high')))
    throw unfit(id, 'A client’s word counts for one call, and for nothing of high weight.')
  if (lasting === 'time' && (minutes === undefined || !(minutes > 0))) throw unfit(id, 'Say for how many minutes.')
}

function refuseLasting(id: string, asks: readonly ConsentAsk[]): void {
  const single = asks.filter(({ grantable }) => grantable === 'once').map(({ operation }) => `"${operation}"`)
  if (single.length > 0) throw unfit(id, `${single.join(', ')} can be allowed for this call only.`)
}

function unfit(operationId: string, why: string): AppError {
  return new AppError('REQUEST_REFUSED', `"${operationId}" cannot be answered so. ${why}`, { details: { operationId } })
}

function overAlready({ id, state, answeredBy }: ApprovalRow): AppError {
  const how = answeredBy === null ? 'It is over.' : `It was ${state} by ${answeredBy}.`
  return new AppError('REQUEST_REFUSED', `"${id}" is not waiting for an answer any more. ${how}`, {
    details: { operationId: id, state },
  })
}
