import type { PinKind } from '../../contracts/index.ts'
import type { Steps } from '../kernel/index.ts'
import { skeletonOf } from './scan/look-alikes.ts'
import { nameWordsIn, type OtherNames } from './scan/names.ts'
import { partsOf, plainText, stringsIn } from './scan/text.ts'

/** A definition, and where it is on record. */
interface Mentioning {
  readonly id: string
  readonly kind: PinKind
  readonly name: string
  readonly hash: string
  value(): unknown
}

/** Of which tools each of them speaks, by the id of its pin: those that are known by now. */
type Spoken = ReadonlyMap<string, string>

/**
 * Which words in the definitions of a server may be names of tools, and what its own names look like. A tool that comes later
 * is found in here without reading any definition again: there may be thousands of these, and a tool comes often.
 */
export interface Mentions {
  /** Takes these in place of what it had of these kinds. Those that are the same are not read again. */
  note(definitions: readonly Mentioning[], kinds: ReadonlySet<PinKind>): Steps<void>
  /** Those that speak of tools of others, or look like them, and were not told so before. */
  of(others: OtherNames): Steps<Spoken>
  /** They have been looked at for this. */
  told(spoken: Spoken): void
  /** The names of the server's tools. */
  siblings(): ReadonlySet<string>
}

interface Mention extends Pick<Mentioning, 'kind' | 'name' | 'hash'> {
  /** Letters of words that are like names of tools. */
  readonly words: readonly string[]
  readonly skeleton: string
  /** Of whom it was known to speak when it was looked at last. */
  readonly told: string
}

export function createMentions(): Mentions {
  let known = new Map<string, Mention>()
  let siblings: ReadonlySet<string> = new Set()
  return {
    *note(definitions, kinds) {
      const next = new Map([...known].filter(([, { kind }]) => !kinds.has(kind)))
      for (const one of definitions) {
        const before = known.get(one.id)
        next.set(one.id, before?.hash === one.hash ? before : yield* mentionIn(one))
        yield
      }
      known = next
      siblings = new Set([...next.values()].filter(({ kind }) => kind === 'tool').map(({ name }) => name))
    },
    *of(others) {
      const spoken = new Map<string, string>()
      for (const [id, mention] of known) {
        const told = namesIn(mention, others).join('\n')
        if (told !== '' && told !== mention.told) spoken.set(id, told)
        yield
      }
      return spoken
    },
    told(spoken) {
      for (const [id, told] of spoken) {
        const mention = known.get(id)
        if (mention) known.set(id, { ...mention, told })
      }
    },
    siblings: () => siblings,
  }
}

function namesIn({ words, skeleton }: Mention, others: OtherNames): string[] {
  const named = words.flatMap(word => others.named(word) ?? others.calledByItsServer(word) ?? [])
  return [...named, ...others.alike(skeleton)]
}

/** So that a server with large definitions does not fill the memory. Ordinary definitions have some hundred words. */
const MOST_WORDS = 16_000

function* mentionIn({ kind, name, hash, value }: Mentioning): Steps<Mention> {
  const words = new Set<string>()
  for (const string of stringsIn(value())) {
    for (const { text } of partsOf(string)) {
      for (const { letters } of nameWordsIn(plainText(text))) for (const one of letters) words.add(one)
      yield
    }
    if (words.size >= MOST_WORDS) break
  }
  return { kind, name, hash, words: [...words].slice(0, MOST_WORDS), skeleton: skeletonOf(name), told: '' }
}
