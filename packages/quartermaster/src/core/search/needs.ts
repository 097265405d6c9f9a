import type { TermReader, WeightedTerm } from './terms.ts'

/** What is asked for: everything together, and apart when it is several things. */
export interface Question {
  /** As much of it as is looked at. */
  text: string
  whole: readonly WeightedTerm[]
  /** Empty when there is only one. */
  needs: readonly (readonly WeightedTerm[])[]
}

/** A question is cut here, so that its cost is bounded whoever asks. */
const MAX_CHARACTERS = 2000
const MAX_WORDS = 200
const MAX_NEEDS = 12
/** "Paris, Rome and Oslo" is a list of values; "read the report and mail it to Ada" are two needs. */
const TERMS_OF_A_CLAUSE = 2
/** Long questions tell stories, with many an "and" that begins nothing new. */
const TERMS_OF_A_CLAUSE_AMONG_SENTENCES = 3

/** Takes a question apart into what it asks for, one tool being enough for each. */
export function readQuestion(text: string, reader: TermReader): Question {
  // Single spaces, because the expressions below would try every place in a long stretch of them.
  const cut = text.slice(0, MAX_CHARACTERS).replace(/\s+/g, space => (space.includes('\n') ? '\n' : ' '))
  const weigh = (part: string) => reader.weigh(part, MAX_WORDS)
  const needs = needsOf(cut, weigh).filter(need => need.length > 0)
  return { text: cut, whole: weigh(cut), needs: needs.length > 1 ? needs.slice(0, MAX_NEEDS) : [] }
}

const BETWEEN_SENTENCES =
  /[.!?;]\s+|[。！？；]|\n+|,?\s+(?:(?:and\s+)?(?:then|also|next|finally|lastly|afterwards|additionally|moreover|furthermore|besides|plus)|after that|as well as)\b,?\s*/i
const BETWEEN_CLAUSES = /,\s+(?:and\s+)?|\s+and\s+|，|、/i

type Weigh = (part: string) => WeightedTerm[]

/** The sentences, and their clauses where each of these could stand by itself. */
function needsOf(question: string, weigh: Weigh): WeightedTerm[][] {
  const sentences = question.split(BETWEEN_SENTENCES)
  if (sentences.length === 1) return clausesOf(question, TERMS_OF_A_CLAUSE, weigh)
  return sentences.flatMap(sentence => [
    weigh(sentence),
    ...clausesOf(sentence, TERMS_OF_A_CLAUSE_AMONG_SENTENCES, weigh),
  ])
}

function clausesOf(sentence: string, terms: number, weigh: Weigh): WeightedTerm[][] {
  const clauses = sentence.split(BETWEEN_CLAUSES).map(weigh)
  const canStand = (clause: WeightedTerm[]) => clause.filter(({ weight }) => weight === 1).length >= terms
  return clauses.length > 1 && clauses.every(canStand) ? clauses : []
}
