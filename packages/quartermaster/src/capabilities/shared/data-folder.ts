import type { BigIntStats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { remembered } from '../../core/kernel/index.ts'
import { fold } from './fold.ts'
import { identityOf, upwards } from './identity.ts'
import { type Identity, isSame, type Pinned } from './pinned.ts'
import { ignoreMissing } from './refusal.ts'
import { contains } from './requested-path.ts'
import { settle } from './settle.ts'

/** The gateway's own folder: credentials, records. It is never inside, whatever it is called and wherever it lies. */
export interface DataFolder {
  /** Whether this is the folder itself, under any name, link, mount or spelling, or one of its files by a hard link. */
  owns(stat: BigIntStats): Promise<boolean>
  /** Whether this folder is it or lies in it. */
  holds(folder: Pinned): Promise<boolean>
  /** Whether something made at this real path would be it or lie in it; also while it does not exist yet. */
  claims(realPath: string): Promise<boolean>
}

/** Looks at the data folder as it is now. */
export async function lookAtDataFolder(dataDir: string): Promise<DataFolder> {
  const identity = await identityOf(dataDir)
  const is = (other: Identity) => identity !== undefined && isSame(identity, other)
  // Once a call: folders of packages are full of hard links.
  const files = remembered(() => filesIn(dataDir))
  return {
    // Only what has more than one name can be in two folders.
    owns: async stat => is(stat) || (stat.isFile() && stat.nlink > 1n && (await files()).has(keyOf(stat))),
    holds: async folder => {
      if (identity === undefined) return false
      for await (const ancestor of upwards(folder)) if (is(ancestor)) return true
      return false
    },
    claims: async realPath => contains(fold(await settle(dataDir)), fold(realPath), process.platform),
  }
}

async function filesIn(dir: string): Promise<ReadonlySet<string>> {
  const names = await readdir(dir, { recursive: true }).catch(ignoreMissing)
  const stats = await Promise.all(
    (names ?? []).map(name => lstat(join(dir, name), { bigint: true }).catch(ignoreMissing)),
  )
  return new Set(stats.flatMap(stat => (stat?.isFile() ? [keyOf(stat)] : [])))
}

const keyOf = ({ dev, ino }: Identity) => `${dev}:${ino}`
