/**
 * The words of a text in lower case, without accents. Identifiers are taken apart at `_`, `-`, `.`, camel case and
 * digits, and one that was taken apart is also a word by itself, so that "GitHub" is found by "github" and by "hub".
 */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  for (const run of withoutAccents(text).match(RUN) ?? []) {
    // Scripts without spaces have no words to split at; pairs of characters serve as well.
    if (UNSPACED.test(run)) words.push(...pairsOf(run))
    else words.push(...partsOf(run))
  }
  return words
}

/** The name as words with single spaces: equal for `read_file`, `readFile`, `Read-File` and `read file`. */
export const spokenName = (name: string): string => withoutAccents(name).match(PART)?.join(' ').toLowerCase() ?? ''

/** Letters of scripts that are written without spaces between words. */
const UNSPACED_LETTER = String.raw`(?=[\p{L}\p{N}])[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]`
/**
 * Between them and other scripts a word ends: "iPhoneを" has one of each. In the scripts of India some vowels are marks that take
 * a place of their own; without them every word would fall apart into its consonants.
 */
const RUN = new RegExp(String.raw`(?:${UNSPACED_LETTER})+|(?:(?!${UNSPACED_LETTER})[\p{L}\p{N}\p{Mc}])+`, 'gu')
const UNSPACED = new RegExp(UNSPACED_LETTER, 'u')
/** `HTTPServer2` is HTTP, Server and 2. */
const PART = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lm}\p{Lo}]+|\p{Lu}|\p{N}+/gu
const MIXED = /.\p{Lu}|\p{N}/u
/** `PDF` and `PDFs`. */
const ACRONYM = /^\p{Lu}+s?$/u

function withoutAccents(text: string): string {
  const plain = text.replace(/['’](s\b)?/g, '')
  if (/^[\x20-\x7e\s]*$/.test(plain)) return plain
  return plain
    .normalize('NFKD')
    .replace(/\p{Mn}+/gu, '')
    .normalize('NFC')
}

function partsOf(run: string): string[] {
  const whole = run.toLowerCase()
  if (!MIXED.test(run) || ACRONYM.test(run)) return [whole]
  const parts = run.match(PART) ?? []
  return parts.length > 1 ? [...parts.map(part => part.toLowerCase()), whole] : [whole]
}

/** The single characters of what is written without spaces: a question can be one of them. */
export function charactersOf(text: string): string[] {
  return (withoutAccents(text).match(RUN) ?? [])
    .filter(run => run.length > 1 && UNSPACED.test(run))
    .flatMap(run => [...run.toLowerCase()])
}

function pairsOf(run: string): string[] {
  const characters = [...run.toLowerCase()]
  if (characters.length < 2) return characters
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`)
}

/** Nothing to search for, as with a question of punctuation alone. */
export function isWordless(query: string): boolean {
  return !/[\p{L}\p{N}]/u.test(query)
}
