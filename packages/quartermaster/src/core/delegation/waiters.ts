import type { DelegationRow } from '../../contracts/index.ts'
import type { Store } from '../store/index.ts'
import type { Held } from './chain.ts'
import { OPEN_STATES } from './machine.ts'

/** As many tasks are looked at for each step away; a page of the store has no more. */
const MOST_READ = 1_000
/** Nobody waits at a greater distance for something that would not have been refused before. */
const MOST_STEPS = 50

type Waiting = Held & Pick<DelegationRow, 'fromId'>

/**
 * The task of these for which somebody waits, at any distance: who has given it, who waits for that one, and so on. It need not have
 * been taken, nor been given away for the next: those who wait in a circle wait for ever, whatever it is about.
 */
export async function taskAwaitedBy(
  store: Store,
  {
    organisation,
    tasks,
    waiter,
  }: { readonly organisation: string; readonly tasks: readonly Waiting[]; readonly waiter: string },
): Promise<Held | undefined> {
  // Whose task leads to each of those who wait.
  const seen = new Map<string, Held>()
  let step: readonly { readonly fromId: string; readonly task: Held }[] = tasks.map(task => ({
    fromId: task.fromId,
    task,
  }))
  for (let steps = 0; step.length > 0 && steps < MOST_STEPS; steps++) {
    const fresh = step.filter(({ fromId }) => !seen.has(fromId))
    for (const { fromId, task } of fresh) seen.set(fromId, task)
    const found = seen.get(waiter)
    if (found) return found
    const ids = [...new Set(fresh.map(({ fromId }) => fromId))]
    if (ids.length === 0) return undefined
    const where = { organisation, toId: { in: ids }, state: { in: OPEN_STATES } }
    const rows = await store.find('delegations', { where, columns: ['fromId', 'toId'], limit: MOST_READ })
    step = rows.flatMap(({ fromId, toId }) => {
      const task = seen.get(toId)
      return task ? [{ fromId, task }] : []
    })
  }
  return undefined
}
