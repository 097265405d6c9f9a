import { rarity } from './bm25.ts'
import { createSynonymTable } from './synonyms.ts'
import { nearTerms, type Posting, type TermIndex, type TermReader, type WeightedTerm } from './terms.ts'
import { STOP_WORDS } from './words.ts'

/** A term of the index that matches a word of the question. */
interface TermMatch {
  posting: Posting
  weight: number
}

/** All matches of one word. Of several matches in the same document only the highest score counts. */
export interface Concept {
  matches: readonly TermMatch[]
  /** What the word itself, and not just another for it, would count at most. */
  worth: number
  /** No document has the word; the matches are of words that look like it. */
  isGuess: boolean
}

/** Finds what the index has for the words of a question; nothing when nearly all of it would be guessed. */
type ConceptFinder = (terms: readonly WeightedTerm[], documents: number) => Map<string, Concept>

/** Rare terms say even more than BM25 thinks: tools are described in the same few common words. */
const RARITY_POWER = 1.25
/** Another word for it is not the word. */
const SYNONYM_WEIGHT = 0.4
const NEAR_WEIGHT = 0.5
/** A question full of names and values is not worth looking around for each of them. */
const MAX_NEAR_LOOKUPS = 8
/** With fewer of its words than this, a question that has only guesses is not misspelt but about something else. */
const GUESSED_PART = 0.5

export function createConceptFinder(index: TermIndex): ConceptFinder {
  const synonyms = createSynonymTable()
  return (terms, documents) => {
    const asked = new Set(terms.map(({ term }) => term))
    let lookups = MAX_NEAR_LOOKUPS
    const matches = (others: Iterable<string>, weight: number): TermMatch[] =>
      [...others].flatMap(term => {
        const posting = index.posting(term)
        return posting ? [{ posting, weight: weight * sharpenedRarity(posting, documents) }] : []
      })
    const conceptOf = ({ term, word, weight }: WeightedTerm): Concept => {
      const itself = matches([term], weight)
      const others = (synonyms.get(term) ?? []).filter(other => !asked.has(other))
      // A synonym never weighs more than the word itself, however rare it is.
      const most = itself.length > 0 ? highestWeight(itself) : Number.POSITIVE_INFINITY
      const other = matches(others, weight * SYNONYM_WEIGHT).map(match => capped(match, most))
      const found = [...itself, ...other]
      if (itself.length > 0) return { matches: found, worth: highestWeight(found), isGuess: false }
      if (found.length > 0) return { matches: found, worth: highestWeight(found) / SYNONYM_WEIGHT, isGuess: false }
      const near = isWord(word) && lookups-- > 0 ? nearTerms(term, index.alike(term)) : []
      const guessed = matches(near, weight * NEAR_WEIGHT)
      return { matches: guessed, worth: highestWeight(guessed) / NEAR_WEIGHT, isGuess: true }
    }
    const concepts = new Map(terms.map(term => [term.term, conceptOf(term)]))
    return isAboutSomethingElse([...concepts.values()]) ? new Map() : concepts
  }
}

const capped = ({ posting, weight }: TermMatch, most: number): TermMatch => ({
  posting,
  weight: Math.min(weight, most),
})

const highestWeight = (matches: readonly TermMatch[]) => matches.reduce((most, { weight }) => Math.max(most, weight), 0)

function isAboutSomethingElse(concepts: readonly Concept[]): boolean {
  const guessed = concepts.filter(({ matches }) => matches.length > 0).length
  return concepts.every(({ isGuess }) => isGuess) && guessed < GUESSED_PART * concepts.length
}

function sharpenedRarity({ slots }: Posting, documents: number): number {
  return rarity(slots.length, documents) ** RARITY_POWER
}

/** Codes and numbers are never almost right. */
const isWord = (word: string) => /^\p{L}+$/u.test(word)

/** What is asked for: everything together, and apart when it is several things. */
export interface Question {
  /** As much of it as is looked at. */
  text: string
  whole: readonly WeightedTerm[]
  /** Empty when there is only one. */
  needs: readonly (readonly WeightedTerm[])[]
}

/** A question is cut here, so that its cost is bounded. */
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

/** One sentence of a description. */
export interface Statement {
  text: string
  /** It says what is done. Other sentences advertise to the reader, or only list words to be found by. */
  isPlain: boolean
}

/** The sentences of a text. */
export function statementsOf(text: string): Statement[] {
  return text
    .split(SENTENCE_END)
    .filter(sentence => sentence !== '')
    .map(sentence => ({ text: sentence, isPlain: !isCourting(sentence) && !isWordList(sentence) }))
}

const SENTENCE_END = /[.!?;]\s+|[。！？；]|\n+/

const isCourting = (sentence: string) => COURTING.some(way => way.test(sentence))

const CHOOSE = '(?:use|call|choose|prefer|pick|select|invoke|run|try)'
const THIS = '(?:this|it|me)(?: (?:tool|function|server|plugin|one))?'
const AT_ALL_TIMES = '(?:first|always|only|exclusively|by default|whenever possible|for (?:everything|anything|all))'
const OTHERS = '(?:(?:any|all|every|the) )*other (?:tool|function|server|plugin)s?'
const PRAISED = '(?:best|greatest|finest|ultimate|perfect|superior|number one|most \\w+)'
/** "Use it for mail" tells what it is for. These tell to favour it, whatever is wanted. */
const COURTING: readonly RegExp[] = [
  `\\b(?:always|must)(?: \\w+)? ${CHOOSE} ${THIS}\\b`,
  `\\b${CHOOSE} ${THIS} ${AT_ALL_TIMES}\\b`,
  `\\bprefer ${THIS}\\b`,
  `\\b(?:over|than|instead of|ignore|avoid|never use|do not use|don't use) ${OTHERS}\\b`,
  `\\bover all others\\b`,
  `\\b${PRAISED} (?:\\w+ ){0,2}(?:tool|choice|solution)\\b`,
].map(way => new RegExp(way, 'i'))

/** Below it, a sentence may well do without small words: "Converts currencies." */
const SHORTEST_LIST = 6
/** A sentence with a smaller share of different words than this (small words aside) is stuffed with words. */
const VARIETY = 0.5

/** Small words hold a sentence together; without any, or saying the same again and again, it is none. */
function isWordList(sentence: string): boolean {
  const words = sentence.toLowerCase().match(/[\p{L}\p{M}]+/gu) ?? []
  if (words.length < SHORTEST_LIST) return false
  const telling = words.filter(word => !isSmall(word))
  return telling.length === words.length || new Set(telling).size < VARIETY * telling.length
}

/** In most languages the small words are short, so that not only English ones are known. */
const isSmall = (word: string) => word.length <= 3 || STOP_WORDS.has(word)
