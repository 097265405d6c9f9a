import { type ActivityRow, type DelegationRow, type Settings, type WorkspaceRow } from '../../contracts/index.ts'
import { type Clock, type Ids } from '../kernel/index.ts'
import { type CarriedTasks, requeueDraft, TASK_GUARD, type TaskChange } from '../messages/index.ts'
import { allRows, remove, type Store, update, type Write } from '../store/index.ts'
import { type Answered, type PeerWords } from './answering.ts'
import {
  type DelegationEvent,
  HELD_STATES,
  isOpen,
  type Ledger,
  type LedgerDeps,
  nextStep,
  type StepParts,
} from './ledger.ts'
import { endDraft, isExternal, logOnly, stopDraft } from './notices.ts'
import {
  archivedSide,
  CANCELLED_BY_ASKER,
  CANCELLED_BY_OWNER,
  EXPIRED,
  endWords,
  expiredAt,
  isQuestion,
  stopWords,
} from './wording.ts'

/** Transitions of open delegations other than answers. */
export interface Settling {
  /** Cancels. An asker that cancels itself gets no notice. */
  cancel(row: DelegationRow, by: 'asker' | 'owner'): Promise<DelegationRow>
  expire(row: DelegationRow): Promise<DelegationRow>
  /** One of its workspaces was archived. */
  archive(row: DelegationRow, archivedName: string): Promise<DelegationRow>
  /** The peer was handed these rows of its log. */
  onTaken(rows: readonly ActivityRow[]): Promise<void>
  /** The asker wrote about the task. */
  onAskerMessage(asker: WorkspaceRow, id: string): Promise<TaskChange | undefined>
  /** The asker has the result already. */
  markRead(row: DelegationRow): Promise<void>
}

interface SettlingDeps extends LedgerDeps {
  readonly ledger: Ledger
  readonly settings: Pick<Settings, 'delegationQuietSeconds'>
}

