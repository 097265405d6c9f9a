import { type Statement, statementsOf } from './concepts.ts'
import { CHARACTERS_OF_A_WORD, type TermReader } from './terms.ts'
import { spokenName } from './words.ts'

/** The searchable texts of a tool or page. Only `id` has to be unique. */
export interface SearchDocument {
  id: string
  name: string
  title: string
  /** One sentence. */
  text: string
  /** When to use it, what it is not. */
  details?: string
  /** Names and descriptions. */
  parameters?: readonly string[]
  /** Example queries. */
  examples?: readonly string[]
  /** The group it belongs to: capability, section. */
  group?: string
  tags?: readonly string[]
  /** The text of a page. */
  body?: string
  /** Ranks behind all others, unless the query names it. */
  isDeprecated?: boolean
}

/**
 * The weight of each term in a document, between 0 and 1 (BM25F): occurrences count by the field's weight, and less in a long text.
 * The sum saturates, so that repeating a word gains nothing.
 */
export function impactsOf(document: SearchDocument, reader: TermReader): Map<string, number> {
  const amounts = new Map<string, number>()
  for (const field of FIELDS) {
    const { counts, terms } = countTerms(field, document, reader)
    const length = Math.max(terms / field.usualTerms, SHORTEST)
    const share = field.weight / (1 - field.lengthMatters + field.lengthMatters * length)
    for (const [term, count] of counts)
      amounts.set(term, (amounts.get(term) ?? 0) + share * Math.min(count, COUNTED_REPETITIONS))
  }
  for (const [term, amount] of amounts) amounts.set(term, amount / (SATURATION + amount))
  return amounts
}

/** BM25's k1: the amount of a term that gives half of the highest weight. */
const SATURATION = 0.7
/** Twice in a sentence may be emphasis; a third time is stuffing, and counts like once. */
const COUNTED_REPETITIONS = 2
/** Weight of self-praise and lists of words. Above 0, so that a tool with an enthusiastic author is found where no other fits. */
const HOLLOW_WEIGHT = 0.15
/** Texts shorter than this share of the usual length gain nothing more. */
const SHORTEST = 0.6

interface Field {
  textOf(document: SearchDocument): string
  weight: number
  /** The length with a neutral weight. A constant, not an average: so adding a document changes no other one's weights. */
  usualTerms: number
  /** BM25's b: from 0, where length does not matter, to 1. */
  lengthMatters: number
  /** Later words are ignored, so that any text costs a bounded time. */
  maxWords: number
  /** Sentences, whose author may have stuffed them with words to be found by. */
  isProse?: boolean
}

const join = (texts: readonly string[] | undefined) => texts?.join('\n') ?? ''

// Chosen on labelled questions over eight thousand tools. The optimum is flat: half or twice a weight changes little.
const FIELDS: readonly Field[] = [
  { textOf: it => it.name, weight: 2.2, usualTerms: 4, lengthMatters: 0.4, maxWords: 30 },
  { textOf: it => it.title, weight: 1, usualTerms: 4, lengthMatters: 0.4, maxWords: 40 },
  { textOf: it => it.text, weight: 2, usualTerms: 12, lengthMatters: 0.45, maxWords: 400, isProse: true },
  { textOf: it => join(it.examples), weight: 1.5, usualTerms: 20, lengthMatters: 0.45, maxWords: 400 },
  { textOf: it => join(it.tags), weight: 0.8, usualTerms: 4, lengthMatters: 0.6, maxWords: 40 },
  { textOf: it => join(it.parameters), weight: 0.5, usualTerms: 16, lengthMatters: 0.6, maxWords: 400 },
  { textOf: it => it.details ?? '', weight: 0.8, usualTerms: 40, lengthMatters: 0.6, maxWords: 600, isProse: true },
  { textOf: it => it.body ?? '', weight: 0.8, usualTerms: 200, lengthMatters: 0.5, maxWords: 4_000, isProse: true },
  { textOf: it => it.group ?? '', weight: 0.3, usualTerms: 3, lengthMatters: 0.5, maxWords: 20 },
]

/** The count of each term, and how many were read: also words that count nothing make the text longer. */
function countTerms({ textOf, maxWords, isProse }: Field, document: SearchDocument, reader: TermReader) {
  const counts = new Map<string, number>()
  const text = textOf(document).slice(0, maxWords * CHARACTERS_OF_A_WORD)
  let terms = 0
  for (const statement of isProse ? statementsOf(text) : [{ text, isPlain: true }]) {
    if (terms >= maxWords) break
    const read = reader.read(statement.text, maxWords - terms)
    terms += read.length
    for (const [term, times] of timesOf(read))
      counts.set(term, (counts.get(term) ?? 0) + (isProse ? countIn(statement, times) : times))
  }
  return { counts, terms }
}

function countIn({ isPlain }: Statement, times: number): number {
  if (!isPlain) return HOLLOW_WEIGHT
  return times > COUNTED_REPETITIONS ? 1 : times
}

function timesOf(terms: readonly string[]): Map<string, number> {
  const times = new Map<string, number>()
  for (const term of terms) times.set(term, (times.get(term) ?? 0) + 1)
  return times
}

/** Documents by name, whatever its spelling. */
interface NameIndex {
  add(slot: number, name: string): void
  remove(slot: number, name: string): void
  /** The documents that a query names, as a whole or by identifiers in it; the closest spelling first. */
  named(question: string): number[]
}

/** Further names in a query are words like others. */
const MAX_IDENTIFIERS = 16
const LONGEST_NAME = 128

export function createNameIndex(): NameIndex {
  const bySpoken = new Map<string, { slot: number; name: string }[]>()

  const find = (asked: string) => {
    const lower = asked.toLowerCase()
    const closeness = (name: string) => (name === asked ? 0 : name.toLowerCase() === lower ? 1 : 2)
    return [...(bySpoken.get(spokenName(asked)) ?? [])].sort(
      (a, b) => closeness(a.name) - closeness(b.name) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
    )
  }

  return {
    add(slot, name) {
      const key = spokenName(name)
      const others = bySpoken.get(key)
      if (others) others.push({ slot, name })
      else bySpoken.set(key, [{ slot, name }])
    },
    remove(slot, name) {
      const key = spokenName(name)
      const others = (bySpoken.get(key) ?? []).filter(entry => entry.slot !== slot)
      if (others.length > 0) bySpoken.set(key, others)
      else bySpoken.delete(key)
    },
    named(question) {
      const asked = [question.trim(), ...identifiersOf(question)]
      return [...new Set(asked.flatMap(find).map(({ slot }) => slot))]
    },
  }
}

/** Identifiers in a query: `read_file`, `readFile`, `files.read`. */
function identifiersOf(question: string): string[] {
  const words = question.match(/[\p{L}\p{N}_.-]+/gu) ?? []
  return words
    .filter(word => word.length <= LONGEST_NAME)
    .map(word => word.replace(/^[.-]+|[.-]+$/g, ''))
    .filter(word => /[\p{L}\p{N}][_.-][\p{L}\p{N}]|\p{Ll}\p{Lu}/u.test(word))
    .slice(0, MAX_IDENTIFIERS)
}
