import { lettersOf, skeletonOf } from './look-alikes.ts'
import { countSpellings } from './spelling.ts'

/** The tools of others, as they are looked up. */
export interface OtherNames {
  /** The one whose name has these letters, as agents call it. */
  named(letters: string): string | undefined
  /** The same, where its own server calls it otherwise: it has that name only here. */
  namedOnlyHere(letters: string): string | undefined
  /** The one that its own server calls so, as agents call it. */
  calledByItsServer(letters: string): string | undefined
  /** Those that the eye takes for it. */
  alike(skeleton: string): readonly string[]
}

/** Whose tool a word names. */
export interface Owner {
  readonly isSibling?: true
  /** Somebody else's, by the name that agents know. */
  readonly named?: string | undefined
  /** The same, and just as well one of this server. */
  readonly shared?: string | undefined
  /** Somebody else's by what its server calls it, and others may call theirs. */
  readonly perhaps?: string | undefined
}

/** Names that mean something to whoever reads the definition. */
export interface KnownNames {
  /** Tools of the same server: it may say what it likes about them. */
  readonly siblings: ReadonlySet<string>
  /** What people call these. */
  readonly titles?: ReadonlySet<string> | undefined
  /** Tools of others. */
  readonly others: OtherNames | ReadonlySet<string>
}

/** The names as they are compared, made once for all definitions of a server. */
export interface ComparedNames extends KnownNames {
  readonly others: OtherNames
  /** Without case and separators. */
  readonly titles: ReadonlySet<string>
  /** Siblings as they are written, without case. */
  readonly spelled: ReadonlySet<string>
  /** The same without separators. */
  readonly own: ReadonlySet<string>
  /** The same of what their names end with, behind a separator. */
  readonly ownEndings: ReadonlySet<string>
  /** What the definition that is looked at calls its own arguments, and what may be said with these. */
  readonly parameters?: ReadonlySet<string> | undefined
  /** Words of that definition that may be names of tools, and whose they are. */
  readonly looked?: Map<string, Owner> | undefined
  /** How many siblings are written in which way. */
  readonly spellings: ReadonlyMap<string, number>
  /** Siblings by what the eye takes them for. */
  readonly bySkeleton: ReadonlyMap<string, readonly string[]>
}

export function compareNames({ siblings, titles = new Set(), others }: KnownNames): ComparedNames {
  // Every name ends with one that has no letters.
  const own = new Set([...siblings].map(lettersOf).filter(letters => letters !== ''))
  const bySkeleton = new Map<string, string[]>()
  for (const name of siblings) addTo(bySkeleton, skeletonOf(name), name, MOST_ALIKE)
  return {
    siblings,
    titles: new Set([...titles].map(lettersOf)),
    spelled: new Set([...siblings].map(name => name.toLowerCase())),
    own,
    ownEndings: new Set([...siblings].flatMap(endingsOf)),
    spellings: countSpellings(siblings),
    bySkeleton,
    others: 'named' in others ? others : otherNamesIn(others),
  }
}

/** A server whose names all look alike is found out by the first few. */
const MOST_ALIKE = 10

/** What a name ends with, behind each of its first separators, without separators. Shorter ones are chance. */
export function endingsOf(name: string): string[] {
  return splitsOf(name).map(({ ending }) => ending)
}

/** A name that was taken apart at one of its first separators. */
export interface SplitName {
  /** With the separator, in small letters. */
  readonly front: string
  /** Without separators. */
  readonly ending: string
}

/** The same with what stands before each. */
export function splitsOf(name: string): SplitName[] {
  const spelled = name.replace(/([a-z0-9])([A-Z])/g, '$1_$2')
  return endingsAt(spelled)
    .map(index => ({ front: spelled.slice(0, index).toLowerCase(), ending: lettersOf(spelled.slice(index)) }))
    .filter(({ ending }) => ending.length >= SHORTEST_ENDING)
}

/** Where the first of them begin. Of a name that is made for it there are thousands more. */
function endingsAt(name: string): number[] {
  const starts: number[] = []
  for (const { index } of name.matchAll(/(?<=[^\p{L}\p{Nd}])[\p{L}\p{Nd}]/gu)) {
    if (starts.length === MOST_ENDINGS) break
    starts.push(index)
  }
  return starts
}

const SHORTEST_ENDING = 4
/** No client puts more in front. */
const MOST_ENDINGS = 6

/** A few names, which are also what their own servers call them. */
export function otherNamesIn(names: Iterable<string>): OtherNames {
  const byLetters = new Map<string, string>()
  const bySkeleton = new Map<string, string[]>()
  for (const name of names) {
    byLetters.set(lettersOf(name), name)
    addTo(bySkeleton, skeletonOf(name), name, MOST_ALIKE)
  }
  return {
    named: letters => byLetters.get(letters),
    namedOnlyHere: () => undefined,
    calledByItsServer: () => undefined,
    alike: skeleton => bySkeleton.get(skeleton) ?? [],
  }
}

export function addTo<T>(lists: Map<string, T[]>, key: string, item: T, most: number): void {
  const list = lists.get(key)
  if (!list) lists.set(key, [item])
  else if (list.length < most) list.push(item)
}
