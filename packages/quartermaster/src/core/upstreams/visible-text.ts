/** Emoji contain joiners and selectors that hide nothing, and three flags contain tags. */
const EMOJI =
  '[0-9#*]\\ufe0f?\\u20e3|\\u{1f3f4}(?:\\u{e0067}\\u{e0062}(?:\\u{e0065}\\u{e006e}\\u{e0067}|\\u{e0073}\\u{e0063}\\u{e0074}|\\u{e0077}\\u{e006c}\\u{e0073})\\u{e007f})' +
  '|\\p{Extended_Pictographic}[\\ufe0e\\ufe0f]?\\p{Emoji_Modifier}?(?:\\u200d\\p{Extended_Pictographic}\\ufe0f?\\p{Emoji_Modifier}?){0,8}'

/** Invisible characters, and blanks that look like a plain space. */
const UNSEEN =
  '[\\p{Cc}\\p{Surrogate}\\p{Co}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000\\u{e0000}-\\u{e007f}]'

const SEEN_OR_UNSEEN = new RegExp(`(${EMOJI})|(${UNSEEN})`, 'gu')
const ANY_UNSEEN = new RegExp(UNSEEN, 'u')
const ALL_EMOJI = new RegExp(EMOJI, 'gu')

/** The text with invisible characters escaped: `\u{200b}`. Line breaks and tabs stay. */
export function showHidden(text: string): string {
  // Hardly any text has one, and testing is cheaper than replacing.
  if (!ANY_UNSEEN.test(text)) return text
  return text.replace(SEEN_OR_UNSEEN, (piece, emoji: string | undefined) =>
    emoji !== undefined || piece === '\n' || piece === '\t' ? piece : escaped(piece),
  )
}

/**
 * As `showHidden`, with the trailing space of a line escaped too. Backslashes are doubled, so that a text cannot imitate an
 * escape.
 */
export function showExactly(text: string): string {
  return showHidden(text.includes('\\') ? text.replace(BEFORE_ESCAPE, '$&$&') : text).replace(LAST_SPACE, escaped)
}

const LAST_SPACE = /[ \t](?=\n)/g

/** As `showExactly`, with every character beyond ASCII escaped. */
export function showNonAscii(text: string): string {
  return showExactly(text.replace(BEFORE_LETTER, '$&$&')).replace(ANY_LETTER, escaped)
}

const ANY_LETTER = /[^\x20-\x7e\n\t]/gu

/** A backslash that would read like the beginning of an escape. */
const BEFORE_LETTER = new RegExp(`(?<!\\\\)\\\\+(?=[^\\x00-\\x7f])(?!${UNSEEN})`, 'gu')

const BEFORE_ESCAPE = new RegExp(`(?<!\\\\)\\\\+(?=u\\{[0-9a-f]+\\}|[ \\t]\\n|(?![\\n\\t])${UNSEEN})`, 'gu')

/** The text without emoji, so that the remaining joiners and selectors belong to none. */
export function withoutEmoji(text: string): string {
  return ANY_UNSEEN.test(text) ? text.replace(ALL_EMOJI, ' ') : text
}

/** One line of the text, shortened, with invisible characters escaped. */
export function excerptOf(text: string, longest = LONGEST_EXCERPT): string {
  const line = showHidden(shortened(text, 2 * longest))
    .replace(/\s+/g, ' ')
    .trim()
  return shortened(line, longest)
}

const LONGEST_EXCERPT = 160

/** Never ends in half a surrogate pair. */
export function shortened(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}
