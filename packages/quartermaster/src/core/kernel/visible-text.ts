import { toJsonEscape } from './hidden-characters.ts'

/**
 * What can move a cursor, recolour a screen or reverse the reading order: control characters, bidirectional marks, line
 * separators, tag characters and halves of surrogate pairs. Joiners stay, because scripts and emoji need them.
 */
export const UNSAFE =
  /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\p{Surrogate}\u{e0000}-\u{e007f}]/gu

/** What is there, cannot be seen, and is needed by no script and no emoji to be read. */
export const UNSEEN =
  /[\u034f\u00ad\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u2800\u3164\uffa0\ufff0-\ufffb\p{Noncharacter_Code_Point}]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0080}-\u{e0fff}]/gu

/** What looks like nothing or like a plain space without being one. */
const INVISIBLE = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u00b7]/u

/** A text of one line that a terminal cannot take for commands, and with nothing unseen in it. Line breaks become spaces. */
export function escapeLine(text: string): string {
  return text
    .replace(/\s+/g, run => (/[\r\n]/.test(run) ? ' ' : run))
    .replace(UNSAFE, escapeCharacter)
    .replace(UNSEEN, escapeCharacter)
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

/** JSON whose text holds nothing a terminal could act on and nothing unseen. It still parses to the same value. */
export function toSafeJson(json: string): string {
  return json
    .replace(UNSAFE, character => (character === '\n' ? character : toJsonEscape(character)))
    .replace(UNSEEN, toJsonEscape)
}

/** What stands for a character that must not stand for itself. */
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
