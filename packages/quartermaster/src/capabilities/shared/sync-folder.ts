import { constants } from 'node:fs'
import type { Pinned, Walker } from './pinned.ts'
import { errnoOf } from './refusal.ts'

// Windows cannot sync a folder, some network file systems neither, and a folder one may write to need not be readable.
const CANNOT = new Set(['EACCES', 'EBADF', 'EINVAL', 'EISDIR', 'ENOTSUP', 'EPERM'])

/** Makes the names in a folder last: a renamed file can be gone after a power cut while its folder is not synced. */
export async function syncFolder(folder: Pinned, walker: Walker): Promise<void> {
  try {
    const handle = await walker.open(folder, constants.O_RDONLY)
    await handle.sync().finally(() => walker.close(handle))
  } catch (error) {
    if (!CANNOT.has(errnoOf(error) ?? '')) throw error
  }
}
