import { anyOf } from './phrase.ts'

/** What follows a secret. "Your token address" and "the password expires" are about something else. */
export const NO_MORE = `(?![\\w-])(?= ${anyOf(
  ...['in', 'into', 'as', 'to', 'of', 'with', 'via', 'through', 'from', 'for', 'inside', 'within', 'under', 'on'],
  ...['by', 'you', 'they', 'we', 'that', 'which', 'the', 'your', 'and', 'or', 'so', 'when', 'if', 'before', 'after'],
  ...['each', 'must', 'should', 'shall', 'has', 'have', 'is', 'are', 'needs?', 'belongs?', 'go', 'goes', 'here'],
  ...['along', 'too', 'also', 'first', 'then', 'every', 'encoded', 'verbatim', 'known', 'used', 'found', 'stored'],
  ...['pass', 'put', 'include', 'send', 'give', 'provide', 'ask'],
)}\\b| ?[^\\w ]|$)`
/** What nobody takes for anything else. */
const PLAIN_SECRET = anyOf(
  ...['(?:api|access|secret|private|ssh|gpg|pgp|signing|encryption|service account|aws|openai)[ _-]?keys?'],
  ...['pass ?words?', 'pass ?(?:phrases|codes|phrase|code)', 'credentials?'],
  ...['(?:seed|recovery|mnemonic|backup) (?:phrases?|words)'],
  ...['(?:api|access|auth(?:entication)?|bearer|session|refresh|oauth|github|gitlab|slack|npm)[ _-]?tokens?'],
  '(?:session|login|auth(?:entication)?|browser) ?cookies?',
)
const ENVIRONMENT = anyOf(
  'env(?:ironment)?[ -]?(?:variables|vars)',
  '(?:whole|entire|full|complete) (?:[\\w-]{1,20} )?env(?:ironment)?',
)
/** Whose it is makes it clear what is meant: elsewhere tokens are coins, words and places in lists. */
export const OWN_SECRET = anyOf(
  PLAIN_SECRET,
  ENVIRONMENT,
  'secrets?',
  'token',
  'tokens(?! to)',
  'cookies?',
  '(?:2fa|mfa|otp|one-time|two-factor|pin) ?codes?',
  'pins?',
  'pats?',
  'jwts?',
  'log-?in (?:data|details)',
)
const ALL_SECRETS = anyOf(
  PLAIN_SECRET,
  ENVIRONMENT,
  'secrets?',
  'cookies',
  'keys (?:and|or) (?:tokens|secrets|passwords)',
)
/** These are for others to see, or lead to the next page. */
const KINDS = `(?:(?!${anyOf(
  ...['public', 'publishable', 'masked', 'redacted', 'hashed', 'example', 'sample', 'dummy', 'page', 'next'],
  ...['pagination', 'continuation', 'cursor', 'sync', 'push', 'device', 'design', 'to', 'for', 'in', 'of', 'and'],
  ...['is', 'about', 'with', 'on', 'as', 'at', 'has', 'have', 'must', 'should', 'can', 'will', 'may', 'your'],
  ...['their', 'the', 'or', 'enters?', 'rotates?', 'changes?', 'resets?', 'forgot', 'who', 'whose', 'without', 'by'],
  ...['from', 'if', 'when'],
)}\\b)[\\w-]{1,20} ){0,3}?`
export const PERSON = anyOf(
  ...['users?', 'callers?', 'customers?', 'clients?', 'owners?', 'developers?', 'humans?', 'admins?', 'operators?'],
  ...['persons?', 'assistants?', 'agents?', 'peoples?'],
)
const SERVERS = '(?:servers?|tools?|upstreams?|connectors?|plugins?|extensions?|integrations?|mcps?)'

/** Secrets that are somebody's. */
export const OWN = pattern(
  `(?:your|their|his|her|${PERSON}) ${KINDS}${OWN_SECRET}`,
  `(?:your|their|users?) keys?`,
  `(?:your|their|${PERSON}) (?:log-?in|user ?name|e-?mail|account)(?: names?)? (?:and|or|with|plus) (?:the )?${PLAIN_SECRET}`,
  `${OWN_SECRET} (?:of|from|belonging to) (?:the |your |a |this |any |every |each |all )?${PERSON}`,
)
/** Secrets of everybody and everything. */
export const ALL = pattern(
  `(?:all|any|every|each|whatever|which ?ever)(?: of)?(?: the| your| their| available| other)? ${KINDS}${ALL_SECRETS}`,
  `(?:the|these|those|current|local|system) ${ENVIRONMENT}`,
  ...['process\\.env', 'os\\.environ'],
)
/** Secrets that others were given. */
export const OF_OTHERS = pattern(
  `${OWN_SECRET} (?:(?:that|which) )?(?:[\\w-]{1,20} ){0,2}?(?:of|from|for|by|to) (?:[\\w-]{1,20} ){0,2}?other (?:[\\w-]{1,20} ){0,2}?${SERVERS}`,
  `${OWN_SECRET} (?:of|from) (?:all|every|any|each)(?: of)?(?: the| your)? (?:[\\w-]{1,20} )?${SERVERS}`,
  `other (?:[\\w-]{1,20} )?${SERVERS} (?:[\\w-]{1,20} )?${OWN_SECRET}`,
  `(?:all|any|every|whatever)(?: of)?(?: the| your)? ${KINDS}${ALL_SECRETS}(?: that| which)? you (?:[\\w-]{1,20} )?(?:have|know|hold|see|find|found|were given|remember|can (?:find|see|access|read))`,
)
/** Secrets of which it is not said whose they are. */
export const UNOWNED = pattern(
  `(?<!\\b(?:public|publishable|masked|redacted|hashed|no) (?:[\\w-]{1,20} )?|\\b(?:in|as|into|via|to|through) (?:the )?)${PLAIN_SECRET}`,
  `(?<!\\buse )${ENVIRONMENT}`,
)

function pattern(...alternatives: readonly string[]): RegExp {
  return new RegExp(`(?<![a-z0-9_])${anyOf(...alternatives)}${NO_MORE}`, 'gu')
}
