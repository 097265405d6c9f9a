import { stat } from 'node:fs/promises'
import { type Identity, isSame, type Pinned } from './pinned.ts'
import { isMissing } from './refusal.ts'

/** Which thing a path leads to, links followed; `undefined` when there is none. */
export async function identityOf(path: string): Promise<Identity | undefined> {
  try {
    return await stat(path, { bigint: true })
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** The folder and every one above it, by asking the file system for "..", which no name can mislead. */
export async function* upwards(folder: Pinned): AsyncGenerator<Identity> {
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
