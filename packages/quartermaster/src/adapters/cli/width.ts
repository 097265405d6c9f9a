const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

const PLAIN = /^[\u0020-\u007e]*$/
const NO_WIDTH = /^[\p{M}\p{Cf}]+$/u
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u
/** East Asian wide and full-width characters (Unicode TR 11). */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u

/** How many columns a text takes on a terminal. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  return graphemes(text).reduce((sum, grapheme) => sum + graphemeWidth(grapheme), 0)
}

/** A text padded with spaces to a width; a longer one stays as it is. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)))
}

/** The beginning of a text that fits, with an ellipsis where something was left out. */
export function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  return `${splitAt(text, Math.max(0, width - 1)).head}…`.slice(0, width < 1 ? 0 : undefined)
}

/** The text broken into lines of at most this width, between words where that is possible. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap(line => wrapLine(line, Math.max(1, width)))
}

function wrapLine(line: string, width: number): string[] {
  if (displayWidth(line) <= width) return [line]
  const lines: string[] = []
  let current = ''
  for (const word of line.split(' ')) {
    const longer = current === '' ? word : `${current} ${word}`
    if (displayWidth(longer) <= width) {
      current = longer
      continue
    }
    if (current !== '') lines.push(current)
    const pieces = splitWord(word, width)
    lines.push(...pieces.slice(0, -1))
    current = pieces.at(-1) ?? ''
  }
  return [...lines, current]
}

function splitWord(word: string, width: number): string[] {
  const pieces: string[] = []
  let rest = word
  while (displayWidth(rest) > width) {
    const { head, tail } = splitAt(rest, width)
    if (tail === '') break
    pieces.push(head)
    rest = tail
  }
  return [...pieces, rest]
}

function splitAt(text: string, width: number): { head: string; tail: string } {
  let used = 0
  let length = 0
  for (const grapheme of graphemes(text)) {
    used += graphemeWidth(grapheme)
    // A character wider than the whole line is taken anyway: otherwise nothing would ever be.
    if (used > width && length > 0) break
    length += grapheme.length
    if (used > width) break
  }
  return { head: text.slice(0, length), tail: text.slice(length) }
}

function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), part => part.segment)
}

function graphemeWidth(grapheme: string): number {
  if (NO_WIDTH.test(grapheme)) return 0
  return EMOJI.test(grapheme) || WIDE.test(grapheme) ? 2 : 1
}
