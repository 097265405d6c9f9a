/** Letters for which people write these. */
const LETTERS: Readonly<Record<string, string>> = {
  ...{ 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 6: 'g', 7: 't', 8: 'b', 9: 'g' },
  ...{ '@': 'a', $: 's', '!': 'i' },
}

/** A word with both, that is no part of an address or a path. "h264" is one too, and as letters alone says nothing either. */
const MIXED =
  /(?<![\w@$!./:-])(?=[0-9@$!]{0,20}[A-Za-z])(?=[A-Za-z]{0,20}[0-9@$!])[A-Za-z0-9@$!]{2,40}(?![\w@$!]|[./:-]\w)/g

/** At the end of a word, "!" is the end of a sentence. */
const SIGNS = /11|[013-9@$]|!(?!$)/g

/** A text with letters for the digits in its words, in each way that it may be meant; none where no word has any. */
export function readingsOf(text: string): string[] {
  // Two characters alone are a chip or a while: "i7" is not "it", and "1s" not "is".
  if (!text.match(MIXED)?.some(word => word.length > 2)) return []
  const read = (one: string) =>
    text.replace(MIXED, word => word.replace(SIGNS, sign => (sign === '1' ? one : letterFor(sign))))
  return [...new Set([read('i'), read('l')])].filter(reading => reading !== text)
}

const letterFor = (sign: string) => (sign === '11' ? 'll' : (LETTERS[sign] ?? sign))
