import type { PinKind, PinRow } from '../../contracts/index.ts'
import { insert, mustExist, remove, update, type Write } from '../store/index.ts'
import { NOTHING_BEFORE, type PinWrite } from './judge.ts'
import type { SecondFinding } from './second-look.ts'

/** What a person has decided about things that wait. */
export interface Decision {
  readonly upstream: string
  /** By their hashes, so that it counts only for what the person has seen. */
  readonly items: readonly { readonly kind: PinKind; readonly name: string; readonly hash: string }[]
  readonly decision: 'accept' | 'reject'
  /** Who. */
  readonly by: string
}

/** Not over the head of a person who has decided meanwhile. */
export function toChange({ before: { id, hash, state }, findings, state: next }: SecondFinding): Write {
  const where = { id, hash, state, decidedAt: null }
  return update('pins', { where, set: { findings: [...findings], state: next }, guard: 'pin.unchanged' })
}

/** Guarded by what the decision was made on, so that two processes never overwrite each other. */
export function toWrite(write: PinWrite): Write {
  if (write.kind === 'add') return insert('pins', write.pin, 'pin.new')
  const { id, hash, state } = write.before
  const where = { id, hash, state }
  if (write.kind === 'drop') return remove('pins', { where, guard: 'pin.unchanged' })
  const { offeredAs: _as, offeredSince: _since, ...seen } = write.pin
  // Names are claimed beside this, and only what the server lists no more loses its own by it.
  return update('pins', { where, set: write.pin.listed ? seen : write.pin, guard: 'pin.unchanged' })
}

/** A verdict that changes nothing would otherwise outlive a decision that was made while it was found. */
export function toCheck({ id, hash, state }: PinRow): Write {
  return mustExist('pins', { id, hash, state }, 'pin.unchanged')
}

export function decided({ id, hash, state }: PinRow, { decision, by }: Decision, now: number): Write {
  const decidedFacts = { decidedAt: now, decidedBy: by }
  const set =
    decision === 'accept'
      ? { ...decidedFacts, ...NOTHING_BEFORE, state: 'accepted' as const }
      : { ...decidedFacts, state: 'rejected' as const }
  return update('pins', { where: { id, hash, state }, set, guard: 'pin.unchanged' })
}
