import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, lstat, open, realpath, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Keeper } from './keeper.ts'
import { isSame, Moved, type Pinned, type Walker } from './pinned.ts'
import { errnoOf, isMissing } from './refusal.ts'

// Windows has neither; there the second look alone has to do.
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0
const O_NONBLOCK = constants.O_NONBLOCK ?? 0

/**
 * Walks by paths, where there is no `/proc`: looks, opens, and looks again. What was opened counts only if its real
 * path is still the expected one and leads to the very same device and inode.
 */
export function createPathWalker(keeper: Keeper): Walker {
  const confirm = async (pinned: Pinned) => {
    if (!(await leadsTo(pinned.at(), pinned.stat))) throw new Moved()
  }
  return {
    root: async path => {
      const real = await realpath(path)
      return pinPath(real, await stat(real, { bigint: true }))
    },
    step: async (folder, name) => {
      const path = folder.at(name)
      return pinPath(path, await lstat(path, { bigint: true }))
    },
    open: async (pinned, flags) => {
      const handle = keeper.keep(await openInPlace(pinned.at(), flags))
      if (!isSame(await handle.stat({ bigint: true }), pinned.stat)) throw new Moved()
      await confirm(pinned)
      return handle
    },
    create: async (folder, name, mode) => {
      const path = folder.at(name)
      const handle = keeper.keep(
        await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | O_NOFOLLOW, mode),
      )
      if (!(await isInPlace(folder, path, handle))) {
        // It may stand somewhere else now. It is empty, and it is ours: nobody else makes such a name.
        await rm(path, { force: true })
        throw new Moved()
      }
      return handle
    },
    close: keeper.release,
    confirm,
  }
}

function pinPath(path: string, stat: BigIntStats): Pinned {
  return { stat, at: name => (name === undefined ? path : join(path, name)), release: async () => {} }
}

async function openInPlace(path: string, flags: number): Promise<FileHandle> {
  try {
    return await open(path, flags | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    // It was no link a moment ago.
    if (errnoOf(error) === 'ELOOP') throw new Moved()
    throw error
  }
}

async function isInPlace(folder: Pinned, path: string, handle: FileHandle): Promise<boolean> {
  return (await leadsTo(folder.at(), folder.stat)) && (await leadsTo(path, await handle.stat({ bigint: true })))
}

/**
 * Between two looks at a path there may be a link in it and gone again. Whoever swaps one in all the time has to hit each of
 * these moments.
 */
const LOOKS = 5

/** Whether the path has no link in it and leads to this thing. */
async function leadsTo(path: string, expected: BigIntStats): Promise<boolean> {
  try {
    for (let look = 0; look < LOOKS; look++) {
      const [now, real] = [await lstat(path, { bigint: true }), await realpath(path)]
      if (real !== path || !isSame(now, expected)) return false
    }
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}
