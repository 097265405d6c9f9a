import type { PinKind } from '../../contracts/index.ts'
import type { Steps } from '../kernel/index.ts'
import { skeletonOf } from './scan/look-alikes.ts'
import { nameWordsIn, type OtherNames } from './scan/names.ts'
import { partsOf, plainText, stringsIn } from './scan/text.ts'

/** A definition with the id of its pin. */
interface Mentioning {
  readonly id: string
  readonly kind: PinKind
  readonly name: string
  readonly hash: string
  value(): unknown
}

/** The tools that definitions mention, by pin id. */
type FoundMentions = ReadonlyMap<string, string>

/**
 * Indexes the words of a server's definitions that may be names of tools, and how its own names look. Tools are added often, so
 * a new tool must be found without reading thousands of definitions again.
 */
export interface Mentions {
  /** Replaces the definitions of these kinds; unchanged ones are not read again. */
  note(definitions: readonly Mentioning[], kinds: ReadonlySet<PinKind>): Steps<void>
  /** Definitions that mention or resemble tools of others and were not reported for these before. */
  of(others: OtherNames): Steps<FoundMentions>
  /** Marks these mentions as reported. */
  markReported(spoken: FoundMentions): void
  siblings(): ReadonlySet<string>
}

interface Mention extends Pick<Mentioning, 'kind' | 'name' | 'hash'> {
  /** Words that look like names of tools, normalised. */
  readonly words: readonly string[]
  readonly skeleton: string
  /** The mentions that were reported last. */
  readonly reported: string
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
        const names = namesIn(mention, others).join('\n')
        if (names !== '' && names !== mention.reported) spoken.set(id, names)
        yield
      }
      return spoken
    },
    markReported(spoken) {
      for (const [id, reported] of spoken) {
        const mention = known.get(id)
        if (mention) known.set(id, { ...mention, reported })
      }
    },
    siblings: () => siblings,
  }
}

function namesIn({ words, skeleton }: Mention, others: OtherNames): string[] {
  const named = words.flatMap(word => others.named(word) ?? others.calledByItsServer(word) ?? [])
  return [...named, ...others.alike(skeleton)]
}

/** Bounds the memory for a server with large definitions. Ordinary ones have some hundred words. */
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
  return { kind, name, hash, words: [...words].slice(0, MOST_WORDS), skeleton: skeletonOf(name), reported: '' }
}
