import {
  type DelegationChange,
  type DelegationDetail,
  type DelegationFacts,
  type DelegationRow,
  type DelegationState,
  MOST_OPEN_DELEGATIONS,
  RESULT_PAGE_CHARACTERS,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Clock, type Ids } from '../kernel/index.ts'
import { type Attachments, type MessageDraft, type Messages, TASK_GUARD, taskBusy } from '../messages/index.ts'
import { type Organisation, type PresenceBook } from '../organisation/index.ts'
import { mustNotExist, type Store, update, type Write } from '../store/index.ts'
import { characterStart, deliver, resultText, type Sides, truncated } from './notices.ts'
import { ended, filesOf, unknownTask } from './wording.ts'

export interface LedgerDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly messages: Pick<Messages, 'sending' | 'inbox'>
  readonly organisation: Pick<Organisation, 'workspaces' | 'presence'>
  readonly attachments: Attachments
  /** A step was committed. */
  tell(change: DelegationChange): void
}

/** What a step changes beside the state. */
export interface StepParts {
  readonly set?: Partial<DelegationRow>
  readonly drafts?: readonly MessageDraft[]
  readonly writes?: readonly Write[]
}

/** How a step is made. */
interface StepHow {
  parts(now: DelegationRow, at: number): Promise<StepParts>
  isDone?(now: DelegationRow): boolean | Promise<boolean>
}

/** The stored delegations and their transitions: one guarded commit per step. */
export interface Ledger {
  get(organisation: string, id: string): Promise<DelegationRow | undefined>
  sides(row: DelegationRow): Promise<Sides>
  /**
   * Makes one step, decided on the current row: `parts` is called again whenever the row has changed meanwhile. Throws
   * `DELEGATION_ENDED` for a closed task, and returns the row unchanged if the event changes nothing or `isDone` finds that another
   * process did the same.
   */
  step(row: DelegationRow, event: DelegationEvent, how: StepHow): Promise<DelegationRow>
  /** The writes that hand it to the peer, with its files. */
  delivery(row: DelegationRow, peer: WorkspaceRow, at: number): Promise<Delivery>
  /** The peer's lowest free place, counting the one about to be released; `undefined` at full capacity. */
  freeSlot(peer: WorkspaceRow, leaving?: number): Promise<number | undefined>
  /** Hands the peer its queued tasks while it has room. */
  advance(organisation: string, peerId: string): Promise<void>
}

interface Delivery {
  readonly draft: MessageDraft
  readonly writes: readonly Write[]
}

/** A failed try means that another process has changed the row. */
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

  /** The longest waiting task of this peer, with the writes that start it in a free place or in one released by the same commit. */
  async function promotion(
    organisation: string,
    toId: string,
    { at, leaving }: { at: number; leaving?: number },
  ): Promise<Promotion | undefined> {
    // A task that is already due is about to expire and must not start.
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

  /** The files of a task are kept as long as the peer's log has it. */
  async function delivery(row: DelegationRow, peer: WorkspaceRow, at: number): Promise<Delivery> {
    const draft = deliver(row, peer, at)
    const ids = row.attachments.map(({ id }) => id)
    const asker = { organisation: row.organisation, id: row.fromId }
    // A file missing from the asker's log must not block the task and all behind it.
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
    // If a peer's capacity was lowered, tasks in higher places still count.
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

const ID = /^[\w-]{1,128}$/

/** How many tasks it takes at a time. */
function capacityOf({ capacity }: WorkspaceRow): number {
  return Math.min(capacity ?? MOST_OPEN_DELEGATIONS, MOST_OPEN_DELEGATIONS)
}

/** Open tasks of a workspace. */
export function heldTasks(organisation: string, toId: string) {
  return { organisation, toId, state: { in: HELD_STATES } }
}

/** Columns of a list: all except potentially long ones. */
export const LISTED = [
  'id',
  'organisation',
  'state',
  'fromId',
  'fromName',
  'toId',
  'toName',
  'conversationId',
  'parentId',
  'hops',
  'progress',
  'progressAt',
  'error',
  'createdAt',
  'updatedAt',
  'startedAt',
  'endedAt',
  'deadlineAt',
] as const

export type ListedRow = Pick<DelegationRow, (typeof LISTED)[number]>

/** A delegation as shown, with what is known of its peer. */
export function delegationFacts(
  row: ListedRow,
  peer: WorkspaceRow | undefined,
  presence: PresenceBook,
): DelegationFacts {
  const { id, state, conversationId, parentId, hops, error, createdAt, updatedAt, startedAt, endedAt, deadlineAt } = row
  return {
    id,
    state,
    from: { id: row.fromId, name: row.fromName },
    to: {
      id: row.toId,
      name: row.toName,
      presence: peer ? presence.of(peer) : 'offline',
      lastSeenAt: peer ? presence.lastSeenAt(peer) : null,
    },
    conversationId,
    parentId,
    hops,
    progress: row.progress === null ? null : { text: row.progress, at: row.progressAt ?? updatedAt },
    error,
    createdAt,
    updatedAt,
    startedAt,
    endedAt,
    deadlineAt,
  }
}

/** With the task and its result from this offset. */
export function delegationDetail(row: DelegationRow, facts: DelegationFacts, wanted = 0): DelegationDetail {
  const { task, attachments } = row
  if (!row.result) return { ...facts, task, attachments, result: null }
  const all = resultText(row.result)
  const offset = characterStart(all, wanted)
  const text = truncated(all.slice(offset), RESULT_PAGE_CHARACTERS)
  const end = offset + text.length
  const parts =
    offset === 0 && JSON.stringify(row.result.parts).length <= RESULT_PAGE_CHARACTERS ? row.result.parts : []
  const page = { text, offset, nextOffset: end < all.length ? end : null, characters: all.length }
  return { ...facts, task, attachments, result: { ...page, parts, attachments: row.result.attachments } }
}

/** Events of a stored delegation. */
export type DelegationEvent =
  /** The peer has room for it. */
  | 'promote'
  /** The peer received it. */
  | 'take'
  /** The peer reports progress or a result. */
  | 'progress'
  /** The peer was silent for so long that the task is handed out again. */
  | 'handBack'
  | 'complete'
  | 'fail'
  | 'cancel'
  /** Its deadline has passed. */
  | 'expire'
  /** One of the two workspaces was archived. */
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

/** The next state, or why there is none: the task is closed, or the event does not apply. */
type Step = { readonly to: DelegationState } | { readonly refused: 'ended' | 'unfit' }

/** States that take a place of the peer's capacity. */
export const HELD_STATES = ['pending', 'in_progress'] as const
export const OPEN_STATES = ['queued', ...HELD_STATES] as const

const ENDS = { cancel: 'cancelled', expire: 'expired', archive: 'failed', fail: 'failed' } as const

const TABLE: Readonly<Partial<Record<DelegationState, Partial<Record<DelegationEvent, DelegationState>>>>> = {
  queued: { promote: 'pending', ...ENDS },
  pending: { take: 'in_progress', progress: 'in_progress', complete: 'completed', ...ENDS },
  in_progress: { progress: 'in_progress', handBack: 'in_progress', complete: 'completed', ...ENDS },
}

/** The state machine of delegations. */
export function nextStep(state: DelegationState, event: DelegationEvent): Step {
  const row = TABLE[state]
  if (!row) return { refused: 'ended' }
  const to = row[event]
  return to === undefined ? { refused: 'unfit' } : { to }
}

export function isOpen(state: DelegationState): boolean {
  return TABLE[state] !== undefined
}
