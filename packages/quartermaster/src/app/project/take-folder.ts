import { setTimeout as wait } from 'node:timers/promises'
import { createControlClient } from '../../adapters/control-client/index.ts'
import { connectToOwner, type DataFolder, type OwnerLock } from '../../adapters/data-folder/index.ts'
import { isAppError } from '../../contracts/index.ts'

/** An `up` that steps aside lets running calls end first, and then has this long to close what it has open. */
const CLOSES_MS = 10_000
/** An owner that does not say where it is starts, ends, or is a command that is done in a moment. */
const UNKNOWN_MS = 3_000
const LOOK_EVERY_MS = 50

/**
 * Makes this process the owner of the data folder. An `up` that runs in the background gives way to one that a person
 * starts; otherwise that person could not tell why their `up` does not start, or find the other to stop it.
 */
export async function takeFolder(
  folder: DataFolder,
  { background, drainMs }: { background: boolean; drainMs: number },
): Promise<OwnerLock> {
  if (background) return folder.lock()
  let until = performance.now() + UNKNOWN_MS
  let isLeaving = false
  for (;;) {
    try {
      return await folder.lock()
    } catch (error) {
      if (!isLocked(error) || performance.now() > until) throw error
      const answer = isLeaving ? 'leaves' : await askOwner(folder)
      if (answer === 'stays') throw error
      if (answer === 'leaves' && !isLeaving) [isLeaving, until] = [true, performance.now() + drainMs + CLOSES_MS]
    }
    await wait(LOOK_EVERY_MS)
  }
}

async function askOwner({ dir }: DataFolder): Promise<'leaves' | 'stays' | 'unknown'> {
  const owner = await connectToOwner({ dir })
  if (!owner) return 'unknown'
  try {
    return (await createControlClient(owner).stepAside({})).leaving ? 'leaves' : 'stays'
  } catch {
    // It is about to end, or so old that it does not know the question: the next look tells.
    return 'unknown'
  }
}

/** Whether another process has the data folder. */
export function isLocked(error: unknown): boolean {
  return isAppError(error) && error.code === 'STORE_LOCKED'
}
