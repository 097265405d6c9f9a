import { AppError } from '../../contracts/index.ts'
import { type Clock, inTurns, type Steps } from '../kernel/index.ts'

/** About 10,000 tokens: as much as is read with care. */
export const MOST_PAGE_CHARACTERS = 40_000

/** As much of several pages as is shown at once. */
export interface PageText {
  readonly text: string
  /** There: it goes on. */
  readonly nextOffset?: number
}

const BETWEEN = '\n---\n\n'

/**
 * Puts pages together from an offset on, counted over all of them. Each is made when it is its turn and forgotten again, and
 * none beyond what is shown: with what they include there may be more of them than memory. Others have their turn meanwhile.
 */
export function pageText(
  pages: Iterable<() => string>,
  offset: number,
  clock: Pick<Clock, 'now' | 'breathe'>,
): Promise<PageText> {
  return inTurns(cutFrom(pages, offset), clock)
}

function* cutFrom(pages: Iterable<() => string>, offset: number): Steps<PageText> {
  let shown = ''
  let length = 0
  for (const page of pages) {
    const piece = length === 0 ? page() : `${BETWEEN}${page()}`
    shown += piece.slice(Math.max(0, offset - length), Math.max(0, offset + MOST_PAGE_CHARACTERS + 1 - length))
    length += piece.length
    if (shown.length > MOST_PAGE_CHARACTERS) return firstOf(shown, offset)
    yield
  }
  if (offset > 0 && offset >= length)
    throw new AppError('INPUT_INVALID', `The text has ${length} characters, and none from offset ${offset} on.`)
  return { text: shown }
}

/** It never ends in the middle of a character. */
function firstOf(text: string, offset: number): PageText {
  const isHalf = /[\ud800-\udbff]/.test(text.charAt(MOST_PAGE_CHARACTERS - 1))
  const end = isHalf ? MOST_PAGE_CHARACTERS - 1 : MOST_PAGE_CHARACTERS
  return { text: text.slice(0, end), nextOffset: offset + end }
}
