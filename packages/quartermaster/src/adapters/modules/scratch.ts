import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A private folder from which bundles are imported. One belongs to one load, so every import has an address of its own. */
export interface Scratch {
  /** Imports a text as a module. The file is gone when the import settles, or when the folder is. */
  import(name: string, code: string): Promise<Started>
  remove(): Promise<void>
}

/** An import under way. Its promise may never settle, so it is wrapped: awaiting the start does not await the module. */
export interface Started {
  readonly file: string
  readonly exports: Promise<Record<string, unknown>>
}

export function createScratch(): Scratch {
  let folder: Promise<string> | undefined
  return {
    async import(name, code) {
      // Only the owner can read it or put files into it: the code may hold secrets, and what is in here is run.
      folder ??= mkdtemp(join(tmpdir(), 'quartermaster-'))
      const file = join(await folder, name)
      await writeFile(file, code, { mode: 0o600, flag: 'wx' })
      return { file, exports: importOnce(file) }
    },
    async remove() {
      if (folder) await rm(await folder, { recursive: true, force: true })
    },
  }
}

async function importOnce(file: string): Promise<Record<string, unknown>> {
  try {
    return await import(pathToFileURL(file).href)
  } finally {
    await unlink(file).catch(() => {}) // Gone with its folder already, or it goes with it.
  }
}
