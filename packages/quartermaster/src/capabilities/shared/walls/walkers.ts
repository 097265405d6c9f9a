import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, lstat, open, realpath, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isSame, type Keeper, Moved, type Pinned, type Walker } from './pinned.ts'
import { errnoOf, isMissing } from './refusal.ts'

// open(2): a handle that only names the thing. It opens nothing, so that pipes do not block and devices do not stir,
// and of a link it names the link. Node has no constant for it; this is its value on every Linux that Node runs on.
const O_PATH = 0o10000000
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY, O_WRONLY, O_CREAT, O_EXCL } = constants

/**
 * Walks by handles, on Linux: `/proc/self/fd/N/name` is `name` in the folder behind handle N, wherever that folder's
 * path leads by now. Whatever is swapped in between check and use is therefore never reached.
 */
export function createHandleWalker(keeper: Keeper): Walker {
  async function pin(path: string, flags: number): Promise<Pinned> {
    const handle = keeper.keep(await open(path, O_PATH | flags))
    const stat = await handle.stat({ bigint: true })
    const self = `/proc/self/fd/${handle.fd}`
    return {
      stat,
      at: name => (name === undefined ? self : `${self}/${name}`),
      release: () => keeper.release(handle),
    }
  }
  return {
    root: path => pin(path, O_DIRECTORY),
    step: (folder, name) => pin(folder.at(name), O_NOFOLLOW),
    open: async (pinned, flags) => keeper.keep(await open(pinned.at(), flags | O_NONBLOCK | O_NOCTTY)),
    create: async (folder, name, mode) =>
      keeper.keep(await open(folder.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)),
    close: keeper.release,
    confirm: async () => {},
  }
}

// Windows has neither; there the second look alone has to do.
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0
const NON_BLOCK = constants.O_NONBLOCK ?? 0

/**
 * Walks by paths, where there is no `/proc`. A link that replaces a folder for a moment changes
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
    // Only folders are walked through; for anything else its own identity is enough.
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
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW
      const handle = keeper.keep(await open(path, flags, mode))
      try {
        await confirm(folder)
      } catch (error) {
        // It may stand somewhere else now. It is empty, and it is ours: no other program makes such a name.
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
    return await open(path, flags | NO_FOLLOW | NON_BLOCK)
  } catch (error) {
    // It was no link a moment ago.
    if (errnoOf(error) === 'ELOOP') throw new Moved()
    throw error
  }
}
