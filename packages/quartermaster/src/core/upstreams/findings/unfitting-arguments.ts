import type { Sentence } from './concept.ts'
import { anyOf } from './phrase.ts'

const KIND = anyOf('argument', 'arg', 'parameter', 'param', 'field', 'input', 'property', 'key')
const INTO = new RegExp(
  `(?<![a-z0-9_])(?:in|into|as|via|through|inside|within|under|to) (?<article>(?:the|this|its|your|an?) )?(?:optional |required |extra |hidden |free )?(?<before>${KIND} (?:called |named )?)?(?<name>(?!(?:with|of|for|that|which|and|below|above|to|in|where)\\b)[a-z][\\w.-]{0,40})(?<after> ${KIND}\\b)?(?:(?<end>(?=[\\n,;:)(]|$| (?:and|so|to|before|when|of|for|if|along|too|as|each|every|on|with)\\b))|)`,
  'gu',
)
const FILLER = anyOf(
  ...['the', 'an?', 'also', 'always', 'only', 'values?', 'contents?', 'copy', 'text', 'of', 'with', 'full', 'raw'],
  ...['exact', 'pass', 'send', 'give', 'hold', 'carry', 'contain', 'be'],
)
const FILLED = new RegExp(
  `(?<![a-z0-9_])(?:(?:set|fill(?: in| out)?|populate|complete|use|prefix|start|begin|end|supply|provide) (?<article>the )?(?:${KIND} )?(?<name>[a-z][\\w.-]{0,40})(?: ${KIND})? (?:to|with|for|to (?:pass|send|give|hold|carry))|(?<subject>[a-z][\\w.-]{0,40})(?: ${KIND})?(?: (?:must|should|shall|has to|needs to|is to|is expected to|to) (?:[a-z]{2,20} )?(?:be|contain|hold|have|carry|include|equal)| (?:holds|contains|carries|takes|wants|expects|needs|requires)|(?: \\([^)]{0,30}\\))?(?: ?[:=]| -)|,? (?:put|include|pass|give|provide|write|enter|insert|paste|add))) ?[<{[(]?(?:${FILLER} ){0,4}$`,
  'u',
)

/** How arguments are called in which a secret is at home, and where else one belongs. */
export const FITTING = new RegExp(
  `${anyOf(
    ...['key(?!word)', 'token', 'pw', 'secret', 'pass(?!age|enger)', 'cred', 'auth(?!or(?!iz))', 'log-?in', 'bearer'],
    ...['jwt', 'cookie', 'header', 'env', 'var(?:iable)?s', 'session', 'otp', 'mnemonic', 'seed', 'phrase', 'cert'],
    ...['signature', 'pem', 'config', 'setting', 'connect', 'dsn', 'ur[il]', 'account', 'user', 'identity', 'confirm'],
    ...['value', 'code', 'vault', 'store', 'storage', 'wallet', 'profile', 'dashboard', 'console', 'preference'],
    ...['manager', 'option', '\\.(?:json|ya?ml|toml|ini)$'],
  )}|^(?:pat|pin)$`,
  'u',
)
/** Where tools that are about secrets put them. */
const PLACE = new RegExp(
  `${anyOf(
    ...['project', 'repo', 'namespace', 'cluster', 'target', 'dest', 'path', 'file', 'folder', 'director', 'output'],
    ...['container', 'image', 'service', 'branch', 'team', 'workspace', 'deploy', 'bucket'],
  )}|^(?:data|items|entries|app|org|stage|region|answer|response|result|requests?|build)$`,
  'u',
)
/** As what something is written. */
const FORMAT = /^(?:json|ya?ml|csv|table|text|string|markdown|base64|plain|list|array|object|xml|toml|raw|is)$/u
/** Parts of a request that programs send. */
const OF_REQUEST = /^(?:query|body|payload|form)$/u
/** Arguments that are known by these names wherever they are. */
const ANYWHERE = /^(?:[a-z]|notes?|memo|comments?|remarks?|context|metadata|reason)$/u

const QUOTED = /[`'"“‘«]([\w.$-]{1,40})[`'"”’»]/gu

interface Named {
  readonly name: string
  readonly hasArticle: boolean
  /** It says that it is an argument. */
  readonly isKind: boolean
  /** Nothing follows that it could belong to. */
  readonly isLast: boolean
}

function isArgument({ name, hasArticle, isKind, isLast }: Named, { argumentNames, original }: Sentence): boolean {
  const isOfRequest = hasArticle && OF_REQUEST.test(name)
  const isQuoted = [...original().matchAll(QUOTED)].some(([, quoted = '']) => quoted.toLowerCase() === name)
  if (isQuoted || (isKind && !isOfRequest)) return argumentNames.has(name) || !FORMAT.test(name)
  if (!isLast || isOfRequest || PLACE.test(name)) return false
  return argumentNames.has(name) || ANYWHERE.test(name)
}

/** What is said of an argument. */
export interface Wish {
  /** What is said behind the secret, or before it. */
  readonly words: string
  /** Of all secrets there are some tools say where they put them. */
  readonly isOfAll: boolean
}

/** Where it belongs: an argument that has nothing to do with secrets counts, unless one that has comes first. */
export function isForOtherArgument({ words, isOfAll }: Wish, sentence: Sentence): boolean {
  for (const { index, groups = {} } of words.matchAll(INTO)) {
    const { name = '', article = '', before, after, end } = groups
    if (OF_ELSE.test(words.slice(0, index)) || isAtHome(name, isOfAll)) return false
    const isKind = (before ?? after) !== undefined && !/^an? /u.test(article)
    if (isArgument({ name, hasArticle: article !== '', isKind, isLast: end !== undefined }, sentence)) return true
  }
  return false
}

function isAtHome(name: string, isOfAll: boolean): boolean {
  return FITTING.test(name) || (isOfAll && PLACE.test(name))
}

/** From here on it is about something else. */
const OF_ELSE =
  /;|\bthen |, (?:the|an?) | and (?:the|an?|any|optionally|search|call|look|find|ask|write|describe|explain|set|select|choose|put|enter|state) /u

/** The same where the argument comes first: "set `note` to". */
export function fillsOtherArgument({ words, isOfAll }: Wish, sentence: Sentence): boolean {
  const { name, subject, article } = FILLED.exec(words)?.groups ?? {}
  const filled = name ?? subject ?? ''
  if (filled === '' || isAtHome(filled, isOfAll)) return false
  return isArgument({ name: filled, hasArticle: article !== undefined, isKind: false, isLast: true }, sentence)
}
