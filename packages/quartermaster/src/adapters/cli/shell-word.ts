/** A word that a POSIX shell reads back as exactly this text. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** The same with everything that cannot be seen as an escape, as bash and zsh read it. */
export function visibleWord(text: string): string {
  if (!text.match(HIDDEN)) return shellWord(text)
  return `$'${text.replace(/[\\']/g, '\\$&').replace(HIDDEN, toEscape)}'`
}

/** Line breaks too: a word stays on its line. */
const HIDDEN = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

function toEscape(character: string): string {
  if (character === '\n') return '\\n'
  const code = character.codePointAt(0) ?? 0
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
}
