import { rarity } from './bm25.ts'
import { nearTerms, type Posting, type TermIndex, type TermReader, toTerm, type WeightedTerm } from './terms.ts'
import { STOP_WORDS } from './words.ts'

/** A term of the index that matches a word of the question. */
interface TermMatch {
  posting: Posting
  weight: number
}

/** All matches of one word. Of several matches in the same document only the highest score counts. */
export interface Concept {
  matches: readonly TermMatch[]
  /** The highest weight that the word itself could have. */
  worth: number
  /** No document has the word; the matches are similar words. */
  isGuess: boolean
}

/** Finds the matches of a query's terms; nothing when nearly all would be guesses. */
type ConceptFinder = (terms: readonly WeightedTerm[], documents: number) => Map<string, Concept>

/** Rare terms weigh more than in BM25: tools are described in the same few common words. */
const RARITY_POWER = 1.25
const SYNONYM_WEIGHT = 0.4
const NEAR_WEIGHT = 0.5
/** Queries full of names and values would cost a lookup for each. */
const MAX_NEAR_LOOKUPS = 8
/** A query with only guesses, and for fewer of its words than this, is about something else. */
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

/** Codes and numbers have no similar words. */
const isWord = (word: string) => /^\p{L}+$/u.test(word)

/** A query: all terms, and the terms of each need when it has several. */
export interface Question {
  /** The part that is read. */
  text: string
  whole: readonly WeightedTerm[]
  /** Empty when there is only one need. */
  needs: readonly (readonly WeightedTerm[])[]
}

/** Queries are cut here, so that their cost is bounded. */
const MAX_CHARACTERS = 2000
const MAX_WORDS = 200
const MAX_NEEDS = 12
/** "Paris, Rome and Oslo" is a list of values; "read the report and mail it to Ada" are two needs. */
const TERMS_OF_A_CLAUSE = 2
/** In long queries many an "and" begins nothing new. */
const TERMS_OF_A_CLAUSE_AMONG_SENTENCES = 3

/** Splits a query into its needs, each of which one tool may answer. */
export function readQuestion(text: string, reader: TermReader): Question {
  // Single spaces, because the patterns below would take quadratic time on long runs of them.
  const cut = text.slice(0, MAX_CHARACTERS).replace(/\s+/g, space => (space.includes('\n') ? '\n' : ' '))
  const weigh = (part: string) => reader.weigh(part, MAX_WORDS)
  const needs = needsOf(cut, weigh).filter(need => need.length > 0)
  return { text: cut, whole: weigh(cut), needs: needs.length > 1 ? needs.slice(0, MAX_NEEDS) : [] }
}

const BETWEEN_SENTENCES =
  /[.!?;]\s+|[。！？；]|\n+|,?\s+(?:(?:and\s+)?(?:then|also|next|finally|lastly|afterwards|additionally|moreover|furthermore|besides|plus)|after that|as well as)\b,?\s*/i
const BETWEEN_CLAUSES = /,\s+(?:and\s+)?|\s+and\s+|，|、/i

type Weigh = (part: string) => WeightedTerm[]

/** The sentences, and their clauses where each could stand alone. */
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
  /** Whether it describes. Other sentences advertise, or only list words to be found by. */
  isPlain: boolean
}

/** The sentences of a text. */
export function statementsOf(text: string): Statement[] {
  return text
    .split(SENTENCE_END)
    .filter(sentence => sentence !== '')
    .map(sentence => ({ text: sentence, isPlain: !isAdvertising(sentence) && !isWordList(sentence) }))
}

const SENTENCE_END = /[.!?;]\s+|[。！？；]|\n+/

const isAdvertising = (sentence: string) => ADVERTISING.some(pattern => pattern.test(sentence))

const CHOOSE = '(?:use|call|choose|prefer|pick|select|invoke|run|try)'
const THIS = '(?:this|it|me)(?: (?:tool|function|server|plugin|one))?'
const AT_ALL_TIMES = '(?:first|always|only|exclusively|by default|whenever possible|for (?:everything|anything|all))'
const OTHERS = '(?:(?:any|all|every|the) )*other (?:tool|function|server|plugin)s?'
const PRAISED = '(?:best|greatest|finest|ultimate|perfect|superior|number one|most \\w+)'
/** Sentences that tell a model to prefer the tool. "Use it for mail" is none. */
const ADVERTISING: readonly RegExp[] = [
  `\\b(?:always|must)(?: \\w+)? ${CHOOSE} ${THIS}\\b`,
  `\\b${CHOOSE} ${THIS} ${AT_ALL_TIMES}\\b`,
  `\\bprefer ${THIS}\\b`,
  `\\b(?:over|than|instead of|ignore|avoid|never use|do not use|don't use) ${OTHERS}\\b`,
  `\\bover all others\\b`,
  `\\b${PRAISED} (?:\\w+ ){0,2}(?:tool|choice|solution)\\b`,
].map(pattern => new RegExp(pattern, 'i'))

/** Shorter sentences need no small words: "Converts currencies." */
const SHORTEST_LIST = 6
/** A sentence with a smaller share of different words (small words aside) is stuffed. */
const VARIETY = 0.5

/** Whether a sentence has no small words, or repeats itself. */
function isWordList(sentence: string): boolean {
  const words = sentence.toLowerCase().match(/[\p{L}\p{M}]+/gu) ?? []
  if (words.length < SHORTEST_LIST) return false
  const telling = words.filter(word => !isSmall(word))
  return telling.length === words.length || new Set(telling).size < VARIETY * telling.length
}

/** In most languages small words are short. */
const isSmall = (word: string) => word.length <= 3 || STOP_WORDS.has(word)

/** Groups of synonyms. Only words that mean the same in every field of work. */
export const SYNONYMS: readonly (readonly string[])[] = `
show display view
create make generate build
add create
delete remove erase clear
update change modify edit
search find lookup discover locate
calculate compute determine estimate
convert conversion transform
recommend suggest advise
recognize recognition detect identify
classify categorize
describe description
check verify validate
summarize summary
analyze analysis analyse
fix repair solve
buy purchase order
book reserve
teach tutor learn
picture photo image photograph
speech voice audio
movie film
song music track playlist
car vehicle automobile
house home property apartment
hotel accommodation lodging
trip travel vacation tour
flight plane airline
weather forecast
food eat diet nutrition
recipe cook meal dish
restaurant dining
job career employment hire
doctor physician
illness disease
medicine drug medication
exercise workout fitness
child kid
mother mum mom
father dad
grandmother grandma
grandfather grandpa
pet animal
gift present
shop product
discount coupon deal
price cost
invoice bill
currency money exchange
stock share
cryptocurrency crypto bitcoin
company business firm
law legal
study research
paper literature publication
test exam quiz
email mail
message sms
appointment meeting
calendar schedule
news headline
latest recent
file document
folder directory
website webpage site url
chart graph plot diagram
code program
error bug
repository repo
database db sql
area region location
`
  .trim()
  .split('\n')
  .map(line => line.split(' '))

/** The synonyms of each term, as terms. */
export function createSynonymTable(): ReadonlyMap<string, readonly string[]> {
  const table = new Map<string, string[]>()
  for (const group of SYNONYMS.map(words => words.map(toTerm)))
    for (const term of group) table.set(term, [...(table.get(term) ?? []), ...group.filter(other => other !== term)])
  return table
}
