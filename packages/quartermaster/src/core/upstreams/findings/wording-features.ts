import { stem } from '../../search/index.ts'

/**
 * The words of plain text, as the wording of one text is compared with that of others: stems, and for whatever names something
 * only what kind of name it is. A list that is learned from some texts is to be of use for all.
 */
export function wordingWords(plain: string): string[] {
  const words: string[] = []
  for (const { groups = {} } of plain.matchAll(WORD)) {
    const { path, word, sign } = groups
    if (word !== undefined) words.push(word.length > LONGEST_WORD ? word : stem(word))
    else if (path !== undefined) words.push('@path', ...partsOf(path))
    else words.push(sign ?? kindOf(groups))
  }
  return words
}

/** What is longer is no word, and to look for its stem takes time in proportion to its square. */
const LONGEST_WORD = 40

/** Single words, and pairs of them that stand next to each other or one word apart. */
export function wordingFeatures(words: readonly string[]): Set<string> {
  const features = new Set<string>()
  for (const [index, word] of words.entries()) {
    features.add(word)
    const [next, second] = [words[index + 1], words[index + 2]]
    if (next !== undefined) features.add(`${word}+${next}`)
    if (second !== undefined) features.add(`${word}~${second}`)
  }
  return features
}

/** In this order: the first kind that fits. What may fail has an end: looking takes time in proportion to the text. */
const WORD = new RegExp(
  [
    '(?<url>(?:https?:\\/\\/|www\\.)\\S+)',
    '(?<mail>[\\w.+-]{1,64}@[\\w-]{1,64}\\.[a-z.]{2,20})',
    '(?<path>(?:~|\\.{1,2})?\\/[\\w.~*{}<>-][\\w./~*{}<>-]*|\\.[a-z][\\w-]*(?:\\/[\\w.-]+)*)',
    '(?<name>[a-z$][a-z0-9$-]{0,60}(?:[._][a-z0-9$-]{1,60})+)',
    '(?<word>[a-z]+)',
    '(?<number>\\d[\\d.,:%]*)',
    '(?<sign>[;:=#|>{\\[$])',
  ].join('|'),
  'gu',
)

/** What a path is made of says what is there: `~/.ssh/config`. */
function partsOf(path: string): string[] {
  return path.split(/[^a-z0-9]+/u).flatMap(part => (part.length > 2 ? [`/${part}`] : []))
}

function kindOf({ url, mail, number }: Readonly<Record<string, string | undefined>>): string {
  if (url !== undefined) return '@url'
  if (mail !== undefined) return '@mail'
  return number === undefined ? '@name' : '@number'
}
