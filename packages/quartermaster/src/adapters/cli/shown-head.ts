import { sizeInWords } from './bytes.ts'

/** More than this of what a tool gave would push everything else off the screen. */
const MOST_SHOWN = 2_000

/** What is shown of a long text, and how much that is. */
export interface ShownHead {
  readonly text: string
  /** `4 kB of 262 kB` where it is not all. */
  readonly cutAt: string | undefined
}

/** On a terminal a long text is cut; anywhere else it goes out whole. */
export function shownHead(text: string, { isTerminal }: { readonly isTerminal: boolean }): ShownHead {
  if (!isTerminal || text.length <= MOST_SHOWN) return { text, cutAt: undefined }
  // Not in the middle of a character.
  const head = text.slice(0, MOST_SHOWN).replace(/[\uD800-\uDBFF]$/, '')
  return { text: `${head}…`, cutAt: `${sizeOf(head)} of ${sizeOf(text)}` }
}

function sizeOf(text: string): string {
  return sizeInWords(new TextEncoder().encode(text).length)
}
