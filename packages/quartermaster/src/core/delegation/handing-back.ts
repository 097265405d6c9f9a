import type { DelegationRow, Settings } from '../../contracts/index.ts'
import type { Clock, Ids } from '../kernel/index.ts'
import { waitsAgain } from '../messages/index.ts'
import { allRows, type Store } from '../store/index.ts'
import type { Ledger, StepParts } from './ledger.ts'
import { isOutside } from './outgoing.ts'
import { isQuestion } from './question.ts'

/** Hands tasks out again that somebody took out of the inbox and seems to have lost. */
export interface HandingBack {
  /** Those of these open tasks of which their peer has said nothing for long. */
  lost(rows: readonly OpenTask[]): Promise<readonly OpenTask[]>
  /** Whoever reads the peer's inbox is handed it again. It keeps its place: somebody has to do it. */
  handBack(task: Pick<OpenTask, 'id' | 'organisation'>): Promise<void>
}

export type OpenTask = Pick<
  DelegationRow,
  'id' | 'organisation' | 'toId' | 'state' | 'conversationId' | 'updatedAt' | 'progress' | 'progressAt'
>

export interface HandingBackDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly ledger: Ledger
  readonly settings: Pick<Settings, 'delegationQuietSeconds'>
}

export function createHandingBack({ store, clock, ids, ledger, settings }: HandingBackDeps): HandingBack {
  /** What has changed since then is not quiet. */
  const quietSince = () => Math.round(clock.now() - settings.delegationQuietSeconds * 1_000)

  function isQuiet(row: Pick<OpenTask, 'state' | 'updatedAt' | 'progress' | 'progressAt'>): boolean {
    return row.state === 'in_progress' && row.updatedAt <= quietSince() && !isAsking(row)
  }

  async function lost(rows: readonly OpenTask[]): Promise<readonly OpenTask[]> {
    let left: readonly OpenTask[] = rows.filter(isQuiet)
    for (const inGoodHands of [waiting, sentElsewhere, passedOn]) {
      if (left.length === 0) break
      const found = await inGoodHands(left)
      left = left.filter(({ id }) => !found.has(id))
    }
    return left
  }

  /** Something of its conversation is in the inbox, and is handed out by its lease. */
  async function waiting(tasks: readonly OpenTask[]): Promise<ReadonlySet<string>> {
    const workspaceId = { in: each(tasks, 'toId') }
    const where = { workspaceId, conversationId: { in: each(tasks, 'conversationId') } }
    const rows = await allRows(store, 'inbox', where, ['workspaceId', 'conversationId'])
    // The asker's inbox may have something of the same conversation.
    const there = new Set(rows.map(row => `${row.workspaceId} ${row.conversationId}`))
    return idsOf(tasks.filter(({ toId, conversationId }) => there.has(`${toId} ${conversationId}`)))
  }

  /** Whoever has sent it looks after it. */
  async function sentElsewhere(tasks: readonly OpenTask[]): Promise<ReadonlySet<string>> {
    return idsOf(await allRows(store, 'outgoingtasks', { id: { in: each(tasks, 'id') } }, ['id']))
  }

  /** The peer waits for a part of it that it has given away, or has just heard what came of that. */
  async function passedOn(tasks: readonly OpenTask[]): Promise<ReadonlySet<string>> {
    const organisation = { in: each(tasks, 'organisation') }
    const parts = { organisation, fromId: { in: each(tasks, 'toId') }, parentId: { in: each(tasks, 'id') } }
    const found = await Promise.all(
      [{ dueAt: { atLeast: 0 } }, { updatedAt: { above: quietSince() } }].map(alive =>
        allRows(store, 'delegations', { ...parts, ...alive }, ['parentId']),
      ),
    )
    return new Set(found.flat().flatMap(({ parentId }) => parentId ?? []))
  }

  async function handBack({ organisation, id }: Pick<OpenTask, 'id' | 'organisation'>): Promise<void> {
    const row = await ledger.get(organisation, id)
    // Another process may have been faster, or the peer has spoken meanwhile.
    if (row) await ledger.step(row, 'handBack', { parts: handedOut, isDone: now => !isQuiet(now) })
  }

  async function handedOut(now: DelegationRow, at: number): Promise<StepParts> {
    const { peer } = await ledger.sides(now)
    if (peer?.delivery === 'push' && !isOutside(peer)) {
      // The program that brings messages to it follows the log, and sees nothing of what is in the inbox alone.
      const { draft, writes } = await ledger.delivery({ ...now, messageId: ids.next('msg') }, peer, at)
      return { set: { activityId: draft.received?.id ?? now.activityId }, drafts: [draft], writes }
    }
    const message = await store.get('activity', now.activityId)
    return { drafts: message ? [waitsAgain(message)] : [] }
  }

  return { lost, handBack }
}

/** It is for the asker to say something: a new word of theirs changes the row. */
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
