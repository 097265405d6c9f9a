import { SUCCEEDED_META, type ToolResult } from '../../contracts/index.ts'

/** A text that ends like a sentence, so that another one can follow. */
export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/**
 * Characters that can move a cursor, recolour a screen or reverse the reading order: control characters, bidirectional marks,
 * line separators, tag characters and lone surrogates. Joiners stay, because scripts and emoji need them.
 */
export const UNSAFE =
  /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\p{Surrogate}\u{e0000}-\u{e007f}]/gu

/** Invisible characters that no script and no emoji needs. */
export const UNSEEN =
  /[\u034f\u00ad\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u2800\u3164\uffa0\ufff0-\ufffb\p{Noncharacter_Code_Point}]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0080}-\u{e0fff}]/gu

/** Characters that look like nothing or like a plain space. */
const INVISIBLE = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u00b7]/u

/** A text on one line, with terminal control and invisible characters escaped. Line breaks become spaces. */
export function escapeLine(text: string): string {
  return text
    .replace(/\s+/g, run => (/[\r\n]/.test(run) ? ' ' : run))
    .replace(UNSAFE, escapeCharacter)
    .replace(UNSEEN, escapeCharacter)
}

/**
 * JSON for a person who must see exactly what is there: a space in a text is a `·`, invisible characters are escapes, and a
 * line break is shown as `\n` with the text continuing behind a bar on the next line.
 */
export function toVisibleJson(value: unknown, indent: string): string {
  const text = JSON.stringify(value, null, 2) ?? 'null'
  const visible = text.replace(/"(?:[^"\\]|\\.)*"/g, literal => literal.replace(/\\u[0-9a-f]{4}|\\.|./gsu, toVisible))
  return visible
    .split('\n')
    .map(line => indent + line)
    .join('\n')
}

/** JSON without characters that a terminal acts on or that are invisible. It parses to the same value. */
export function toSafeJson(json: string): string {
  return json
    .replace(UNSAFE, character => (character === '\n' ? character : toJsonEscape(character)))
    .replace(UNSEEN, toJsonEscape)
}

export function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`
}

function toVisible(piece: string): string {
  if (piece === '\\n') return '\\n\n  │ '
  if (piece.length > 1 && piece.startsWith('\\')) return piece
  if (piece === ' ') return '·'
  return INVISIBLE.test(piece) ? toJsonEscape(piece) : piece
}

/** Everything invisible except plain spaces and line breaks. */
const HIDDEN = /(?![ \n])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** JSON with every invisible character escaped. It parses to the same value. */
export function withoutHidden(json: string): string {
  return json.replace(HIDDEN, toJsonEscape)
}

function toJsonEscape(character: string): string {
  return Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('')
}

/**
 * A result without the error mark that only MCP needs: clients refuse a cut result whose tool promises a structure, so it is
 * marked as an error on the wire. A toolbox checks no structure.
 */
export function withoutErrorMark(result: ToolResult): ToolResult {
  if (!result.isError) return withoutSucceededMeta(result)
  const { isError: _mark, ...rest } = result
  if (!isStructureDropped(result)) return result
  // The first block explains the mark.
  return withoutSucceededMeta({ ...rest, content: result.content.slice(1) })
}

/** Whether the structure that its tool promises was dropped because it is too large. */
export function isStructureDropped({ _meta }: ToolResult): boolean {
  return _meta?.[SUCCEEDED_META] === true
}

/** The result without the internal note about its mark. */
export function withoutSucceededMeta(result: ToolResult): ToolResult {
  if (!isStructureDropped(result)) return result
  const { _meta, ...rest } = result
  const { [SUCCEEDED_META]: _succeeded, ...own } = _meta ?? {}
  return Object.keys(own).length === 0 ? rest : { ...rest, _meta: own }
}

/** An untrusted text on one line. */
export function line(text: string): string {
  return escapeLine(text).replace(/\s+/g, ' ').trim()
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/

/** What would make a heading: number signs, or a line under the one before it. */
const HEADING = /^(\s{0,3})(?=#|=+\s*$|-+\s*$)/

/** An untrusted text that makes no headings and leaves no code fence open, so that it cannot end a section of ours. */
export function paragraphs(text: string): string {
  let open: string | undefined
  const lines = text
    .trim()
    .split(/\r\n|\r|\n/)
    .map(raw => {
      const one = escapeLine(raw.replaceAll('\t', '    '))
      const [, mark] = FENCE.exec(one) ?? []
      if (open !== undefined) {
        if (mark !== undefined && closes(one, mark, open)) open = undefined
        return one
      }
      // A fence that closes on its own line is inline code.
      if (mark === undefined || (mark.startsWith('`') && one.trim().slice(mark.length).includes('`')))
        return one.replace(HEADING, '$1\\')
      open = mark
      return one
    })
  return [...lines, ...(open === undefined ? [] : [open])].join('\n')
}

function closes(one: string, mark: string, open: string): boolean {
  return mark[0] === open[0] && mark.length >= open.length && one.trim() === mark
}

/** The candidate that a misspelled word probably means. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > MOST_LETTERS) return undefined
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const limit = Math.min(maxDistance(word, candidate) + 1, bestDistance)
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), limit)
    if (distance < limit) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Longer names are not misspelled, and comparing costs the product of both lengths. */
const MOST_LETTERS = 64

/** A third of the letters; short words that differ by more are unrelated. */
function maxDistance(a: string, b: string): number {
  return Math.floor(Math.max(a.length, b.length) / 3)
}

/** ` Did you mean "x"?` to append to a message, or an empty text. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const match = closest(word, candidates)
  return match === undefined ? '' : ` Did you mean "${match}"?`
}

/** As `didYouMean`, or else the list of all candidates. */
export function suggestOrList(word: string, candidates: readonly string[]): string {
  return didYouMean(word, candidates) || ` There are: ${candidates.join(', ') || 'none'}.`
}

/** Edit distance with swaps; gives up once it must reach `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let beforeLast: readonly number[] = []
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const wrong = (last[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwapped ? (beforeLast[j - 2] as number) + 1 : wrong
      current.push(Math.min(wrong, swapped, (last[j] as number) + 1, (current[j - 1] as number) + 1))
    }
    // Each row comes from the two before it and is never below both, so the distance can only grow.
    if (Math.min(...current, ...last) >= limit) return limit
    beforeLast = last
    last = current
  }
  return last[b.length] as number
}
