import type { ConsentAsk, OperationRow, OperationState, Settings } from '../../../contracts/index.ts'
import type { Clock, Emitter } from '../../kernel/index.ts'
import type { Deadline } from '../path/deadline.ts'
import type { OperationLog, OperationRecord } from '../record/operation-log.ts'
import type { Standing } from '../record/standing.ts'
import type { StorageAccess } from '../record/storage.ts'
import { leased } from '../record/transitions.ts'
import type { ConsentDecision } from './consent-decision.ts'
import { consentWrites } from './consent-writes.ts'

/** A call that nobody has allowed yet. */
export interface UnallowedCall {
  readonly record: OperationRecord
  readonly asks: readonly ConsentAsk[]
  readonly deadline: Deadline
  /** How long its caller waits. */
  readonly budgetMs: number
}

/** Has persons asked about calls, and waits with those for as long as their callers do. */
export interface Approvals {
  /** Puts a call on record as one that waits, and asks. `known` when the caller's key is on record already. */
  open(call: UnallowedCall): Promise<'begun' | 'known'>
  /** The state it is in when it no longer waits, or nothing when the caller's patience is over. Rejects with the deadline. */
  next(call: UnallowedCall): Promise<OperationState | undefined>
  /** Takes what was allowed, for a caller who still waits; nothing when somebody else was faster. */
  take(id: string, allowed: Extract<ConsentDecision, { kind: 'allowed' }>): Promise<Standing | undefined>
  /** The caller does not take it. */
  leave(id: string): void
  /** Whether a caller waits for it here: then it is left to that. */
  isHeld(id: string): boolean
}

export interface ApprovalsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly emitter: Emitter
  readonly operations: Pick<OperationLog, 'park'>
  readonly owner: string
  readonly settings: Pick<Settings, 'approvalHours' | 'leaseSeconds'>
}

const HOUR_MS = 3_600_000

export function createApprovals({ storage, clock, emitter, operations, owner, settings }: ApprovalsDeps): Approvals {
  const held = new Map<string, (state: OperationState) => void>()
  emitter.on('operation.changed', ({ id, from, to }) => {
    if (from === 'waitingForApproval') held.get(id)?.(to)
  })

  async function waitFor(id: string, budgetMs: number, deadline: Deadline): Promise<OperationState | undefined> {
    let cancelTimer = () => {}
    const next = new Promise<OperationState | undefined>(resolve => {
      held.set(id, resolve)
      cancelTimer = clock.after(budgetMs, () => resolve(undefined))
    })
    try {
      // Somebody may have answered before anybody listened.
      const { store } = await storage.open()
      const { state } = (await store.get('operations', id)) ?? {}
      return state === 'waitingForApproval' ? await deadline.race(next) : state
    } finally {
      cancelTimer()
    }
  }

  return {
    async open({ record, asks }) {
      const { id, caller, tool, definitionHash, digest } = record
      const now = Math.round(clock.now())
      const expiresAt = now + settings.approvalHours * HOUR_MS
      const { workspace, kind: callerKind, name: callerName } = caller
      const whose = { id, workspace, callerKind, callerName }
      const begun = await operations.park(record, {
        ...whose,
        tool,
        definitionHash,
        digest,
        asks: [...asks],
        state: 'open',
        createdAt: now,
        expiresAt,
      })
      if (begun === 'begun') emitter.emit('approval.opened', { id, tool, agent: callerName })
      return begun
    },
    async next({ record: { id }, deadline, budgetMs }) {
      try {
        const state = await waitFor(id, budgetMs, deadline)
        // What is allowed stays held until it is taken; all else is nobody's here any more.
        if (state !== 'queued') held.delete(id)
        return state
      } catch (error) {
        held.delete(id)
        throw error
      }
    },
    async take(id, { grants }) {
      const { store } = await storage.open()
      try {
        const row = await store.get('operations', id)
        if (row?.state !== 'queued') return undefined
        const now = Math.round(clock.now())
        const terms = { owner, until: now + settings.leaseSeconds * 1000 }
        const { writes, change, after } = leased(row, terms, now)
        const { committed } = await store.commit([...writes, ...consentWrites(grants, id, now)])
        if (!committed) return undefined
        emitter.emit('operation.changed', change)
        return { ...row, ...after } satisfies OperationRow
      } finally {
        held.delete(id)
      }
    },
    leave: id => void held.delete(id),
    isHeld: id => held.has(id),
  }
}
