import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, lstat, open, realpath, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Keeper } from './keeper.ts'
import { isSame, Moved, type Pinned, type Walker } from './pinned.ts'
import { errnoOf, isMissing } from './refusal.ts'

// Windows has neither; there the second look alone has to do.
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0
const O_NONBLOCK = constants.O_NONBLOCK ?? 0

/**
 * Walks by paths, where there is no `/proc`. Whoever puts a link in the place of a folder and takes it away again changes
 * the folder around it, and that shows in its time of change. So the folders that were walked through are looked at before
 * and after: when none of them has changed, the path has led to the same thing all the while.
 */
export function createPathWalker(keeper: Keeper): Walker {
  const ways = new WeakMap<Pinned, readonly Seal[]>()
  const wayTo = (pinned: Pinned) => ways.get(pinned) ?? []

  async function confirm(pinned: Pinned): Promise<void> {
    for (const { path, seen } of wayTo(pinned)) if (!isUnchanged(await look(path), seen)) throw new Moved()
    if (!isSame(await look(pinned.at()), pinned.stat)) throw new Moved()
  }

  async function step(folder: Pinned, name: string): Promise<Pinned> {
    const path = folder.at(name)
    const met = await lstat(path, { bigint: true })
    // Whatever else it is, nobody walks through it, and its own identity is enough.
    if (!met.isDirectory()) return pinWay(path, met, wayTo(folder))
    const seal = await sealOf(folder)
    return pinWay(path, await lstat(path, { bigint: true }), [...wayTo(folder), seal])
  }

  function pinWay(path: string, stat: BigIntStats, way: readonly Seal[]): Pinned {
    const pinned = pinPath(path, stat)
    ways.set(pinned, way)
    return pinned
  }

  return {
    root: async path => {
      const real = await realpath(path)
      return pinPath(real, await stat(real, { bigint: true }))
    },
    step,
    open: async (pinned, flags) => {
      const handle = keeper.keep(await openInPlace(pinned.at(), flags))
      if (!isSame(await handle.stat({ bigint: true }), pinned.stat)) throw new Moved()
      await confirm(pinned)
      return handle
    },
    create: async (folder, name, mode) => {
      const path = folder.at(name)
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | O_NOFOLLOW
      const handle = keeper.keep(await open(path, flags, mode))
      try {
        await confirm(folder)
      } catch (error) {
        // It may stand somewhere else now. It is empty, and it is ours: nobody else makes such a name.
        await rm(path, { force: true })
        throw error
      }
      return handle
    },
    close: keeper.release,
    confirm,
  }
}

/** A folder on the way, as it was before what is in it was looked at. */
interface Seal {
  readonly path: string
  readonly seen: BigIntStats
}

// Systems write the time of a change in ticks, up to 16 ms long. Two changes in one tick look like one, so a folder counts as
// seen only when its last change is older than that.
const TICK_MS = 20
// A folder in which something changes at each of these looks is not one to walk through by paths.
const LOOKS = 5

async function sealOf(folder: Pinned): Promise<Seal> {
  const path = folder.at()
  for (let looks = 0; looks < LOOKS; looks++) {
    const seen = await look(path)
    if (!isSame(seen, folder.stat)) throw new Moved()
    if (Math.abs(Date.now() - Number(seen.ctimeMs)) > TICK_MS) return { path, seen }
    await delay(TICK_MS)
  }
  throw new Moved()
}

function isUnchanged(now: BigIntStats, before: BigIntStats): boolean {
  return isSame(now, before) && now.ctimeNs === before.ctimeNs
}

async function look(path: string): Promise<BigIntStats> {
  try {
    return await lstat(path, { bigint: true })
  } catch (error) {
    if (isMissing(error)) throw new Moved()
    throw error
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
