import {
  type DelegationChange,
  type DelegationRow,
  MOST_OPEN_DELEGATIONS,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import type { Clock, Ids } from '../kernel/index.ts'
import { type Attachments, type MessageDraft, type Messages, TASK_GUARD, taskBusy } from '../messages/index.ts'
import type { Organisation } from '../organisation/index.ts'
import { mustNotExist, type Store, update, type Write } from '../store/index.ts'
import { filesOf } from './files.ts'
import { type DelegationEvent, HELD_STATES, isOpen, nextStep } from './machine.ts'
import { deliver, type Sides } from './notices.ts'
import { ended, unknownTask } from './words.ts'

export interface LedgerDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly messages: Pick<Messages, 'sending' | 'inbox'>
  readonly organisation: Pick<Organisation, 'workspaces' | 'presence'>
  readonly attachments: Attachments
  /** A step is on record. */
  tell(change: DelegationChange): void
}

/** What a step adds to the state. */
export interface StepParts {
  readonly set?: Partial<DelegationRow>
  readonly drafts?: readonly MessageDraft[]
  readonly writes?: readonly Write[]
}

/** How a step is made. */
export interface StepHow {
  parts(now: DelegationRow, at: number): Promise<StepParts>
  isDone?(now: DelegationRow): boolean | Promise<boolean>
}

/** What is on record of the delegations, and how it changes: one guarded commit for each step. */
export interface Ledger {
  get(organisation: string, id: string): Promise<DelegationRow | undefined>
  sides(row: DelegationRow): Promise<Sides>
  /**
   * One step, by what counts when it is written: `parts` is asked anew whenever the row has changed meanwhile. Throws
   * `DELEGATION_ENDED` for one that is over, and answers the row as it is where the event changes nothing, or where `isDone`
   * finds that somebody else has done the same.
   */
  step(row: DelegationRow, event: DelegationEvent, how: StepHow): Promise<DelegationRow>
  /** What hands it to the peer, with its files. */
  delivery(row: DelegationRow, peer: WorkspaceRow, at: number): Promise<Delivery>
  /** The lowest place of this peer that is free, as if the one that is about to be left were; nothing when it is at its capacity. */
  freeSlot(peer: WorkspaceRow, leaving?: number): Promise<number | undefined>
  /** Hands the peer what waits for it, as far as it has room. */
  advance(organisation: string, peerId: string): Promise<void>
}

export interface Delivery {
  readonly draft: MessageDraft
  readonly writes: readonly Write[]
}

/** Each failed try means that somebody else has come further. */
const TRIES = 50

