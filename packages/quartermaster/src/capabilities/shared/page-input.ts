import { z } from 'zod'
import { AppError, wholeNumber } from '../../contracts/index.ts'

/** The input `limit`: a whole number. `pageLimit` lowers one that is too high and says so, instead of refusing the call. */
export function limitInput({ usual, most }: { readonly usual: number; readonly most: number }) {
  return wholeNumber().optional().describe(`How many at most. Default ${usual}, capped at ${most}.`)
}

export const cursorInput = z.string().max(512).optional().describe('Where the page before ended: its `next_cursor`.')

/** What is meant by a limit: above the cap it is the cap, and `said` tells so; below 1 it means nothing. */
export function pageLimit(
  wanted: number | undefined,
  { usual, most }: { readonly usual: number; readonly most: number },
): { limit: number; said: string | undefined } {
  const { value, said } = capped(wanted ?? usual, { name: 'limit', most, why: 'the most that one answer has' })
  return { limit: value, said }
}

interface Cap {
  /** The input's name. */
  readonly name: string
  readonly most: number
  /** What the cap is, as in "the most that one answer has". */
  readonly why: string
}

/** What is meant by a number that has a cap: above it the cap, and `said` tells so; below 1 it means nothing. */
export function capped(wanted: number, { name, most, why }: Cap): { value: number; said: string | undefined } {
  if (!(wanted >= 1)) throw new AppError('INPUT_INVALID', `"${name}" must be at least 1, not ${wanted}.`)
  if (wanted <= most) return { value: wanted, said: undefined }
  return { value: most, said: `"${name}" was lowered from ${wanted} to ${most}, ${why}.` }
}
