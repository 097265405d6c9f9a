import type { MovedMark } from '../adapters/data-folder/index.ts'
import { storeFile } from '../adapters/storage-sqlite/index.ts'
import { AppError } from '../contracts/index.ts'
import { STORE_VARIABLES } from './store-choice.ts'

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
