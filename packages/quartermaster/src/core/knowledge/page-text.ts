import { AppError } from '../../contracts/index.ts'
import { type Clock, inTurns, type Steps } from '../kernel/index.ts'

/** About 10,000 tokens: as much as is read with care. */
export const MOST_PAGE_CHARACTERS = 40_000
/** Few pages are longer, and an answer of this size is nothing to a person's machine. */
const MOST_WHOLE_CHARACTERS = 1_000_000

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
  { offset = 0, isWhole = false, clock }: PageTextOptions,
): Promise<PageText> {
  return inTurns(cutFrom(pages, { offset, most: isWhole ? MOST_WHOLE_CHARACTERS : MOST_PAGE_CHARACTERS }), clock)
}

interface PageTextOptions {
  readonly offset?: number | undefined
  readonly isWhole?: boolean | undefined
  readonly clock: Pick<Clock, 'now' | 'breathe'>
}

interface Cut {
  readonly offset: number
  readonly most: number
}

function* cutFrom(pages: Iterable<() => string>, cut: Cut): Steps<PageText> {
  const { offset, most } = cut
  let shown = ''
  let length = 0
  for (const page of pages) {
    const piece = length === 0 ? page() : `${BETWEEN}${page()}`
    shown += piece.slice(Math.max(0, offset - length), Math.max(0, offset + most + 1 - length))
    length += piece.length
    if (shown.length > most) return firstOf(shown, cut)
    yield
  }
  if (offset > 0 && offset >= length)
    throw new AppError('INPUT_INVALID', `The text has ${length} characters, and none from offset ${offset} on.`)
  return { text: shown }
}

/** It never ends in the middle of a character. */
function firstOf(text: string, { offset, most }: Cut): PageText {
  const isHalf = /[\ud800-\udbff]/.test(text.charAt(most - 1))
  const end = isHalf ? most - 1 : most
  return { text: text.slice(0, end), nextOffset: offset + end }
}
