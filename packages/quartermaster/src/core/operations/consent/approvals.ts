import {
  type ApprovalRow,
  type AuditEntry,
  type ConsentAsk,
  type GrantRow,
  type Lasting,
  type OperationRow,
  type OperationState,
  type Settings,
} from '../../../contracts/index.ts'
import { type Cancel, type Clock, type Emitter, type Ids } from '../../kernel/index.ts'
import { insert, update } from '../../store/index.ts'
import { auditOfRow, auditRow } from '../record/audit.ts'
import { type OperationLog, type OperationRecord } from '../record/operation-log.ts'
import {
  callerColumns,
  callerColumnsOf,
  callerOf,
  type OperationSnapshot,
  type StorageAccess,
} from '../record/operation-storage.ts'
import { askedAgain, commitLease, leased } from '../record/transitions.ts'
import { type Answerer, byWhom, type Consent, type ConsentDecision } from './consent-decision.ts'
import { consentWrites, createPendingLimit, equalRequests } from './requests.ts'

/** What ends the waiting together with the call. */
interface Bound {
  race<T>(work: Promise<T>): Promise<T>
}

/** A call that is not allowed yet. */
export interface UnallowedCall {
  readonly record: OperationRecord
  readonly asks: readonly ConsentAsk[]
  readonly deadline: Bound
  /** How long its caller waits. */
  readonly budgetMs: number
}

/** Has persons asked about calls, and waits with those for as long as their callers do. */
export interface Approvals {
  /** Records a call as waiting, and asks. `known` when the caller's key is on record already. Throws `LIMIT_EXCEEDED`. */
  open(call: UnallowedCall): Promise<'begun' | 'known'>
  /**
   * Asks again about a queued operation that is not allowed any more, as long as it may wait at all; the earlier answer goes to
   * the audit. Another process may have changed the operation meanwhile: then nothing is asked.
   */
  reopen(row: OperationRow, asks: readonly ConsentAsk[]): Promise<void>
  /**
   * The state of the operation when it no longer waits, or nothing when the caller's patience is over. Rejects with the
   * deadline. The operation is held from then on, however this ends, until its caller leaves it: an operation that is being
   * cancelled must not be run meanwhile.
   */
  waitForAnswer(call: UnallowedCall): Promise<OperationState | undefined>
  /** Limits how long the caller waits from now on, where it would wait longer. */
  limitWait(id: string, budgetMs: number): void
  /** Takes an allowed operation for a caller who still waits; nothing when another process was faster. */
  leaseAllowed(
    id: string,
    allowed: Extract<ConsentDecision, { kind: 'allowed' }>,
  ): Promise<OperationSnapshot | undefined>
  /** The caller does not wait for it any more, and takes nothing. */
  release(id: string): void
  /** The result is received here until this is called. */
  hold(id: string): () => void
  /** Whether a caller waits for it here: then it is left to that, to run and to hear of. */
  isHeld(id: string): boolean
  /** All that callers wait for here. */
  held(): readonly string[]
}

interface ApprovalsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly emitter: Emitter
  readonly operations: Pick<OperationLog, 'park'>
  readonly owner: string
  readonly settings: Pick<Settings, 'approvalHours' | 'approvalsPerAgent' | 'leaseSeconds'>
}

/** A caller who waits. */
interface Waiting {
  /** It waits no more: it is in this state, or patience is over. */
  over(state: OperationState | undefined): void
  /** It waits for this long from now on at most. */
  limit(ms: number): void
}

/** The result is received here without a waiting caller. */
const NO_CALLER: Waiting = { over() {}, limit() {} }

const HOUR_MS = 3_600_000

