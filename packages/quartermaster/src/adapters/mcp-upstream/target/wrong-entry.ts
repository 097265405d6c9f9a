import { AppError } from '../../../contracts/index.ts'

/** Of an entry that is wrong, whatever was to be done with it. */
export function wrongEntry(name: string, wrong: string): AppError {
  return new AppError('CONFIG_INVALID', `The upstream "${name}" cannot be used. ${wrong}`)
}
