import {
  escapeCharacter,
  escapeLine,
  toSafeJson,
  toVisibleJson,
  UNSAFE,
  UNSEEN,
  withoutHidden,
} from '../../../core/kernel/index.ts'

export { escapeLine, toVisibleJson }

/** A text that a terminal cannot take for commands, and with nothing unseen in it; line breaks and tabs stay. */
export function escapeBlock(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(UNSAFE, character => (character === '\n' || character === '\t' ? character : escapeCharacter(character)))
    .replace(UNSEEN, escapeCharacter)
}

/** Text that others wrote to be read: escaped, and with no gap that pushes the rest off the screen. */
export function escapeProse(text: string): string {
  return withoutGaps(escapeBlock(text))
}

/** Runs of spaces that would push the rest of a line off the screen become a note. Fewer may be indentation. */
export function withoutGaps(text: string): string {
  return text.replace(/\p{Zs}{40,}/gu, inWords)
}

/** The same inside of JSON: what stands at the beginning of a line is its own indentation. */
export function withoutGapsInJson(json: string): string {
  return json.replace(/(?<=\S)\p{Zs}{40,}/gu, inWords)
}

function inWords(spaces: string): string {
  return `[${spaces.length} spaces]`
}

/** Everything that is there and cannot be seen, plain spaces and line breaks excepted. */
const HIDDEN = /(?![ \n])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

/**
 * Text whose author may want to hide something: what cannot be seen is an escape, and what would push the rest off the
 * screen is told in words.
 */
export function escapeHidden(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(HIDDEN, escapeCharacter)
    .replace(/ {9,}/g, inWords)
    .replace(/\n{4,}/g, breaks => `\n[${breaks.length} line breaks]\n`)
}

/** JSON in which everything that cannot be seen is an escape. It still parses to the same value. */
export function toVisibleJsonText(value: unknown, options: { pretty: boolean }): string {
  return withoutHidden(toJsonText(value, options))
}

/** JSON whose text holds nothing a terminal could act on and nothing unseen. It still parses to the same value. */
export function toJsonText(value: unknown, options: { pretty: boolean }): string {
  return toSafeJson(JSON.stringify(value, null, options.pretty ? 2 : 0) ?? 'null')
}

/** A word that a POSIX shell reads back as exactly this text. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** The same with everything that cannot be seen as an escape, as bash and zsh read it. */
export function visibleWord(text: string): string {
  if (!text.match(HIDDEN_IN_WORD)) return shellWord(text)
  return `$'${text.replace(/[\\']/g, '\\$&').replace(HIDDEN_IN_WORD, toEscape)}'`
}

/** Line breaks too: a word stays on its line. */
const HIDDEN_IN_WORD = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

function toEscape(character: string): string {
  if (character === '\n') return '\\n'
  const code = character.codePointAt(0) ?? 0
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** The lines of quoted text, each behind a bar. */
export function barred(text: string): string[] {
  return text.split(/\r\n|[\n\r\u2028\u2029]/).map(line => `| ${line}`)
}
