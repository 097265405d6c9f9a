import type { MovedMark } from '../../adapters/data-folder/index.ts'
import { storeFile } from '../../adapters/storage-sqlite/index.ts'
import { AppError } from '../../contracts/index.ts'

/** Which store the environment names. None of it stands in a file that others may read, and none of it is shown. */
export interface StoreChoice {
  /** A PostgreSQL database; without one the store is a file in the data folder. */
  readonly databaseUrl: string | undefined
  /** The key to what is sealed in that database, for all processes that use it; without one that of the data folder. */
  readonly sealingKey: string | undefined
}

/** The variables that say where the store is. */
export const STORE_VARIABLES = { databaseUrl: 'DATABASE_URL', sealingKey: 'QUARTERMASTER_SEALING_KEY' } as const

export function readStoreChoice(env: Readonly<Record<string, string | undefined>>): StoreChoice {
  return {
    databaseUrl: given(env[STORE_VARIABLES.databaseUrl]),
    sealingKey: given(env[STORE_VARIABLES.sealingKey]),
  }
}

/** Where a store is, for people: never with a password. */
interface StorePlace {
  readonly kind: 'sqlite' | 'postgresql'
  readonly place: string
}

/** Where the store of this choice is. */
export async function storePlace({ databaseUrl }: StoreChoice, dataDir: string): Promise<StorePlace> {
  if (databaseUrl === undefined) return { kind: 'sqlite', place: storeFile(dataDir) }
  // Loaded here, because most have their store in a file.
  const { parseDatabaseUrl } = await import('../../adapters/storage-postgres/index.ts')
  return { kind: 'postgresql', place: parseDatabaseUrl(databaseUrl).text }
}

/** A variable that is set to nothing is a way to unset it. */
function given(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value.trim()
}

/** What is to be said of a file whose contents are kept in a database now. */
export function movedWords(dir: string, { file, moved }: MovedMark): { readonly what: string; readonly fix: string } {
  const where = moved ? `${moved.to} at ${moved.at}` : 'another database'
  return {
    what: `What is in "${storeFile(dir)}" was moved to ${where}, so the file is not used any more.`,
    fix:
      `Set ${STORE_VARIABLES.databaseUrl} to that database. To go back to the file on purpose, and without all that came ` +
      `since, delete "${file}".`,
  }
}

/** Two stores that both go on would be two histories, and what was taken back in one would count in the other. */
export function refuseMoved(dir: string, mark: MovedMark | undefined): void {
  if (!mark) return
  const { what, fix } = movedWords(dir, mark)
  throw new AppError('CONFIG_INVALID', `${what} ${fix}`, { details: { folder: dir, ...mark.moved } })
}
