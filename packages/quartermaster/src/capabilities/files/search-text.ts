import type { Budget } from '../shared/budget.ts'
import type { Matcher, Span } from './matcher.ts'

/** A line in which something was found. */
export interface LineMatch {
  /** Counted from 1. */
  readonly line: number
  /** Where the match begins in the line, counted from 1. */
  readonly column: number
  readonly text: string
  readonly before: string[]
  readonly after: string[]
}

export interface SearchTextOptions {
  text: string
  matcher: Matcher
  /** How many lines around a match are shown. */
  context: number
  budget: Budget
}

// Long enough to see what a match is about; a line of a minified file would fill the answer alone.
const SHOWN = 240
// A line of megabytes is looked at in pieces that overlap, so that the event loop is not held for all of it.
const PIECE = 8_192
const OVERLAP = 1_024
const LINES_BETWEEN_BREATHS = 64

/** Searches a text line by line, as far as the budget goes. */
export async function* searchText({ text, matcher, context, budget }: SearchTextOptions): AsyncGenerator<LineMatch> {
  if (!matcher.mayMatch(text)) return
  const lines = linesOf(text)
  for (const [index, line] of lines.entries()) {
    if (index % LINES_BETWEEN_BREATHS === 0) await budget.breathe()
    if (budget.isUsedUp()) return
    const found = line.length > PIECE ? await findInLongLine(line, matcher, budget) : matcher.find(line)
    if (!found) continue
    yield {
      line: index + 1,
      column: found.start + 1,
      text: cutAround(line, found),
      before: lines.slice(Math.max(0, index - context), index).map(cutStart),
      after: lines.slice(index + 1, index + 1 + context).map(cutStart),
    }
  }
}

/** The part of a line around a match, with "…" where something was cut. */
export function cutAround(line: string, { start, end }: Span): string {
  if (line.length <= SHOWN) return line
  const room = Math.max(0, SHOWN - (end - start))
  const from = Math.max(0, Math.min(start - Math.floor(room / 2), line.length - SHOWN))
  const to = Math.min(line.length, from + SHOWN)
  const shown = line.slice(from, to).replace(HALVES, '')
  return `${from > 0 ? '…' : ''}${shown}${to < line.length ? '…' : ''}`
}

// A cut must not leave half of a character behind.
const HALVES = /^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g

function cutStart(line: string): string {
  return cutAround(line, { start: 0, end: 0 })
}

function linesOf(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.map(line => (line.endsWith('\r') ? line.slice(0, -1) : line))
}

async function findInLongLine(line: string, matcher: Matcher, budget: Budget): Promise<Span | undefined> {
  for (let from = 0; from < line.length && !budget.isUsedUp(); from += PIECE - OVERLAP) {
    const found = matcher.find(line.slice(from, from + PIECE))
    if (found) return { start: from + found.start, end: from + found.end }
    await budget.breathe()
  }
  return undefined
}
