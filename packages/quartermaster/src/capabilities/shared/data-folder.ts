import { fold } from './fold.ts'
import { identityOf, upwards } from './identity.ts'
import { type Identity, isSame, type Pinned } from './pinned.ts'
import { contains } from './requested-path.ts'
import { settle } from './settle.ts'

/** The gateway's own folder: credentials, records. It is never inside, whatever it is called and wherever it lies. */
export interface DataFolder {
  /** Whether this is the folder itself, under any name, link, mount or spelling. */
  is(identity: Identity): boolean
  /** Whether this folder is it or lies in it. */
  holds(folder: Pinned): Promise<boolean>
  /** Whether something made at this real path would be it or lie in it; also while it does not exist yet. */
  claims(realPath: string): Promise<boolean>
}

/** Looks at the data folder as it is now. */
export async function lookAtDataFolder(dataDir: string): Promise<DataFolder> {
  const identity = await identityOf(dataDir)
  const is = (other: Identity) => identity !== undefined && isSame(identity, other)
  return {
    is,
    holds: async folder => {
      if (identity === undefined) return false
      for await (const ancestor of upwards(folder)) if (is(ancestor)) return true
      return false
    },
    claims: async realPath => contains(fold(await settle(dataDir)), fold(realPath), process.platform),
  }
}
