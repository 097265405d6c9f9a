import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, link, rename, rm } from 'node:fs/promises'
import type { Walker } from './pinned.ts'
import type { Place } from './place.ts'
import { errnoOf } from './refusal.ts'
import { syncFolder } from './sync-folder.ts'

export interface AtomicWriteOptions {
  place: Place
  data: Uint8Array
  /** Take the place of what is there; otherwise `EEXIST` when anything is. */
  replace: boolean
  walker: Walker
  signal: AbortSignal
  /** A last look, right before the new content takes its place: what it throws leaves everything as it is. */
  confirm?: () => Promise<void>
}

/**
 * Writes a file so that everyone sees the old content or the new one, never a part: a temporary file in the same folder
 * is written, synced and put under the name in one step.
 */
export async function writeAtomically({
  place,
  data,
  replace,
  walker,
  signal,
  confirm,
}: AtomicWriteOptions): Promise<void> {
  const { folder, name, existing } = place
  // A file that is closed to writing must not be replaced through its folder.
  if (existing) await access(existing.at(), constants.W_OK)
  const temporary = `.quartermaster-${randomBytes(8).toString('hex')}.tmp`
  // Until its mode is set, the new content of a private file is private too.
  const handle = await walker.create(folder, temporary, existing ? 0o600 : 0o666)
  try {
    await handle.writeFile(data)
    if (existing) await handle.chmod(Number(existing.stat.mode & 0o777n))
    await handle.sync()
    await walker.close(handle)
    signal.throwIfAborted()
    await walker.confirm(folder)
    await confirm?.()
    if (replace) await rename(folder.at(temporary), folder.at(name))
    else await putNew({ place, temporary, walker })
  } finally {
    // A leftover that cannot be removed is in nobody's way: such names are never shown.
    await rm(folder.at(temporary), { force: true }).catch(() => {})
  }
  await syncFolder(folder, walker)
}

const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/** `link` fails when the name is taken; `rename` would replace what came there meanwhile. */
async function putNew({
  place,
  temporary,
  walker,
}: {
  place: Place
  temporary: string
  walker: Walker
}): Promise<void> {
  const { folder, name } = place
  try {
    await link(folder.at(temporary), folder.at(name))
  } catch (error) {
    if (!NO_LINKS.has(errnoOf(error) ?? '')) throw error
    // Without hard links (FAT, some network shares): take the name first, then fill it in one step.
    await walker.close(await walker.create(folder, name, 0o666))
    await rename(folder.at(temporary), folder.at(name))
  }
}
