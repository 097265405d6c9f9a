import { AppError } from '../../contracts/index.ts'

/** Throws `INPUT_INVALID` for what can be no place in a kept result. A program may hand over anything. */
export function refuseNoPlace(resultId: unknown, offset: unknown): void {
  if (typeof resultId !== 'string' || !/^[\w-]+$/.test(resultId))
    throw new AppError('INPUT_INVALID', 'The id of a result is a text as it stands in _meta["quartermaster/kept"].')
  if (!Number.isInteger(offset) || (offset as number) < 0 || (offset as number) >= TOO_FAR)
    throw new AppError('INPUT_INVALID', 'The offset in a result is a number of bytes: 0 or more, and whole.')
}

/** Sixteen digits. No result is that long, and no address of a page has so many. */
const TOO_FAR = 1e15
