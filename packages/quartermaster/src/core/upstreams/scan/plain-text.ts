import { latinFor } from './look-alikes.ts'

/**
 * A text as a model reads it through disguises: lower case, Latin letters for those that look like them, entities and escapes
 * decoded, accents, quotes and invisible characters removed, one space between words. A line break marks the end of a
 * sentence and stands for nothing else, so that patterns can stay within one sentence.
 */
export function plainText(text: string): string {
  // A language has some dozens of letters, and normalising each of them once is enough.
  const folded = new Map<string, string>()
  const fold = (character: string) => {
    const known = folded.get(character) ?? foldCharacter(character)
    folded.set(character, known)
    return known
  }
  return unescaped(text)
    .replace(/\r\n?/g, '\n')
    .replace(CONTROLS, '')
    .replace(/[^\x00-\x7f]/gu, fold)
    .replace(SENTENCE_END, END)
    .replace(/['"`*]/g, '')
    .replace(/\s+/g, ' ')
    .replace(END_AND_SPACES, '\n')
    .toLowerCase()
}

/** Marks the end of a sentence until all other line breaks are spaces. The text has no control character of its own. */
const END = '\x01'
const END_AND_SPACES = new RegExp(` ?${END}[ ${END}]*`, 'g')
const CONTROLS = /(?![\t\n])[\x00-\x1f\x7f]/g
/** An empty line, an item of a list, or a mark that ends a sentence: a dot inside `~/.ssh` or `config.json` ends nothing. */
const SENTENCE_END = /\n[^\S\n]*(?:\n|[-*] )|[.!?](?=[\s'"`*)\]<]|$)/g

/** `contentOf_ssh_key` → `content of ssh key`. */
export function wordsOf(name: string): string {
  return name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[ _.-]+/g, ' ')
    .trim()
}

/** Several words that are written as one. */
export function isIdentifier(text: string): boolean {
  return text.length <= 256 && !/\s/u.test(text) && /[a-z][_.-]|[a-z][A-Z]/u.test(text)
}

const DROPPED = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Surrogate}\p{M}‘’‚‛“”„‟«»]/u

function foldCharacter(character: string): string {
  if (DROPPED.test(character)) return ''
  if (/[\s\u2800]/u.test(character)) return ' '
  if (/[。！？｡]/u.test(character)) return END
  if (/\p{Pd}/u.test(character)) return '-'
  if (/\p{Pc}/u.test(character)) return '_'
  return [...character.normalize('NFKD').replace(/\p{M}/gu, '')].map(letter => latinFor(letter) ?? letter).join('')
}

/** Entities (`&#95;`, `&lowbar;`), escapes of programs (`\u005f`, `\x5f`) and of Markdown (`\_`). Models read all of them. */
const ESCAPE =
  /&(?:amp;){0,2}(?:#x0{0,4}(?<hex>[0-9a-f]{1,6})|#0{0,4}(?<decimal>[0-9]{1,7})|(?<name>[a-z]{2,10}));|\\(?:u\{(?<braced>[0-9a-f]{1,6})\}|u(?<four>[0-9a-f]{4})|x(?<two>[0-9a-f]{2})|(?<mark>[!-\-:-@[\]-`{-~]))/giu

const NAMED: Readonly<Record<string, string | undefined>> = {
  ...{ lowbar: '_', underbar: '_', hyphen: '-', dash: '-', sol: '/', period: '.', commat: '@', colon: ':' },
  ...{ lpar: '(', rpar: ')', nbsp: ' ', amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" },
}

/** The text with its escapes decoded. */
export function unescaped(text: string): string {
  if (!/[&\\]/.test(text)) return text
  return text.replace(ESCAPE, (whole, ...rest) => {
    const { hex, decimal, name, braced, four, two, mark } = rest.at(-1) as Record<string, string | undefined>
    if (mark !== undefined) return mark
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole
    const point = decimal === undefined ? Number.parseInt(hex ?? braced ?? four ?? two ?? '', 16) : Number(decimal)
    return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole
  })
}
