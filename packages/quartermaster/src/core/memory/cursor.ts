import { z } from 'zod'
import { AppError } from '../../contracts/index.ts'
import type { Digest } from '../kernel/index.ts'

/** Where a page of answers ended, and what the question was then. */
export interface RecallPlace {
  /** Memories with a higher slot came later, and are no part of these pages. */
  readonly upTo: number
  readonly askedAt: number
  /** How many there were to choose from. */
  readonly total: number
  readonly score: number
  readonly slot: number
}

const Place = z.tuple([z.string(), z.number().int(), z.number().int(), z.number().int(), z.number(), z.number().int()])

/** What makes two questions the same, in few characters. */
export function markOf(digest: Digest, parts: readonly unknown[]): string {
  return digest(JSON.stringify(parts)).slice(0, 8)
}

/** The place as a text that means nothing to whoever has it. */
export function toCursor(mark: string, { upTo, askedAt, total, score, slot }: RecallPlace): string {
  return hexOf(JSON.stringify([mark, upTo, askedAt, total, score, slot]))
}

/** The place in the answers to this very question. */
export function fromCursor(mark: string, cursor: string): RecallPlace {
  const [known, upTo, askedAt, total, score, slot] = parse(cursor)
  if (known !== mark) throw foreign()
  return { upTo, askedAt, total, score, slot }
}

function parse(cursor: string): z.infer<typeof Place> {
  try {
    return Place.parse(JSON.parse(textOf(cursor)))
  } catch {
    throw foreign()
  }
}

function foreign(): AppError {
  return new AppError('CURSOR_GONE', 'This cursor belongs to another question. Ask again without it.')
}

const hexOf = (text: string) => [...text].map(one => one.charCodeAt(0).toString(16).padStart(2, '0')).join('')
const textOf = (hex: string) =>
  (hex.match(/../g) ?? []).map(pair => String.fromCharCode(Number.parseInt(pair, 16))).join('')
