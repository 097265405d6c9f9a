import type { DelegationRow, Settings } from '../../contracts/index.ts'
import type { Clock } from '../kernel/index.ts'
import { waitsAgain } from '../messages/index.ts'
import type { Store } from '../store/index.ts'
import type { Ledger, StepParts } from './ledger.ts'
import { isQuestion } from './question.ts'

/** Puts tasks back into the inbox that somebody took out of it and seems to have lost. */
export interface HandingBack {
  /** Those of these open tasks of which their peer has said nothing for long. */
  lost(rows: readonly OpenTask[]): Promise<readonly OpenTask[]>
  /** Whoever reads the peer's inbox is handed it again. It keeps its place: somebody has to do it. */
  handBack(task: OpenTask): Promise<void>
}

export type OpenTask = Pick<
  DelegationRow,
  'id' | 'organisation' | 'toId' | 'state' | 'conversationId' | 'activityId' | 'updatedAt' | 'progress' | 'progressAt'
>

export interface HandingBackDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ledger: Ledger
  readonly settings: Pick<Settings, 'delegationQuietSeconds'>
}

export function createHandingBack({ store, clock, ledger, settings }: HandingBackDeps): HandingBack {
  function isQuiet(row: Pick<OpenTask, 'state' | 'updatedAt' | 'progress' | 'progressAt'>): boolean {
    const isLong = row.updatedAt <= clock.now() - settings.delegationQuietSeconds * 1_000
    return row.state === 'in_progress' && isLong && !isAsking(row)
  }

  /** What is in the inbox is handed out by its lease, and what was sent elsewhere is looked after by whoever sent it. */
  async function lost(rows: readonly OpenTask[]): Promise<readonly OpenTask[]> {
    const found: OpenTask[] = []
    for (const row of rows.filter(isQuiet)) if (!(await isInGoodHands(row))) found.push(row)
    return found
  }

  async function isInGoodHands({ id, organisation, toId, conversationId }: OpenTask): Promise<boolean> {
    const where = { organisation, workspaceId: toId, conversationId }
    const [waiting, sent] = await Promise.all([
      store.find('inbox', { where, columns: ['id'], limit: 1 }),
      store.get('outgoingtasks', id),
    ])
    return waiting.length > 0 || sent !== undefined
  }

  async function handBack({ organisation, id, activityId }: OpenTask): Promise<void> {
    const [row, message] = await Promise.all([ledger.get(organisation, id), store.get('activity', activityId)])
    if (!row || !message) return
    const parts = async (): Promise<StepParts> => ({ drafts: [waitsAgain(message)] })
    // Another process may have been faster, or the peer has spoken meanwhile.
    await ledger.step(row, 'handBack', { parts, isDone: now => !isQuiet(now) })
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
