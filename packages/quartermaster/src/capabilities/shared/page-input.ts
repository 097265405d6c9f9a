import { z } from 'zod'
import { wholeNumber } from '../../contracts/index.ts'
import { capped } from './capped.ts'

/** The input `limit`: a whole number, checked by `pageLimit` so that whoever asks for too many is told and not refused. */
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
