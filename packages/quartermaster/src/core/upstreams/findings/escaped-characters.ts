/** What an escape stands for, and how long it is. */
export interface EscapedCharacter {
  readonly character: string
  readonly length: number
}

/**
 * Reads the entity (`&#95;`, `&lowbar;`) or the escape of a program (`\u005f`, `\x5f`) or of Markdown (`\_`) at this place.
 * Whoever renders the text shows the character, and models read all of them.
 */
export function escapedAt(text: string, at: number): EscapedCharacter | undefined {
  if (MARKDOWN.test(text.slice(at, at + 2))) return { character: '', length: 1 }
  const { 0: whole, groups = {} } = ESCAPE.exec(text.slice(at, at + LONGEST)) ?? { 0: undefined }
  if (whole === undefined) return undefined
  const character = groups.name === undefined ? characterOf(groups) : NAMED.get(groups.name.toLowerCase())
  return character === undefined ? undefined : { character, length: whole.length }
}

const LONGEST = 32
/** The ampersand may have been escaped once more. */
const ENTITY = '&(?:amp;){0,2}(?:#x0{0,4}(?<hex>[0-9a-f]{1,6})|#0{0,4}(?<decimal>[0-9]{1,7})|(?<name>[a-z]{2,10}));'
const PROGRAM = '\\\\(?:u\\{(?<braced>[0-9a-f]{1,6})\\}|u(?<four>[0-9a-f]{4})|x(?<two>[0-9a-f]{2}))'
const ESCAPE = new RegExp(`^(?:${ENTITY}|${PROGRAM})`, 'iu')
/** A dot, a slash or a backslash may be part of a path. */
const MARKDOWN = /^\\[!-\-:-@[\]-`{-~]/u

/** Those that names of tools, and tags, are written with. */
const NAMED: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ lowbar: '_', underbar: '_', hyphen: '-', dash: '-', sol: '/', period: '.', commat: '@', colon: ':' },
    ...{ lpar: '(', rpar: ')', nbsp: ' ', amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" },
  }),
)

function characterOf({ hex, decimal, braced, four, two }: Record<string, string | undefined>): string | undefined {
  const point = decimal === undefined ? Number.parseInt(hex ?? braced ?? four ?? two ?? '', 16) : Number(decimal)
  return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : undefined
}
