import { toJsonEscape, withoutHidden } from '../../core/kernel/index.ts'

/**
 * What can move a cursor, recolour a screen or reverse the reading order: control characters, bidirectional marks, line
 * separators, tag characters and halves of surrogate pairs. Joiners stay, because scripts and emoji need them.
 */
const UNSAFE =
  /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\p{Surrogate}\u{e0000}-\u{e007f}]/gu

/** What looks like nothing or like a plain space without being one. */
const INVISIBLE = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u00b7]/u

/** A text of one line that a terminal cannot take for commands. Line breaks become spaces. */
export function escapeLine(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, ' ').replace(UNSAFE, escapeCharacter)
}

/** A text that a terminal cannot take for commands; line breaks and tabs stay. */
export function escapeBlock(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(UNSAFE, character => (character === '\n' || character === '\t' ? character : escapeCharacter(character)))
}

/** Everything that is there and cannot be seen, plain spaces and line breaks excepted. */
const HIDDEN = /(?![ \n])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

/**
 * A text of somebody who may want to hide something: what cannot be seen is an escape, and what would push the rest off the
 * screen is told in words.
 */
export function escapeHidden(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(HIDDEN, escapeCharacter)
    .replace(/ {9,}/g, spaces => `[${spaces.length} spaces]`)
    .replace(/\n{4,}/g, breaks => `\n[${breaks.length} line breaks]\n`)
}

/** JSON in which everything that cannot be seen is an escape. It still parses to the same value. */
export function toVisibleJsonText(value: unknown, options: { pretty: boolean }): string {
  return withoutHidden(toJsonText(value, options))
}

/** JSON whose text holds nothing a terminal could act on. It still parses to the same value. */
export function toJsonText(value: unknown, options: { pretty: boolean }): string {
  const text = JSON.stringify(value, null, options.pretty ? 2 : 0) ?? 'null'
  return text.replace(UNSAFE, character => (character === '\n' ? character : toJsonEscape(character)))
}

/**
 * A value as JSON for someone who must see exactly what is there: a space inside a text is a `·`, everything invisible is
 * an escape, and a line break is shown as `\n` with the text going on behind a bar on the next line.
 */
export function toVisibleJson(value: unknown, indent: string): string {
  const text = JSON.stringify(value, null, 2) ?? 'null'
  const visible = text.replace(/"(?:[^"\\]|\\.)*"/g, literal => literal.replace(/\\u[0-9a-f]{4}|\\.|./gsu, toVisible))
  return visible
    .split('\n')
    .map(line => indent + line)
    .join('\n')
}

function toVisible(piece: string): string {
  if (piece === '\\n') return '\\n\n  │ '
  if (piece.length > 1 && piece.startsWith('\\')) return piece
  if (piece === ' ') return '·'
  return INVISIBLE.test(piece) ? toJsonEscape(piece) : piece
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`
}