export function createLedger(deps: LedgerDeps): Ledger {
  const { store, clock, messages, attachments, tell } = deps
  const { workspaces } = deps.organisation

  async function get(organisation: string, id: string): Promise<DelegationRow | undefined> {
    const row = ID.test(id) ? await store.get('delegations', id) : undefined
    return row?.organisation === organisation ? row : undefined
  }

  async function sides({ organisation, fromId, toId }: DelegationRow): Promise<Sides> {
    const [asker, peer] = await Promise.all([
      workspaces.find(organisation, fromId),
      workspaces.find(organisation, toId),
    ])
    return { asker, peer }
  }

  function tellOf(
    { organisation, id, fromName: from, toName: to }: DelegationRow,
    before: DelegationRow['state'],
    state: DelegationRow['state'],
    at: number,
  ): void {
    tell({ organisation, id, from, to, before, state, at })
  }

  /** What waits longest for this peer, with what hands it over in a place that is free, or is left with the same commit. */
  async function promotion(
    organisation: string,
    toId: string,
    { at, leaving }: { at: number; leaving?: number },
  ): Promise<Promotion | undefined> {
    // What is due already is about to end, and nobody should begin with it.
    const where = { organisation, toId, state: 'queued', deadlineAt: { above: at } } as const
    const [row] = await store.find('delegations', { where, order: { by: ['createdAt', 'id'] }, limit: 1 })
    const peer = row && (await workspaces.find(organisation, toId))
    if (!row || peer?.status !== 'active') return undefined
    const slot = await freeSlot(peer, leaving)
    const step = nextStep(row.state, 'promote')
    if (slot === undefined || !('to' in step)) return undefined
    const { draft, writes } = await delivery(row, peer, at)
    const set = { state: step.to, slot, updatedAt: at, version: row.version + 1 }
    return {
      row,
      drafts: [draft],
      writes: [
        mustNotExist('delegations', { toId, slot }, 'delegation.slot'),
        update('delegations', { where: { id: row.id, version: row.version }, set, guard: 'delegation.next' }),
        ...writes,
      ],
    }
  }

  /** The files of a task stay for as long as the peer's log has it. */
  async function delivery(row: DelegationRow, peer: WorkspaceRow, at: number): Promise<Delivery> {
    const draft = deliver(row, peer, at)
    const ids = row.attachments.map(({ id }) => id)
    const asker = { organisation: row.organisation, id: row.fromId }
    // A file that is gone from the asker's log by now must not keep the task, and all behind it, from its turn.
    const writes = await filesOf(attachments, asker, ids).then(
      files => files.writesFor([draft]),
      () => [],
    )
    return { draft, writes }
  }

  async function step(
    first: DelegationRow,
    event: DelegationEvent,
    { parts, isDone = () => false }: StepHow,
  ): Promise<DelegationRow> {
    let row: DelegationRow | undefined = first
    for (let tries = 0; tries < TRIES && row; tries++) {
      if (await isDone(row)) return row
      const next = nextStep(row.state, event)
      if ('refused' in next) {
        if (next.refused === 'ended') throw ended(row)
        return row
      }
      const at = Math.round(clock.now())
      const done = await write(row, { ...next, at, parts: await parts(row, at) })
      if (done) return done
      row = await get(first.organisation, first.id)
    }
    if (!row) throw unknownTask(first.id)
    throw taskBusy(first.id)
  }

  async function write(
    row: DelegationRow,
    { to, at, parts }: { to: DelegationRow['state']; at: number; parts: StepParts },
  ): Promise<DelegationRow | undefined> {
    const { drafts = [], writes = [] } = parts
    const end = isOpen(to) ? {} : { endedAt: at, dueAt: null, slot: null }
    const set: Partial<DelegationRow> = { ...parts.set, ...end, state: to, updatedAt: at, version: row.version + 1 }
    const { organisation, toId, slot: leaving } = row
    const next = !isOpen(to) && leaving !== null ? await promotion(organisation, toId, { at, leaving }) : undefined
    const own = update('delegations', { where: { id: row.id, version: row.version }, set, guard: TASK_GUARD })
    const outcome = await messages.sending.commit(
      [...drafts, ...(next?.drafts ?? [])],
      [own, ...writes, ...(next?.writes ?? [])],
    )
    if (!outcome.committed) return undefined
    tellOf(row, row.state, to, at)
    if (next) tellOf(next.row, 'queued', 'pending', at)
    return { ...row, ...set }
  }

  async function freeSlot(peer: WorkspaceRow, leaving?: number): Promise<number | undefined> {
    const where = { toId: peer.id, slot: { atLeast: 1 } }
    const rows = await store.find('delegations', { where, columns: ['slot'], limit: MOST_OPEN_DELEGATIONS })
    const taken = new Set(rows.map(({ slot }) => slot).filter(slot => slot !== leaving))
    // A peer that takes less since has some in places above those that it gives now. They count all the same.
    if (taken.size >= capacityOf(peer)) return undefined
    for (let slot = 1; slot <= capacityOf(peer); slot++) if (!taken.has(slot)) return slot
    return undefined
  }

  async function advance(organisation: string, peerId: string): Promise<void> {
    for (let tries = 0; tries < MOST_OPEN_DELEGATIONS; tries++) {
      const at = Math.round(clock.now())
      const next = await promotion(organisation, peerId, { at })
      if (!next) return
      const outcome = await messages.sending.commit(next.drafts, next.writes)
      if (outcome.committed) tellOf(next.row, 'queued', 'pending', at)
    }
  }

  return { get, sides, step, delivery, freeSlot, advance }
}

interface Promotion extends Required<Omit<StepParts, 'set'>> {
  readonly row: DelegationRow
}

/** What ids are made of; nothing else needs to be looked for. */
const ID = /^[\w-]{1,128}$/

/** How many tasks it takes at a time. */
function capacityOf({ capacity }: WorkspaceRow): number {
  return Math.min(capacity ?? MOST_OPEN_DELEGATIONS, MOST_OPEN_DELEGATIONS)
}

/** Those that a workspace has to do now. */
export function heldBy(organisation: string, toId: string) {
  return { organisation, toId, state: { in: HELD_STATES } }
}
