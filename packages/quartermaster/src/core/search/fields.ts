import type { TermReader } from './terms.ts'

/** What can be searched of one thing. Only `id` has to be unique. */
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
  /** Questions that this answers, in the words of people. */
  examples?: readonly string[]
  /** The shelf it stands on: capability, section. */
  group?: string
  tags?: readonly string[]
  /** Changes with the rest of the document, so that an unchanged one need not be read again. */
  hash?: string
}

/**
 * How much each term speaks for a document, between 0 and 1 (BM25F): what a field says counts by the field's weight and
 * less in a long text; together it saturates, so that saying a thing again and again, or everywhere, brings nothing.
 */
export function impactsOf(document: SearchDocument, reader: TermReader): Map<string, number> {
  const amounts = new Map<string, number>()
  for (const field of FIELDS) {
    const terms = reader.read(field.textOf(document), field.maxWords)
    const length = Math.max(terms.length / field.usualTerms, SHORTEST)
    const share = field.weight / (1 - field.lengthMatters + field.lengthMatters * length)
    for (const [term, count] of countsOf(terms))
      amounts.set(term, (amounts.get(term) ?? 0) + share * Math.min(count, COUNTED_REPETITIONS))
  }
  for (const [term, amount] of amounts) amounts.set(term, amount / (SATURATION + amount))
  return amounts
}

/** BM25's k1: the amount of a term that is worth half of everything it can be worth. */
const SATURATION = 0.7
/** Saying it twice may be emphasis; the third time is stuffing. */
const COUNTED_REPETITIONS = 2
/** Being even shorter than this part of the usual is no merit. */
const SHORTEST = 0.6

interface Field {
  textOf(document: SearchDocument): string
  weight: number
  /**
   * The length at which a text is neither favoured nor punished. A constant and not the average of what is indexed:
   * thereby a document's impacts are its own, and adding another one changes none of them.
   */
  usualTerms: number
  /** BM25's b: from 0, where length does not matter, to 1. */
  lengthMatters: number
  /** What stands behind is not looked at: a text of any size costs a bounded time, and padding it is no use. */
  maxWords: number
}

const join = (texts: readonly string[] | undefined) => texts?.join('\n') ?? ''

// Chosen on labelled questions over eight thousand tools. The optimum is flat: half or twice a weight changes little.
const FIELDS: readonly Field[] = [
  { textOf: it => it.name, weight: 2.2, usualTerms: 4, lengthMatters: 0.4, maxWords: 30 },
  { textOf: it => it.title, weight: 1, usualTerms: 4, lengthMatters: 0.4, maxWords: 40 },
  { textOf: it => it.text, weight: 2, usualTerms: 12, lengthMatters: 0.45, maxWords: 400 },
  { textOf: it => join(it.examples), weight: 1.5, usualTerms: 20, lengthMatters: 0.45, maxWords: 400 },
  { textOf: it => join(it.tags), weight: 0.8, usualTerms: 4, lengthMatters: 0.6, maxWords: 40 },
  { textOf: it => join(it.parameters), weight: 0.5, usualTerms: 16, lengthMatters: 0.6, maxWords: 400 },
  { textOf: it => it.details ?? '', weight: 0.8, usualTerms: 40, lengthMatters: 0.6, maxWords: 600 },
  { textOf: it => it.group ?? '', weight: 0.3, usualTerms: 3, lengthMatters: 0.5, maxWords: 20 },
]

function countsOf(terms: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1)
  return counts
}
