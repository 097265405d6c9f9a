import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Identity, isSame, type Pinned } from './pinned.ts'
import { isMissing } from './refusal.ts'
import { contains } from './requested-path.ts'

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

async function identityOf(path: string): Promise<Identity | undefined> {
  try {
    return await stat(path, { bigint: true })
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** The folder and every one above it, by asking the file system for "..", which no name can mislead. */
async function* upwards(folder: Pinned): AsyncGenerator<Identity> {
  let path = folder.at()
  let here: Identity = folder.stat
  for (;;) {
    yield here
    path += '/..'
    const above = await stat(path, { bigint: true })
    if (isSame(above, here)) return
    here = above
  }
}

/** The real path of something that may not exist yet. */
async function settle(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (!isMissing(error) || dirname(path) === path) throw error
    return join(await settle(dirname(path)), basename(path))
  }
}

// While the folder is not there, nothing but its name can be compared; a file system may take either spelling for it.
function fold(path: string): string {
  return path.normalize('NFC').toLowerCase()
}
