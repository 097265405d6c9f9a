import { z } from 'zod'
import { AppError } from '../../contracts/index.ts'
import type { Digest } from '../kernel/index.ts'
import type { Fit } from './candidates.ts'

/** Where a page of answers ended, and what the question was then. */
export interface RankedPlace {
  readonly slot: number
  readonly score: number
  /** Memories with a higher slot came later, and are no part of these pages. */
  readonly upTo: number
  readonly askedAt: number
  /** Whether it is among those that come after all that were looked at first. */
  readonly isLater: boolean
  /** The last of those that were looked at first. */
  readonly edge: Fit
  readonly known: KnownThen
}

/**
 * What the first page was ranked by. Counted again once some were forgotten, all others would score higher, and those that just
 * passed the end of the page would be on none.
 */
export interface KnownThen {
  /** How many there were to choose from. */
  readonly total: number
  /** How many words a memory had. */
  readonly usual: number
  /** How many had each word of the question. */
  readonly counts: readonly number[]
}

const Count = z.number().int().nonnegative()
const ListPlace = z.tuple([z.string(), Count])
const Flag = z.union([z.literal(0), z.literal(1)])
const Place = z.tuple(
  [z.string(), Count, z.number(), Count, z.number().int(), Flag, Count, z.number(), Count, z.number()],
  Count,
)

/** What makes two questions the same, in few characters. */
export function markOf(digest: Digest, parts: readonly unknown[]): string {
  return digest(JSON.stringify(parts)).slice(0, 8)
}

/** The slot that a page of a list ended at, as a text that means nothing to whoever has it. */
export function toListCursor(mark: string, slot: number): string {
  return written([mark, slot])
}

/** The slot that a page of this very list ended at. */
export function fromListCursor(mark: string, cursor: string): number {
  const [known, slot] = parse(ListPlace, cursor)
  if (known !== mark) throw foreign()
  return slot
}

/** The place as a text that means nothing to whoever has it. */
export function toCursor(mark: string, { slot, score, upTo, askedAt, isLater, edge, known }: RankedPlace): string {
  const looked = [isLater ? 1 : 0, edge.slot, edge.fit]
  return written([mark, slot, score, upTo, askedAt, ...looked, known.total, known.usual, ...known.counts])
}

/** The place in the answers to this very question, which has so many words. */
export function fromCursor(mark: string, cursor: string, words: number): RankedPlace {
  const [known, slot, score, upTo, askedAt, later, edgeSlot, fit, total, usual, ...counts] = parse(Place, cursor)
  if (known !== mark || counts.length !== words) throw foreign()
  const edge = { slot: edgeSlot, fit }
  return { slot, score, upTo, askedAt, isLater: later === 1, edge, known: { total, usual, counts } }
}

/** Of digits, signs and the letters of a digest alone: their base64 has nothing that means something in an address. */
const written = (place: readonly unknown[]) => btoa(JSON.stringify(place)).replaceAll('=', '')

function parse<P>(shape: z.ZodType<P>, cursor: string): P {
  try {
    return shape.parse(JSON.parse(atob(cursor)))
  } catch {
    throw foreign()
  }
}

function foreign(): AppError {
  return new AppError('CURSOR_GONE', 'This cursor belongs to another question. Ask again without it.')
}
