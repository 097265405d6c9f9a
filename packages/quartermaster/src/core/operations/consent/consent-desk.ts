import {
  type AnsweredVia,
  AppError,
  type ApprovalRow,
  type ConsentAsk,
  type GrantRow,
  type Lasting,
  type NewRow,
  type OperationRow,
  type Settings,
} from '../../../contracts/index.ts'
import type { Clock, Emitter, Ids } from '../../kernel/index.ts'
import { insert, type Store, update, type Where, type Write } from '../../store/index.ts'
import { auditRow } from '../record/audit-row.ts'
import { openArguments } from '../record/operation-row.ts'
import type { StorageAccess } from '../record/storage.ts'
import { ended, queued, type Step } from '../record/transitions.ts'
import { auditOfRow } from '../record/waited-audit.ts'
import { byWhom, type Consent } from './consent-decision.ts'

/** A person's answer to what one operation asks for. */
export interface ConsentAnswer {
  readonly decision: 'allow' | 'deny'
  readonly lasting: Lasting
  /** Of one that lasts for a time: how long. */
  readonly minutes?: number | undefined
}

/** Who answers. */
export interface Answerer {
  readonly name: string
  readonly via: AnsweredVia
}

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
  /** What waits for an answer, oldest first. */
  open(agent?: string): Promise<readonly ApprovalRow[]>
  /** One request, answered or not. Throws `NAME_UNKNOWN`. */
  request(operationId: string): Promise<ApprovalRow>
  /** The arguments it is about, as they were given, for whoever decides; nothing once they are forgotten. */
  argumentsOf(operationId: string): Promise<unknown>
  /** The first answer counts. Throws `REQUEST_REFUSED` when it has been answered, is over, or cannot be answered so. */
  answer(operationId: string, answer: ConsentAnswer, by: Answerer): Promise<void>
  /** What counts now. */
  grants(filter?: GrantFilter): Promise<readonly GrantRow[]>
  /** Takes grants back, from now on and for what waits; answers how many. */
  revoke(filter: GrantFilter, by: string): Promise<number>
}

export interface ConsentDeskDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly emitter: Emitter
  readonly settings: Pick<Settings, 'grantHours' | 'operationDays' | 'retryMaxAgeMinutes'>
}

const ORGANISATION = 'default'
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MOST = 1_000

export function createConsentDesk({ storage, clock, ids, emitter, settings }: ConsentDeskDeps): ConsentDesk {
  const longestMs = settings.grantHours * HOUR_MS

  async function find(store: Store, id: string): Promise<ApprovalRow> {
    const row = await store.get('approvals', id)
    if (row) return row
    throw new AppError('NAME_UNKNOWN', `Nobody asked for consent to "${id}". See \`quartermaster approvals\`.`)
  }

  function expiryOf({ lasting, minutes }: ConsentAnswer, { expiresAt }: ApprovalRow, now: number): number {
    if (lasting === 'once') return expiresAt
    const wanted = lasting === 'time' && minutes !== undefined ? Math.round(minutes * 60_000) : longestMs
    return now + Math.min(wanted, longestMs)
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

  function stepFor(
    row: OperationRow,
    { decision }: ConsentAnswer,
    consent: Consent,
    now: number,
  ): Step & { line?: Write } {
    if (decision === 'allow') {
      const { error, attempts } = row
      const expiresAt = now + settings.retryMaxAgeMinutes * 60_000
      return queued(row, { dueAt: now, error, attempts, expiresAt }, now)
    }
    const error = new AppError('CONSENT_DENIED', `A person did not allow "${row.tool}".`, {
      details: { tool: row.tool },
    })
    const keepMs = row.ttlMs ?? settings.operationDays * DAY_MS
    const end = {
      state: 'denied',
      outcome: undefined,
      result: undefined,
      error: error.toJSON(),
      isTold: false,
    } as const
    const line = auditOfRow(row, { at: now, outcome: 'notRun', code: error.code, consent })
    return { ...ended(row, end, { now, keepMs }), line: insert('audit', auditRow(ids.next('audit'), line)) }
  }

  async function answered(store: Store, request: ApprovalRow, answer: ConsentAnswer, by: Answerer): Promise<void> {
    const now = Math.round(clock.now())
    const row = await store.get('operations', request.id)
    if (!row || row.state !== 'waitingForApproval') throw overAlready(request)
    const consent = { operations: request.asks.map(({ operation }) => operation), by: byWhom(by) }
    const { writes, change, line } = stepFor(row, answer, consent, now)
    const state = answer.decision === 'allow' ? ('allowed' as const) : ('denied' as const)
    const set = { state, answeredAt: now, answeredBy: by.name, via: by.via, lasting: answer.lasting }
    const { committed } = await store.commit([
      update('approvals', { where: { id: request.id, state: 'open' }, set, guard: 'approval.open' }),
      ...grantsFor(request, answer, by, now).map(grant => insert('grants', grant)),
      ...writes,
      ...(line ? [line] : []),
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
      const whose = agent === undefined ? {} : { workspace: agent }
      const where = { organisation: ORGANISATION, state: 'open' as const, ...whose }
      return store.find('approvals', { where, order: { by: ['createdAt', 'id'] }, limit: MOST })
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
      await answered(store, request, answer, by)
    },
    async grants(filter = {}) {
      const { store } = await storage.open()
      const rows = await store.find('grants', { where: whereOf(filter), limit: MOST })
      return rows.filter(({ usedBy }) => usedBy === null)
    },
    async revoke(filter, by) {
      const { store } = await storage.open()
      const set = { revokedAt: Math.round(clock.now()), revokedBy: by }
      const outcome = await store.commit([update('grants', { where: whereOf(filter), set, rows: 'any' })])
      const count = outcome.committed ? (outcome.rows[0] ?? 0) : 0
      if (count > 0) emitter.emit('grants.revoked', { ...filter, by, count })
      return count
    },
  }
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