export function createApprovals(deps: ApprovalsDeps): Approvals {
  const { storage, clock, ids, emitter, operations, owner, settings } = deps
  const room = createPendingLimit(deps)
  const held = new Map<string, Waiting>()
  emitter.on('operation.changed', ({ id, from, to }) => {
    // A change in another process comes without its beginning. A caller that waits here checks the state.
    if (from === 'waitingForApproval' || (from === undefined && to !== 'waitingForApproval')) held.get(id)?.over(to)
  })

  async function waitFor(id: string, budgetMs: number, deadline: Bound): Promise<OperationState | undefined> {
    const timers = new Set<Cancel>()
    let isOver = false
    const next = new Promise<OperationState | undefined>(over => {
      const limit = (ms: number) => {
        // The operation is held until its caller leaves it, and `hurry` may come late.
        if (!isOver) timers.add(clock.after(ms, () => over(undefined)))
      }
      held.set(id, { over, limit })
      limit(budgetMs)
    })
    try {
      // The answer may have come before there was a listener.
      const { store } = await storage.open()
      const { state } = (await store.get('operations', id)) ?? {}
      return state === 'waitingForApproval' ? await deadline.race(next) : state
    } finally {
      isOver = true
      for (const cancel of timers) cancel()
    }
  }

  /** Whether no equal call waits that people were notified of already. A call that cannot be looked up is announced. */
  async function isFirst(request: Parameters<typeof equalRequests>[1] & { readonly id: string }): Promise<boolean> {
    const { store } = await storage.open()
    const [first] = await equalRequests(store, request).catch(() => [])
    return first === undefined || first.id === request.id
  }

  /** The request about one operation, opened again or for the first time: a lasting yes may have come before any. */
  function reopened(
    row: OperationRow,
    before: ApprovalRow | undefined,
    again: Pick<ApprovalRow, 'asks' | 'expiresAt'>,
  ) {
    const createdAt = Math.round(clock.now())
    const open = { ...again, state: 'open' as const, createdAt }
    const { id, tool, definitionHash, digest } = row
    if (!before) return insert('approvals', { id, ...callerColumnsOf(row), tool, definitionHash, digest, ...open })
    const where = { id, state: before.state }
    return update('approvals', { where, set: { ...open, ...UNANSWERED }, guard: 'approval.answered' })
  }

  return {
    async reopen(row, asks) {
      const { store } = await storage.open()
      const { id, tool, organisation, callerName: agent } = row
      const now = Math.round(clock.now())
      const expiresAt = Math.min(row.expiresAt ?? Number.POSITIVE_INFINITY, now + settings.approvalHours * HOUR_MS)
      const before = await store.get('approvals', id)
      const line = auditOfRow(row, {
        at: now,
        outcome: 'notRun',
        code: 'CONSENT_REQUIRED',
        consent: before && consentOf(before),
      })
      const { writes, change } = askedAgain(row, { expiresAt }, now)
      const { committed } = await store.commit([
        ...writes,
        reopened(row, before, { asks: [...asks], expiresAt }),
        insert('audit', auditRow(ids.next('audit'), line)),
      ])
      if (!committed) return
      emitter.emit('operation.changed', change)
      emitter.emit('approval.opened', { id, tool, organisation, agent })
      emitter.emit('call.settled', line)
    },
    async open({ record, asks, budgetMs }) {
      const { id, caller, tool, definitionHash, digest } = record
      const now = Math.round(clock.now())
      const expiresAt = now + settings.approvalHours * HOUR_MS
      const request = {
        id,
        ...callerColumns(caller),
        tool,
        definitionHash,
        digest,
        asks: [...asks],
        createdAt: now,
        expiresAt,
      }
      const begun = await room.enter(caller, () =>
        operations.park(record, { ...request, state: 'open' }, now + budgetMs),
      )
      const { organisation, name: agent } = caller
      if (begun === 'begun' && (await isFirst(request)))
        emitter.emit('approval.opened', { id, tool, organisation, agent })
      return begun
    },
    waitForAnswer: ({ record: { id }, deadline, budgetMs }) => waitFor(id, budgetMs, deadline),
    limitWait(id, budgetMs) {
      held.get(id)?.limit(budgetMs)
    },
    async leaseAllowed(id, { grants }) {
      const { store } = await storage.open()
      const row = await store.get('operations', id)
      if (row?.state !== 'queued') return undefined
      const now = Math.round(clock.now())
      const terms = { owner, until: now + settings.leaseSeconds * 1000 }
      const lease = leased(row, terms, now)
      if (!(await commitLease(store, lease, { id, more: consentWrites(grants, id, now) }))) return undefined
      emitter.emit('operation.changed', lease.change)
      return { ...row, ...lease.after } satisfies OperationRow
    },
    release: id => void held.delete(id),
    hold(id) {
      if (held.has(id)) return () => {}
      held.set(id, NO_CALLER)
      return () => void held.delete(id)
    },
    isHeld: id => held.has(id),
    held: () => [...held.keys()],
  }
}

const UNANSWERED = { answeredAt: null, answeredBy: null, via: null, lasting: null } as const

/** Who answered it. */
function consentOf({ asks, answeredBy, via }: ApprovalRow): Consent | undefined {
  if (answeredBy === null || via === null) return undefined
  return { operations: asks.map(({ operation }) => operation), by: byWhom({ via, name: answeredBy }) }
}

/** What was said about a request. */
interface Said {
  readonly decision: 'allow' | 'deny'
  readonly lasting: Lasting
  readonly by: Answerer
}

/** What the audit says about a person's answer, in the commit that makes it count. */
export function auditOfAnswer(row: OperationRow, { asks }: ApprovalRow, { decision, lasting, by }: Said, at: number) {
  const consent = { operations: asks.map(({ operation }) => operation), by: byWhom(by), lasting }
  const line = auditOfRow(row, { at, outcome: 'notRun', code: ANSWER_CODES[decision], consent })
  return decision === 'allow' ? ({ ...line, decision: 'allowed' } as const) : line
}

const ANSWER_CODES = { allow: 'CONSENT_ALLOWED', deny: 'CONSENT_DENIED' } as const

/** The audit line of a grant that a person revoked. */
export function auditOfRevocation(grant: GrantRow, { by, tool }: { by: string; tool: string }, at: number): AuditEntry {
  return {
    at,
    operationId: grant.askedFor ?? grant.id,
    caller: callerOf(grant),
    tool: grant.tool ?? tool,
    digest: grant.digest ?? '',
    // What was allowed is not any more; what was forbidden may be asked for again.
    decision: grant.decision === 'allow' ? 'refused' : 'allowed',
    outcome: 'notRun',
    code: 'GRANT_REVOKED',
    consent: { operations: [grant.operation], by, lasting: grant.lasting },
    mutates: false,
    durationMs: 0,
  }
}