export function createSettling(deps: SettlingDeps): Settling {
  const { store, clock, ids, messages, ledger, settings, tell } = deps

  /** Removes the task's message from the inbox, so that it is not handed out again. */
  const withoutTask = ({ organisation, toId, activityId }: DelegationRow): readonly Write[] =>
    messages.inbox.popWrites({ organisation, id: toId }, activityId)

  /** An end that the peer did not cause. */
  function close(row: DelegationRow, event: DelegationEvent, { why, whyOf = () => why, isKnown = false }: Why) {
    async function parts(now: DelegationRow, at: number): Promise<StepParts> {
      const step = nextStep(now.state, event)
      const state = 'to' in step ? step.to : now.state
      const sides = await ledger.sides(now)
      const reason = await whyOf(now)
      const end = endDraft(now, sides, { next: ids.next, at, text: endWords(now, state, reason) })
      const stop = stopDraft(now, sides, { next: ids.next, at, text: stopWords(now, state, why) })
      // A peer that never got the task has nothing to stop; its log says why the task left the inbox. A remote peer is notified by
      // the outbound worker.
      const isNotified = now.state === 'in_progress' && !(sides.peer && isExternal(sides.peer))
      const stops = now.state === 'queued' ? [] : [isNotified ? stop : logOnly(stop)]
      return {
        set: { error: reason, noticeId: end.received?.id ?? null },
        drafts: [isKnown ? logOnly(end) : end, ...stops],
        writes: withoutTask(now),
      }
    }
    // Cancelling a cancelled task changes nothing.
    const isDone = (now: DelegationRow) => event === 'cancel' && now.state === 'cancelled'
    return ledger.step(row, event, { parts, isDone })
  }

  /** Why a remote peer could not be reached, if so. */
  async function troubleOf({ id }: DelegationRow): Promise<string | undefined> {
    return (await store.get('outgoingtasks', id))?.trouble ?? undefined
  }

  async function onTaken(rows: readonly ActivityRow[]): Promise<void> {
    const carrying = rows.filter(({ delegationId }) => delegationId !== null)
    if (carrying.length === 0) return
    const taskIds = [...new Set(carrying.flatMap(({ delegationId }) => delegationId ?? []))]
    const where = { id: { in: taskIds }, state: { in: HELD_STATES } }
    for (const row of await store.find('delegations', { where, columns: TAKEN_COLUMNS, limit: 1_000 })) {
      const own = carrying.filter(one => one.delegationId === row.id && one.workspaceId === row.toId)
      if (row.state === 'in_progress' && own.length > 0) await touch(row)
      else if (own.some(({ id }) => id === row.activityId)) await take(row)
    }
  }

  /** A reader that gets a message about a task holds the task again. Written rarely, because it is called often. */
  async function touch({ id, version, updatedAt }: Pick<DelegationRow, (typeof TAKEN_COLUMNS)[number]>): Promise<void> {
    const at = Math.round(clock.now())
    if (at - updatedAt < settings.delegationQuietSeconds * 500) return
    const set = { updatedAt: at, version: version + 1 }
    await store.commit([update('delegations', { where: { id, version }, set, guard: TASK_GUARD })])
  }

  /** An earlier change wins; nothing is left to do then. */
  async function take(row: Pick<DelegationRow, (typeof TAKEN_COLUMNS)[number]>): Promise<void> {
    const step = nextStep(row.state, 'take')
    if (!('to' in step)) return
    const at = Math.round(clock.now())
    const { id, version, organisation, fromName: from, toName: to, state: before } = row
    const set = { state: step.to, startedAt: at, updatedAt: at, version: version + 1 }
    const { committed } = await store.commit([
      update('delegations', { where: { id, version }, set, guard: TASK_GUARD }),
    ])
    if (committed) tell({ organisation, id, from, to, before, state: step.to, at })
  }

  async function onAskerMessage(asker: WorkspaceRow, taskId: string): Promise<TaskChange | undefined> {
    const row = await ledger.get(asker.organisation, taskId)
    if (row?.fromId !== asker.id || !isOpen(row.state)) return undefined
    const at = Math.round(clock.now())
    const { id, version, organisation, fromName: from, toName: to, state } = row
    const set = { updatedAt: at, version: version + 1 }
    return {
      write: update('delegations', { where: { id, version }, set, guard: TASK_GUARD }),
      tell: () => tell({ organisation, id, from, to, before: state, state, at }),
    }
  }

  return {
    cancel: (row, by) =>
      close(row, 'cancel', { why: by === 'asker' ? CANCELLED_BY_ASKER : CANCELLED_BY_OWNER, isKnown: by === 'asker' }),
    expire: row => close(row, 'expire', { why: EXPIRED, whyOf: async now => expiredAt(now, await troubleOf(now)) }),
    archive: (row, whose) => close(row, 'archive', { why: archivedSide(whose) }),
    onTaken,
    onAskerMessage,
    async markRead({ organisation, fromId: workspaceId, noticeId }) {
      if (noticeId === null) return
      await store.commit([remove('inbox', { where: { organisation, workspaceId, id: noticeId }, rows: 'any' })])
    },
  }
}

/** The columns read of a task that is handed out. */
const TAKEN_COLUMNS = [
  'id',
  'organisation',
  'fromName',
  'toId',
  'toName',
  'state',
  'version',
  'activityId',
  'updatedAt',
] as const

interface Why {
  readonly why: string
  /** The reason for the asker, if it differs. */
  readonly whyOf?: (now: DelegationRow) => string | Promise<string>
  /** Whether the asker knows already. */
  readonly isKnown?: boolean
}

export type OpenTask = Pick<
  DelegationRow,
  'id' | 'organisation' | 'toId' | 'state' | 'conversationId' | 'updatedAt' | 'progress' | 'progressAt'
>

export interface RedeliveryDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly ledger: Ledger
  readonly settings: Pick<Settings, 'delegationQuietSeconds'>
}

