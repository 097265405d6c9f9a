import type { DelegationState } from '../../contracts/index.ts'

/** What can happen to a delegation once it is there. */
export type DelegationEvent =
  /** The peer has room for it. */
  | 'promote'
  /** The peer was handed it. */
  | 'take'
  /** The peer says how it goes. */
  | 'progress'
  /** The peer has said nothing for so long that it is to be handed it again. */
  | 'handBack'
  | 'complete'
  | 'fail'
  | 'cancel'
  /** Its deadline has come. */
  | 'expire'
  /** The workspace of one of the two is archived. */
  | 'archive'

export const DELEGATION_EVENTS: readonly DelegationEvent[] = [
  'promote',
  'take',
  'progress',
  'handBack',
  'complete',
  'fail',
  'cancel',
  'expire',
  'archive',
]

/** Where it goes; or why it stays: it is over, or this cannot happen to one that is there. */
export type Step = { readonly to: DelegationState } | { readonly refused: 'ended' | 'unfit' }

/** The states of one that takes a place of its peer's capacity. */
export const HELD_STATES = ['pending', 'in_progress'] as const
export const OPEN_STATES = ['queued', ...HELD_STATES] as const

const ENDS = { cancel: 'cancelled', expire: 'expired', archive: 'failed', fail: 'failed' } as const

const TABLE: Readonly<Partial<Record<DelegationState, Partial<Record<DelegationEvent, DelegationState>>>>> = {
  queued: { promote: 'pending', ...ENDS },
  pending: { take: 'in_progress', progress: 'in_progress', complete: 'completed', ...ENDS },
  in_progress: { progress: 'in_progress', handBack: 'in_progress', complete: 'completed', ...ENDS },
}

/** The one place that decides what becomes of a delegation. */
export function nextStep(state: DelegationState, event: DelegationEvent): Step {
  const row = TABLE[state]
  if (!row) return { refused: 'ended' }
  const to = row[event]
  return to === undefined ? { refused: 'unfit' } : { to }
}

export function isOpen(state: DelegationState): boolean {
  return TABLE[state] !== undefined
}
