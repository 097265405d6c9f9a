/** Replaces what must not be seen. */
export type Redact = (text: string) => string

export interface SecretTexts {
  readonly redact: Redact
  /** Of the longest one, however it is spelled, so that nobody cuts a text through the middle of it. */
  readonly longest: number
}

/** A line of a secret of several lines is one itself, from this length on; shorter ones are brackets and the like. */
const SHORTEST_LINE = 8

/** Knows these secrets in any text, as they are and as they are written in JSON and addresses. */
export function createSecretTexts(secrets: readonly string[]): SecretTexts {
  const texts = [...new Set(secrets.flatMap(withLines))].sort((a, b) => b.length - a.length)
  if (texts.length === 0) return { redact: text => text, longest: 0 }
  const spelled = texts.map(text => (text.match(PIECE) ?? []).map(spellingsOf))
  // In one go: a short secret might otherwise be found in what stands for a longer one.
  const pattern = new RegExp(spelled.map(characters => characters.map(anyOf).join('')).join('|'), 'g')
  return { redact: text => text.replace(pattern, '[secret]'), longest: Math.max(...spelled.map(lengthOf)) }
}

function withLines(secret: string): string[] {
  const lines = secret.split(/\r?\n/).filter(line => line.length >= SHORTEST_LINE)
  return [secret, ...lines].filter(text => text !== '')
}

/** Backslashes in a row are one piece: by themselves each could be one or half of one, in more ways than can be tried. */
const PIECE = /\\+|[\s\S]/gu

/** A character as it is and as writers of JSON and of addresses put it: each of them escapes others, and none letters and digits. */
function spellingsOf(character: string): string[] {
  if (/^[A-Za-z0-9]$/.test(character)) return [character]
  const units = Array.from({ length: character.length }, (_, i) =>
    character.charCodeAt(i).toString(16).padStart(4, '0'),
  )
  return [
    ...new Set([
      character,
      JSON.stringify(character).slice(1, -1),
      units.map(unit => `\\u${unit}`).join(''),
      ...(character === '/' ? ['\\/'] : []),
      ...(character === ' ' ? ['+'] : []),
      ...percents(character),
    ]),
  ]
}

/** Half a character has no place in an address. */
function percents(character: string): string[] {
  if (/\p{Surrogate}/u.test(character)) return []
  return [[...new TextEncoder().encode(character)].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')]
}

function anyOf(spellings: readonly string[]): string {
  const patterns = spellings.map(patternOf)
  return patterns.length === 1 ? (patterns[0] ?? '') : `(?:${patterns.join('|')})`
}

/**
 * Hexadecimal digits are the same in either case. JSON in a text of JSON has more backslashes; of any number of them a long
 * row would be looked at again from each of its places.
 */
function patternOf(spelling: string): string {
  const plain = spelling.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  if (!/^(?:\\[u/]|%.)/.test(spelling)) return plain
  return plain
    .replace(/^%.*|u[0-9a-f]{4}/g, code => code.replace(/[a-f]/g, digit => `[${digit}${digit.toUpperCase()}]`))
    .replaceAll('\\\\', '\\\\{1,7}')
}

function lengthOf(characters: readonly (readonly string[])[]): number {
  return characters.reduce((sum, spellings) => sum + Math.max(...spellings.map(({ length }) => length)), 0)
}
