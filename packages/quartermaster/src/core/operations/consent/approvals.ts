import {
  type ApprovalRow,
  type AuditEntry,
  type ConsentAsk,
  type GrantRow,
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
import { byWhom, type Consent, type ConsentDecision } from './consent-decision.ts'
import { type Answerer, type ConsentAnswer } from './grants.ts'
import { consentWrites, createPendingLimit, equalRequests } from './requests.ts'

/** A call that is not allowed yet. */
export interface UnallowedCall {
  readonly record: OperationRecord
  readonly asks: readonly ConsentAsk[]
  readonly deadline: { race<T>(work: Promise<T>): Promise<T> }
  /** How long its caller waits. */
  readonly budgetMs: number
}

/** Asks people about calls, and waits for the answer as long as the caller does. */
export interface Approvals {
  /** Records a call as waiting, and asks. `known` when the idempotency key is recorded already. Throws `LIMIT_EXCEEDED`. */
  open(call: UnallowedCall): Promise<'begun' | 'known'>
  /**
   * Asks again about a queued operation that is no longer allowed, without extending its expiry; the earlier answer goes to the
   * audit. Does nothing where another process has changed the operation.
   */
  reopen(row: OperationRow, asks: readonly ConsentAsk[]): Promise<void>
  /**
   * The state of the operation once it no longer waits, or nothing when the caller has waited long enough. Rejects with the
   * deadline. Holds the operation until `release`, however this ends: the queue must not run an operation that its caller is
   * about to cancel.
   */
  waitForAnswer(call: UnallowedCall): Promise<OperationState | undefined>
  /** Shortens how long the caller waits from now on. */
  limitWait(id: string, budgetMs: number): void
  /** Leases an allowed operation for its waiting caller; nothing when another process was faster. */
  leaseAllowed(
    id: string,
    allowed: Extract<ConsentDecision, { kind: 'allowed' }>,
  ): Promise<OperationSnapshot | undefined>
  /** The caller does not wait any more. */
  release(id: string): void
  /** Holds an operation without waiting; returns how to release it. */
  hold(id: string): () => void
  /** Whether a caller in this process waits for the operation: only that caller runs it and gets its result. */
  isHeld(id: string): boolean
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

/** A caller that waits. */
interface Waiter {
  /** Ends the wait: with the new state, or with nothing after a timeout. */
  end(state: OperationState | undefined): void
  limit(ms: number): void
}

const NO_WAITER: Waiter = { end() {}, limit() {} }

const HOUR_MS = 3_600_000

export function createApprovals(deps: ApprovalsDeps): Approvals {
  const { storage, clock, ids, emitter, operations, owner, settings } = deps
  const withinLimit = createPendingLimit(storage, settings)
  const held = new Map<string, Waiter>()
  emitter.on('operation.changed', ({ id, from, to }) => {
    // Changes by other processes have no `from`; the waiting caller checks the state.
    if (from === 'waitingForApproval' || (from === undefined && to !== 'waitingForApproval')) held.get(id)?.end(to)
  })

  async function waitFor(
    id: string,
    budgetMs: number,
    deadline: UnallowedCall['deadline'],
  ): Promise<OperationState | undefined> {
    const timers = new Set<Cancel>()
    let isOver = false
    const next = new Promise<OperationState | undefined>(end => {
      const limit = (ms: number) => {
        // The operation stays held after the wait, so `limitWait` may come late.
        if (!isOver) timers.add(clock.after(ms, () => end(undefined)))
      }
      held.set(id, { end, limit })
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

  /** Whether no equal call waits that people were notified of already; yes where that cannot be read. */
  async function isFirst(request: Parameters<typeof equalRequests>[1] & { readonly id: string }): Promise<boolean> {
    const { store } = await storage.open()
    const [first] = await equalRequests(store, request).catch(() => [])
    return first === undefined || first.id === request.id
  }

  /** Opens the request of an operation again. A lasting grant may have allowed it at first, so there may be none yet. */
  function reopenWrite(
    row: OperationRow,
    before: ApprovalRow | undefined,
    again: Pick<ApprovalRow, 'asks' | 'expiresAt'>,
  ) {
    const open = { ...again, state: 'open' as const, createdAt: Math.round(clock.now()) }
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
      const consent = before && consentOf(before)
      const line = auditOfRow(row, { at: now, outcome: 'notRun', code: 'CONSENT_REQUIRED', consent })
      const { writes, change } = askedAgain(row, { expiresAt }, now)
      const { committed } = await store.commit([
        ...writes,
        reopenWrite(row, before, { asks: [...asks], expiresAt }),
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
      const request = {
        ...{ id, ...callerColumns(caller), tool, definitionHash, digest, asks: [...asks] },
        createdAt: now,
        expiresAt: now + settings.approvalHours * HOUR_MS,
      }
      const begun = await withinLimit(caller, () =>
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
      const lease = leased(row, { owner, until: now + settings.leaseSeconds * 1000 }, now)
      if (!(await commitLease(store, lease, { id, more: consentWrites(grants, id, now) }))) return undefined
      emitter.emit('operation.changed', lease.change)
      return { ...row, ...lease.after } satisfies OperationRow
    },
    release: id => void held.delete(id),
    hold(id) {
      if (held.has(id)) return () => {}
      held.set(id, NO_WAITER)
      return () => void held.delete(id)
    },
    isHeld: id => held.has(id),
    held: () => [...held.keys()],
  }
}

const UNANSWERED = { answeredAt: null, answeredBy: null, via: null, lasting: null } as const

function consentOf({ asks, answeredBy, via }: ApprovalRow): Consent | undefined {
  if (answeredBy === null || via === null) return undefined
  return { operations: asks.map(({ operation }) => operation), by: byWhom({ via, name: answeredBy }) }
}

/** The audit line of a person's answer. */
export function auditOfAnswer(
  row: OperationRow,
  { asks }: ApprovalRow,
  { decision, lasting, by }: ConsentAnswer & { readonly by: Answerer },
  at: number,
) {
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
    // Revoking an allowance refuses the operation; revoking a denial lets it be asked for again.
    decision: grant.decision === 'allow' ? 'refused' : 'allowed',
    outcome: 'notRun',
    code: 'GRANT_REVOKED',
    consent: { operations: [grant.operation], by, lasting: grant.lasting },
    mutates: false,
    durationMs: 0,
  }
}
