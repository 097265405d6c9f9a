import { STOP_WORDS } from './word-lists.ts'

/** One sentence of a description. */
export interface Statement {
  text: string
  /** It says what is done. The others court whoever chooses, or only list words to be found by. */
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
/** Of the words that mean something, fewer different ones than this part of all: nobody talks like that. */
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
