import type { ComparedNames } from './known-names.ts'
import { lettersOf } from './look-alikes.ts'
import { lookedUp } from './tool-owners.ts'

/** Of so many words is what agents call a tool. */
const LENGTHS = { least: 2, most: 8 } as const
/** Without one of these a name orders nothing. */
const ORDERS = /before|after|instead|rather|prior|place/iu
/** Behind which of its words a name may stand. */
const LEADS: ReadonlySet<string> = new Set(
  'before after of than to calling using call use every each any the'.split(' '),
)

/** What a name says where the name of somebody's tool is in it: `call_this_before_mail_send` → `call this before mail_send`. */
export function* sentencesInside(name: string, names: ComparedNames): Generator<string> {
  for (const { before, letters, after } of innerNames(name)) {
    // Like all words that may be names they are counted, and who has too many of them is held back.
    const isCounted = lookedUp(letters, names) !== undefined
    const known = isCounted ? names.others.namedOnlyHere(letters) : undefined
    if (known !== undefined) yield [...before, known.toLowerCase(), ...after].join(' ')
  }
}

/** Letters of all names that may be in this one. */
export function lettersInside(name: string): string[] {
  return [...innerNames(name)].map(({ letters }) => letters)
}

interface InnerName {
  readonly before: readonly string[]
  readonly letters: string
  readonly after: readonly string[]
}

function* innerNames(name: string): Generator<InnerName> {
  if (!isIdentifier(name) || !ORDERS.test(name)) return
  const words = wordsIn(name)
  for (const [at, lead] of words.entries()) {
    if (!LEADS.has(lead)) continue
    for (let length = LENGTHS.least; length <= LENGTHS.most && at + length < words.length; length++) {
      const [start, end] = [at + 1, at + 1 + length]
      const letters = lettersOf(words.slice(start, end).join(''))
      yield { before: words.slice(0, start), letters, after: words.slice(end) }
    }
  }
}

/** Whether it is several words that are written as one. */
export function isIdentifier(text: string): boolean {
  return text.length <= 256 && !/\s/u.test(text) && /[a-z][_.-]|[a-z][A-Z]/u.test(text)
}

/** `contentOf_ssh_key` → `content`, `of`, `ssh`, `key`. */
export function wordsIn(name: string): string[] {
  return name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .split(/[ _.-]+/)
    .filter(word => word !== '')
    .map(word => word.toLowerCase())
}
