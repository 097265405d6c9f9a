/** How many names are written in which way. Of one word in small letters nobody can tell. */
export function countSpellings(names: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) {
    const spelling = spellingOf(name)
    if (spelling !== undefined) counts.set(spelling, (counts.get(spelling) ?? 0) + 1)
  }
  return counts
}

interface OtherSpelling {
  /** A name of the same letters. */
  readonly like: string
  /** How the server writes its names. */
  readonly spellings: ReadonlyMap<string, number>
}

/**
 * Whether a name is only written as its server writes most of its names: the same words as the one that it is like, which is
 * written otherwise. What has a separator in another place, or one too many, is written so for its own sake.
 */
export function isSpeltByServer(name: string, { like, spellings }: OtherSpelling): boolean {
  const spelling = spellingOf(name)
  if (spelling === undefined || spelling === spellingOf(like) || wordsOf(name) !== wordsOf(like)) return false
  const same = spellings.get(spelling) ?? 0
  const all = [...spellings.values()].reduce((sum, count) => sum + count, 0)
  return same >= FEWEST_ALIKE && same > all / 2
}

/** Fewer are none to go by. */
const FEWEST_ALIKE = 4

/** One separator between words, the same everywhere. */
const WRITTEN = /^[\p{L}\p{Nd}]+(?:([^\p{L}\p{Nd}])[\p{L}\p{Nd}]+(?:\1[\p{L}\p{Nd}]+)*)?$/u

/** What stands between the words of a name, and where it has capitals. */
function spellingOf(name: string): string | undefined {
  const written = WRITTEN.exec(name)
  if (!written) return undefined
  const capitals = /^\p{Lu}/u.test(name) ? 'A' : /\p{Lu}/u.test(name) ? 'a' : ''
  const spelling = `${written[1] ?? ''}${capitals}`
  return spelling === '' ? undefined : spelling
}

function wordsOf(name: string): string {
  const apart = name.replace(/([\p{Ll}\p{Nd}])(\p{Lu})/gu, '$1 $2')
  return apart
    .split(/[^\p{L}\p{Nd}]+/u)
    .join(' ')
    .toLowerCase()
}
