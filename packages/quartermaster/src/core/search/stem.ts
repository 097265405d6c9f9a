/**
 * The stem of a lower-case English word, after Porter's second algorithm (https://snowballstem.org/algorithms/english),
 * so that "searching", "searches" and "searched" are one term.
 */
export function stem(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word
  const exception = EXCEPTIONS.get(word)
  if (exception !== undefined) return exception
  const marked = withoutPlural(markConsonantY(word))
  if (FINISHED.has(marked)) return marked
  const regions = regionsOf(marked)
  const steps = [withoutTense, withoutFinalY, withShorterEnding, withoutDerivation, withoutSuffix, withoutFinalE]
  return steps.reduce((rest, step) => step(rest, regions), marked).toLowerCase()
}

const EXCEPTIONS = new Map([
  ...['sky', 'news', 'howe', 'atlas', 'cosmos', 'bias', 'andes'].map((word): [string, string] => [word, word]),
  ['skis', 'ski'],
  ['skies', 'sky'],
  ['dying', 'die'],
  ['lying', 'lie'],
  ['tying', 'tie'],
  ['idly', 'idl'],
  ['gently', 'gentl'],
  ['ugly', 'ugli'],
  ['early', 'earli'],
  ['only', 'onli'],
  ['singly', 'singl'],
])

/** Words that only look like a verb with an ending. */
const FINISHED = new Set(['inning', 'outing', 'canning', 'herring', 'earring', 'proceed', 'exceed', 'succeed'])

/** The beginnings of the two regions in which endings may be removed; `second` lies within `first`. */
interface Regions {
  first: number
  second: number
}

/** Writes a consonant `y` as `Y`, so that vowels are `[aeiouy]` below. */
const markConsonantY = (word: string) => word.replace(/^y/, 'Y').replace(/([aeiouy])y/g, '$1Y')

function regionsOf(word: string): Regions {
  const irregular = /^(gener|commun|arsen|past|univers|later|emerg|organ|inter)/.exec(word)?.[0].length
  const first = irregular ?? regionAfter(word, 0)
  return { first, second: regionAfter(word, first) }
}

/** Behind the first consonant that follows a vowel. */
function regionAfter(word: string, from: number): number {
  const match = /[aeiouy][^aeiouy]/.exec(word.slice(from))
  return match ? from + match.index + 2 : word.length
}

const endsInShortSyllable = (word: string) => /(^[aeiouy][^aeiouy]|[^aeiouy][aeiouy][^aeiouywxY]|^past)$/.test(word)

function withoutPlural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2)
  if (/ie[ds]$/.test(word)) return word.slice(0, word.length > 4 ? -2 : -1)
  return /[aeiouy].*[^us]s$/.test(word) ? word.slice(0, -1) : word
}

function withoutTense(word: string, { first }: Regions): string {
  const agreed = /eed(ly)?$/.exec(word)
  if (agreed) return agreed.index >= first ? word.slice(0, agreed.index + 2) : word
  const rest = /^(.*[aeiouy].*?)(ed|edly|ing|ingly)$/.exec(word)?.[1]
  if (rest === undefined) return word
  if (/(at|bl|iz)$/.test(rest)) return `${rest}e`
  if (/(bb|dd|ff|gg|mm|nn|pp|rr|tt)$/.test(rest)) return rest.slice(0, -1)
  return rest.length <= first && endsInShortSyllable(rest) ? `${rest}e` : rest
}

const withoutFinalY = (word: string) => word.replace(/(.[^aeiouy])[yY]$/, '$1i')

/** Endings and their replacements, the longest first. */
const DERIVATIONS: readonly (readonly [string, string])[] = [
  ['ization', 'ize'],
  ['ational', 'ate'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['iveness', 'ive'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['lessli', 'less'],
  ['entli', 'ent'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['ousli', 'ous'],
  ['iviti', 'ive'],
  ['fulli', 'ful'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['abli', 'able'],
  ['izer', 'ize'],
  ['ator', 'ate'],
  ['alli', 'al'],
  ['logi', 'log'],
  ['bli', 'ble'],
]

function withShorterEnding(word: string, { first }: Regions): string {
  const found = DERIVATIONS.find(([ending]) => word.endsWith(ending))
  if (found) return replaceEnding(word, found, first)
  return /[cdeghkmnrt]li$/.test(word) && word.length - 2 >= first ? word.slice(0, -2) : word
}

const FURTHER_DERIVATIONS: readonly (readonly [string, string])[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['alize', 'al'],
  ['icate', 'ic'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
]

function withoutDerivation(word: string, { first, second }: Regions): string {
  if (word.endsWith('ative')) return replaceEnding(word, ['ative', ''], second)
  const found = FURTHER_DERIVATIONS.find(([ending]) => word.endsWith(ending))
  return found ? replaceEnding(word, found, first) : word
}

function withoutSuffix(word: string, { second }: Regions): string {
  const match = /(ement|ance|ence|able|ible|ment|(?<=[st])ion|ant|ent|ism|ate|iti|ous|ive|ize|al|er|ic)$/.exec(word)
  return match && match.index >= second ? word.slice(0, match.index) : word
}

function withoutFinalE(word: string, { first, second }: Regions): string {
  const rest = word.slice(0, -1)
  if (word.endsWith('e'))
    return rest.length >= second || (rest.length >= first && !endsInShortSyllable(rest)) ? rest : word
  return word.endsWith('ll') && rest.length >= second ? rest : word
}

/** Replaces an ending within the region. Outside of it, a shorter ending must not be tried instead. */
function replaceEnding(word: string, [ending, replacement]: readonly [string, string], region: number): string {
  const at = word.length - ending.length
  return at >= region ? word.slice(0, at) + replacement : word
}
