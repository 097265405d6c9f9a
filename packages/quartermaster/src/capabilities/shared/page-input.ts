import { z } from 'zod'
import { AppError } from '../../contracts/index.ts'

/** The input `limit`: a whole number, checked by `pageLimit` so that whoever asks for too many is told and not refused. */
export function limitInput({ usual, most }: { readonly usual: number; readonly most: number }) {
  return z.number().int().optional().describe(`How many at most. Default ${usual}, capped at ${most}.`)
}

export const cursorInput = z.string().max(512).optional().describe('Where the page before ended: its `next_cursor`.')

/** What is meant by a limit: above the cap it is the cap, and `said` tells so; below 1 it means nothing. */
export function pageLimit(
  limit: number | undefined,
  { usual, most }: { readonly usual: number; readonly most: number },
): { limit: number; said: string | undefined } {
  if (limit === undefined) return { limit: usual, said: undefined }
  if (limit < 1) throw new AppError('INPUT_INVALID', `"limit" must be at least 1, not ${limit}.`)
  if (limit <= most) return { limit, said: undefined }
  return { limit: most, said: `"limit" was lowered from ${limit} to ${most}, the most that one answer has.` }
}
