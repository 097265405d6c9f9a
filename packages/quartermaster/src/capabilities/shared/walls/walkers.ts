import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, lstat, open, realpath, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isSame, type Keeper, Moved, type Pinned, type Walker } from './pinned.ts'
import { errnoOf, isMissing } from './refusal.ts'

// open(2): a handle that only identifies a file, also a link, without opening it, so that pipes do not block. Node has no
// constant for it; this is its value on every Linux that Node supports.
const O_PATH = 0o10000000
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY, O_WRONLY, O_CREAT, O_EXCL } = constants

/**
 * Walks by handles, on Linux: `/proc/self/fd/N/name` is `name` in the folder of handle N, even when that folder was moved.
 * A file swapped in between check and use is therefore never reached.
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

// Windows has neither; there only the second check protects.
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0
const NON_BLOCK = constants.O_NONBLOCK ?? 0

/**
 * Walks by paths, where there is no `/proc`. Replacing a folder by a link changes the change time of its parent. So all
 * parents are checked before and after: when none has changed, the path has led to the same file all the time.
 */
export function createPathWalker(keeper: Keeper): Walker {
  const sealsByPinned = new WeakMap<Pinned, readonly Seal[]>()
  const sealsOf = (pinned: Pinned) => sealsByPinned.get(pinned) ?? []

  async function confirm(pinned: Pinned): Promise<void> {
    for (const { path, seen } of sealsOf(pinned)) if (!isUnchanged(await statOf(path), seen)) throw new Moved()
    if (!isSame(await statOf(pinned.at()), pinned.stat)) throw new Moved()
  }

  async function step(folder: Pinned, name: string): Promise<Pinned> {
    const path = folder.at(name)
    const met = await lstat(path, { bigint: true })
    // Only folders are walked through; for other entries their own identity is enough.
    if (!met.isDirectory()) return pinWithSeals(path, met, sealsOf(folder))
    const seal = await sealOf(folder)
    return pinWithSeals(path, await lstat(path, { bigint: true }), [...sealsOf(folder), seal])
  }

  function pinWithSeals(path: string, stat: BigIntStats, seals: readonly Seal[]): Pinned {
    const pinned = pinPath(path, stat)
    sealsByPinned.set(pinned, seals)
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
        // The file may be elsewhere now. It is empty, and no other program uses such a name.
        await rm(path, { force: true })
        throw error
      }
      return handle
    },
    close: keeper.release,
    confirm,
  }
}

/** A parent folder, as it was before its entry was read. */
interface Seal {
  readonly path: string
  readonly seen: BigIntStats
}

// Change times have a resolution of up to 16 ms. Two changes within that time look like one, so the last change of a
// folder must be older.
const TICK_MS = 20
// A folder that changes at each try cannot be walked by paths.
const TRIES = 5

async function sealOf(folder: Pinned): Promise<Seal> {
  const path = folder.at()
  for (let tries = 0; tries < TRIES; tries++) {
    const seen = await statOf(path)
    if (!isSame(seen, folder.stat)) throw new Moved()
    if (Math.abs(Date.now() - Number(seen.ctimeMs)) > TICK_MS) return { path, seen }
    await delay(TICK_MS)
  }
  throw new Moved()
}

function isUnchanged(now: BigIntStats, before: BigIntStats): boolean {
  return isSame(now, before) && now.ctimeNs === before.ctimeNs
}

async function statOf(path: string): Promise<BigIntStats> {
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
    // The file was replaced by a link.
    if (errnoOf(error) === 'ELOOP') throw new Moved()
    throw error
  }
}
