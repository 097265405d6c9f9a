import type { PinKind } from '../../contracts/index.ts'
import type { Steps } from '../kernel/index.ts'
import { lettersInside } from './findings/inner-names.ts'
import { endingsOf, type KnownNames, type OtherNames } from './findings/known-names.ts'
import { lettersOf, skeletonOf } from './findings/look-alikes.ts'
import { wordsLikeTools } from './findings/other-tools.ts'
import { plainTextInSteps } from './findings/plain-text.ts'
import { stringsIn } from './findings/strings-in.ts'
import { titleOf } from './title-of.ts'

/** A definition, and where it is on record. */
export interface Mentioning {
  readonly id: string
  readonly kind: PinKind
  readonly name: string
  readonly hash: string
  value(): unknown
}

/** Of which tools each of them speaks, by the id of its pin: those that are known by now. */
export type Spoken = ReadonlyMap<string, string>

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
  /** What the tools of the server are called. */
  names(): Pick<KnownNames, 'siblings' | 'titles'>
}

interface Mention extends Pick<Mentioning, 'kind' | 'name' | 'hash'> {
  /** Letters of words that are like names of tools. */
  readonly words: readonly string[]
  readonly skeleton: string
  readonly title: string | undefined
  /** Of whom it was known to speak when it was looked at last. */
  readonly told: string
}

export function createMentions(): Mentions {
  let known = new Map<string, Mention>()
  let names: Pick<KnownNames, 'siblings' | 'titles'> = { siblings: new Set() }
  return {
    *note(definitions, kinds) {
      const next = new Map([...known].filter(([, { kind }]) => !kinds.has(kind)))
      for (const one of definitions) {
        const before = known.get(one.id)
        next.set(one.id, before?.hash === one.hash ? before : yield* mentionIn(one))
        yield
      }
      known = next
      const tools = [...next.values()].filter(({ kind }) => kind === 'tool')
      names = {
        siblings: new Set(tools.map(({ name }) => name)),
        titles: new Set(tools.flatMap(({ title }) => title ?? [])),
      }
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
    names: () => names,
  }
}

function namesIn({ words, skeleton }: Mention, others: OtherNames): string[] {
  const named = words.flatMap(word => others.named(word) ?? others.calledByItsServer(word) ?? [])
  return [...named, ...others.alike(skeleton)]
}

function* mentionIn({ kind, name, hash, value }: Mentioning): Steps<Mention> {
  // A name may end as agents call the tool of somebody else.
  const words = new Set<string>(kind === 'tool' ? [lettersOf(name), ...endingsOf(name)] : [])
  const definition = value()
  for (const { text } of stringsIn(definition)) {
    for (const word of lettersInside(text)) words.add(word)
    // There may be a thousand strings without a sentence among them.
    yield
    if (!mayNameTools(text)) continue
    const plain = yield* plainTextInSteps(text.slice(0, LONGEST))
    for (const word of yield* wordsLikeTools(plain)) words.add(word)
    yield
  }
  const found = { words: [...words].slice(0, MOST_WORDS), skeleton: skeletonOf(name), title: titleOf(definition) }
  return { kind, name, hash, ...found, told: '' }
}

/** What is one word says nothing of any tool, unless it is disguised or a name that is made of several. */
function mayNameTools(text: string): boolean {
  return /[\s@]/.test(text) || !ORDINARY.test(text)
}

const ORDINARY = /^[^\P{ASCII}&\\]*$/u
/** As much as is looked at in any string. */
const LONGEST = 32 * 1024
/** More than there are in a definition that is not held back for naming too many: each of a thousand, with all its endings. */
const MOST_WORDS = 16_000
