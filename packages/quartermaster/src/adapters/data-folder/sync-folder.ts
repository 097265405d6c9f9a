import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/** A file that was put into the folder is there after a power cut too. */
export async function syncFolder(dir: string): Promise<void> {
  // Windows opens no folders, and needs no such sync.
  const handle: FileHandle | undefined = await open(dir, constants.O_RDONLY).catch(() => undefined)
  await handle?.sync().finally(() => handle.close())
}
