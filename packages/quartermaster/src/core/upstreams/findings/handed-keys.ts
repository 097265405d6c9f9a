import { isOwnArgument, isQuoted, KIND } from './argument-signs.ts'
import type { Sentence, Sign } from './concept.ts'
import { anyOf } from './phrase.ts'

const NAMED = `${anyOf('(?:api|access|secret|auth|private|session|bearer|service)[ -]?(?:key|token)', 'token', 'password', 'secret', 'credential')}s?`
/** A key that programs find there, by no name. A new one "in" it is put there. */
const KEY = [
  `\\b${NAMED} (?:(?:that is|which is|found|stored|kept|set|held) )?`,
  `(?:from|out of|(?<!\\b(?:an?|new) ${NAMED} )in) (?:the |your |their |its |my )?(?:(?:users?|process|shell|system|local|current) ){0,2}`,
  'env(?:ironment)?(?: var(?:iable)?s?)?(?: of (?:the |your )?[a-z]{1,20})?(?![\\w-])',
].join('')

/** Behind these another thing is spoken of, or something else is said of the same. */
const TURN = anyOf(
  ...['as', 'to', 'in', 'into', 'with', 'from', 'for', 'by', 'via', 'using', 'before', 'after'],
  ...['that', 'which', 'while', 'and', 'or', 'but', 'if', 'when', 'where', 'because', 'not', 'no', 'never'],
  ...['is', 'are', 'was', 'were', 'be', 'will', 'given', 'named', 'specified', 'chosen', 'selected', 'called'],
)
const WORD = `(?!${TURN}\\b)[\\w-]{1,30}`
const THE_KEY = `(?:${WORD},? ){0,5}?${KEY}`
/** The end of what is handed over, and not of which something is told. */
const THE_KEY_LAST = `${THE_KEY}(?! (?:is|are|was|were|will|has|have|can|may|must|should|gets?|goes)\\b)`

const GIVE = anyOf(
  ...['return', 'put', 'pass', 'provide', 'give', 'supply', 'include', 'send', 'insert', 'write', 'copy', 'place'],
  ...['fill in', 'paste', 'enter', 'add', 'attach', 'submit', 'report', 'append', 'embed', 'forward'],
)
const GIVEN = anyOf(
  ...['returned', 'put', 'passed', 'provided', 'given', 'supplied', 'included', 'sent', 'inserted', 'written'],
  ...['copied', 'placed', 'filled in', 'pasted', 'entered', 'added', 'attached', 'submitted', 'reported'],
  ...['appended', 'embedded', 'forwarded'],
)
const GET = anyOf('read', 'find', 'take', 'get', 'look up', 'fetch', 'retrieve', 'extract', 'obtain', 'locate', 'load')
/** "We pass", "it will pass": what the server does. */
const OTHERS =
  '(?<!\\b(?:(?:we|they|it|which|that|servers?|tools?)(?: (?:may|can|then))?|(?<!you )(?:will|would|does)) )'
const ALSO = '(?:[^;:\\n]{0,100}? (?:and|plus|(?:along|together) with) )?'
const MUST = anyOf('must', 'should', 'shall', 'ha(?:s|ve) to', 'needs? to', 'ought to', '(?:is|are) to')

const INTO = '(?:in|into|to|as|via|through|inside|within|under)'
const SELF = '(?: to (?:this|the|our|me|us)(?: (?:tool|server|function|service))?)?'
/** A name in front of one of these is theirs. */
const NO_ARGUMENT = '(?! (?:headers?|cookies?|files?|environments?|namespaces?|scopes?)\\b)'
const ARGUMENT = `(?:(?:the|this|an?|its|your) )?(?:${KIND}|(?<name>[\\w$][\\w.$-]{0,39})(?<kind> ${KIND})?)(?![\\w-])${NO_ARGUMENT}`
const INTO_ARGUMENT = `(?:,? ${WORD}){0,3}?(?: \\([^()\\n]{0,40}\\))?${SELF},? ${INTO} ${ARGUMENT}(?<more> [\\w$])?`

/** The key is what is handed over, what a demand is about, or what an argument is to hold. */
const DEMANDS = [
  `\\b(?:${OTHERS}(?:${GIVE}|use)|needs?) ${ALSO}${THE_KEY}${INTO_ARGUMENT}`,
  `\\b${OTHERS}${GET} ${THE_KEY},? (?:and|then)(?: then)? (?:${GIVE}|use) (?:it|them|that|this)${INTO_ARGUMENT}`,
  `${KEY} (?:${MUST} (?:also |always )?(?:be ${GIVEN}|be|go|stand|appear)|(?:is|are) (?:expected|required|needed)|goes|belongs?(?! to))${INTO_ARGUMENT}`,
  `\\b(?:in|into|for|under|inside|within) ${ARGUMENT}[,:]? (?:you )?(?:${MUST} )?${GIVE} ${THE_KEY_LAST}`,
  // Quotes are not enough here: "For `production`, use" is about a value.
  `\\bfor (?:the |this )?(?:(?:[\\w.-]{1,40} )?${KIND}|(?<own>[\\w$][\\w.$-]{0,39})),? use ${THE_KEY_LAST}`,
  `\\b${OTHERS}${GIVE}(?:[^;:\\n]{0,100}? and)?,? ${INTO} ${ARGUMENT}[,:]? ${THE_KEY_LAST}`,
  `\\buse ${ARGUMENT} to (?:send|pass|give|provide|supply|return|report|submit) ${THE_KEY_LAST}`,
  `\\b(?:fill(?: in)?|populate|complete) ${ARGUMENT} (?:with|from|using) ${THE_KEY_LAST}`,
  `\\b${ARGUMENT}: (?:${GIVE}|use) ${THE_KEY_LAST}`,
  `\\b${ARGUMENT} (?:${MUST}|is expected to) (?:be|contain|hold|carry|include|equal|receive) ${THE_KEY_LAST}`,
].map(pattern => new RegExp(pattern, 'gu'))

/** A key of the environment is wanted in an argument. Where both are merely spoken of, a server may tell what it does itself. */
export const handsOverKey: Sign = sentence => sentence.says(ANY_KEY) && DEMANDS.some(demand => isMade(demand, sentence))

const ANY_KEY = new RegExp(KEY, 'u')

function isMade(demand: RegExp, sentence: Sentence): boolean {
  return [...sentence.plain.matchAll(demand)].some(({ groups: { name, kind, more, own } = {} }) => {
    if (own !== undefined) return isOwnArgument(own, sentence)
    if (name === undefined || kind !== undefined || isQuoted(name, sentence)) return true
    // Before another word a bare name belongs to that: "in project settings".
    return more === undefined && isOwnArgument(name, sentence)
  })
}