/** Hands out tasks again that a reader took from the inbox and seems to have lost. */
export function createRedelivery({ store, clock, ids, ledger, settings }: RedeliveryDeps) {
  /** A task that changed since is not silent. */
  const silentSince = () => Math.round(clock.now() - settings.delegationQuietSeconds * 1_000)

  function isSilent(row: Pick<OpenTask, 'state' | 'updatedAt' | 'progress' | 'progressAt'>): boolean {
    return row.state === 'in_progress' && row.updatedAt <= silentSince() && !isAsking(row)
  }

  /** Open tasks whose peer has been silent for long. */
  async function lostTasks(rows: readonly OpenTask[]): Promise<readonly OpenTask[]> {
    let left: readonly OpenTask[] = rows.filter(isSilent)
    for (const isInProgress of [withWaitingMessage, withOutgoingTask, withSubtask]) {
      if (left.length === 0) break
      const found = await isInProgress(left)
      left = left.filter(({ id }) => !found.has(id))
    }
    return left
  }

  /** A message of its conversation is in the inbox and follows its own lease. */
  async function withWaitingMessage(tasks: readonly OpenTask[]): Promise<ReadonlySet<string>> {
    const workspaceId = { in: each(tasks, 'toId') }
    const where = { workspaceId, conversationId: { in: each(tasks, 'conversationId') } }
    const rows = await allRows(store, 'inbox', where, ['workspaceId', 'conversationId'])
    // The asker's inbox may hold a message of the same conversation.
    const there = new Set(rows.map(row => `${row.workspaceId} ${row.conversationId}`))
    return idsOf(tasks.filter(({ toId, conversationId }) => there.has(`${toId} ${conversationId}`)))
  }

  /** Tasks of the outbound worker, which retries them itself. */
  async function withOutgoingTask(tasks: readonly OpenTask[]): Promise<ReadonlySet<string>> {
    return idsOf(await allRows(store, 'outgoingtasks', { id: { in: each(tasks, 'id') } }, ['id']))
  }

  /** The peer waits for a subtask, or just got its result. */
  async function withSubtask(tasks: readonly OpenTask[]): Promise<ReadonlySet<string>> {
    const organisation = { in: each(tasks, 'organisation') }
    const parts = { organisation, fromId: { in: each(tasks, 'toId') }, parentId: { in: each(tasks, 'id') } }
    const found = await Promise.all(
      [{ dueAt: { atLeast: 0 } }, { updatedAt: { above: silentSince() } }].map(alive =>
        allRows(store, 'delegations', { ...parts, ...alive }, ['parentId']),
      ),
    )
    return new Set(found.flat().flatMap(({ parentId }) => parentId ?? []))
  }

  /** Puts the task into the peer's inbox again. It keeps its place. */
  async function redeliver({ organisation, id }: Pick<OpenTask, 'id' | 'organisation'>): Promise<void> {
    const row = await ledger.get(organisation, id)
    // Another process was faster, or the peer has answered meanwhile.
    if (row) await ledger.step(row, 'handBack', { parts: redeliveryParts, isDone: now => !isSilent(now) })
  }

  async function redeliveryParts(now: DelegationRow, at: number): Promise<StepParts> {
    const { peer } = await ledger.sides(now)
    if (peer?.delivery === 'push' && !isExternal(peer)) {
      // A push program follows the log and does not see what is only in the inbox.
      const { draft, writes } = await ledger.delivery({ ...now, messageId: ids.next('msg') }, peer, at)
      return { set: { activityId: draft.received?.id ?? now.activityId }, drafts: [draft], writes }
    }
    const message = await store.get('activity', now.activityId)
    return { drafts: message ? [requeueDraft(message)] : [] }
  }

  return { lostTasks, redeliver }
}

/** The asker must answer; a new message changes the row. */
function isAsking({
  progress,
  progressAt,
  updatedAt,
}: Pick<OpenTask, 'progress' | 'progressAt' | 'updatedAt'>): boolean {
  return progress !== null && progressAt === updatedAt && isQuestion(progress)
}

function each(tasks: readonly OpenTask[], column: 'id' | 'organisation' | 'toId' | 'conversationId'): string[] {
  return [...new Set(tasks.map(task => task[column]))]
}

function idsOf(rows: readonly { readonly id: string }[]): ReadonlySet<string> {
  return new Set(rows.map(({ id }) => id))
}

/** Lets messages that carry tasks be answered like any other message. */
export function carriedTasks({
  onTaken,
  openIn,
  isOpen,
  onAskerMessage,
  replyTo,
}: Pick<CarriedTasks, 'openIn' | 'isOpen' | 'onAskerMessage'> & {
  onTaken(rows: readonly ActivityRow[]): Promise<void>
  replyTo(peer: WorkspaceRow, activityId: string, said: PeerWords): Promise<Answered | undefined>
}): CarriedTasks {
  return {
    onTaken,
    openIn,
    isOpen,
    onAskerMessage,
    async reply(from, activityId, { text, parts, attachments, named, outcome, idempotencyKey }) {
      const said = {
        message: text,
        outcome,
        named,
        idempotencyKey,
        ...(parts && { parts: [...parts] }),
        ...(attachments && { attachments: [...attachments] }),
      }
      const answered = await replyTo(from, activityId, said)
      if (!answered) return undefined
      const { row, messageId, isRepeat } = answered
      const { conversationId, updatedAt: createdAt } = row
      return { activityId: `${messageId}_out`, messageId, conversationId, createdAt, isRepeat }
    },
  }
}
