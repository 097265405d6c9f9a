import { allOf, either, isOfParameter, type Sentence, type Sign, type Subject, says } from './concept.ts'
import { anyOf } from './phrase.ts'
import { describesItself } from './talk-signs.ts'

const SECRET_WORDS = '(?:key|token|secret|password|passwd|passphrase|pat|credentials?)s?'
/** Variables are written in capitals; in small letters it may as well be an argument. */
const VARIABLE = new RegExp(
  `(?<![A-Za-z0-9_])(?:[A-Z][A-Z0-9]{0,30}_){1,6}${SECRET_WORDS.toUpperCase()}(?![A-Za-z0-9_])`,
  'u',
)
const namesVariable: Sign = either(
  ({ original }) => VARIABLE.test(original()),
  allOf(says(`(?:[a-z0-9]{1,30}_){1,6}${SECRET_WORDS}`), says('env(?:ironment)?[ -]?(?:var(?:iable)?s?)?')),
)
const namesValue: Sign = says(
  ...['values?', 'contents?', 'what (?:it|they) holds?', 'what is (?:in|stored in|set as)', 'whatever is in'],
  `what(?:ever)? [\\w$]{1,60} (?:holds|contains|says|is set to)`,
  '(?:from|in|of) (?:the |your |their |its )?(?:users? )?(?:(?:process|shell|system) )?env(?:ironment)?(?: var(?:iable)?s?)?',
)
/** A name in quotes. That of a variable, in capitals, is none of an argument. */
const QUOTED = '[`\'"“‘«](?![A-Z][A-Z0-9]*_[A-Z0-9_]*\\W)[\\w.$-]{1,40}[`\'"”’»]'
const KIND = anyOf('argument', 'arg', 'parameter', 'param', 'field', 'input', 'property', 'payload')
const WANTS = `(?:(?:should|must|shall|has to|needs to|is to|is expected to|ought to) ${anyOf('be', 'contain', 'hold', 'have', 'carry', 'include', 'equal', 'receive')}|(?:holds|carries|takes|wants|expects|needs|requires)(?= ))`
const FILL = anyOf('[Ss]et', '[Ff]ill(?: in)?', '[Pp]opulate', '[Ff]or', '[Uu]se', '[Cc]omplete')
const ARGUMENT = new RegExp(
  [
    `\\b(?:in|into|to|as|via|through|inside|within|under)\\s+(?:the\\s+)?${QUOTED}`,
    `${QUOTED}\\s*(?:${KIND}\\s*)?(?::|=|\\b${WANTS}\\b)`,
    `\\b${FILL}\\s+(?:the\\s+)?${QUOTED}\\s*(?:${KIND}\\s*)?(?:,|to|with|use)`,
  ].join('|'),
  'u',
)
const isForArgument: Sign = either(
  ({ original }) => ARGUMENT.test(original()),
  says(
    `(?:in|into|to|as|via|through|inside|within) (?:the |this |an? |its )?(?:[\\w.-]{1,40} )?${KIND}`,
    `${KIND} ${WANTS}`,
    `${FILL} (?:the )?(?:[\\w.-]{1,40} )?${KIND},? (?:to|with|use)`,
  ),
  isForOwnArgument,
)

/** By its bare name, at the end of what is said: "in q". What is called like the environment is meant as that. */
function isForOwnArgument({ plain, argumentNames }: Sentence): boolean {
  const names = [...plain.matchAll(BARE)].map(([, last, filled = '']) => last ?? filled)
  return names.some(name => name.length === 1 || (argumentNames.has(name) && !name.startsWith('env')))
}

const BARE =
  /\b(?:(?:in|into|to|as|via|through|inside|within|under) (?:the )?([a-z][\w-]{0,40})(?=[\n,;:)]|$)|(?:set|fill(?: in)?|populate) (?:the )?([a-z][\w-]{0,40}) (?:to|with) )/gu

/** A key that programs find there, by no name. */
const namesKey: Sign = says(
  `${anyOf('(?:api|access|secret|auth|private|session|bearer|service)[ -]?(?:key|token)', 'tokens?', 'passwords?', 'secrets?', 'credentials')}s? (?:(?:that is|which is|found|stored|kept|set|held) )?(?:from|out of|found in|in) (?:the |your |their |its |my )?(?:(?:users?|process|shell|system|local|current) ){0,2}env(?:ironment)?(?: var(?:iable)?s?)?`,
)
const isHandedOver: Sign = says(
  ...['return', 'put', 'pass', 'provide', 'give', 'supply', 'include', 'send', 'insert', 'write', 'copy', 'place'],
  ...[
    'fill(?: in)?',
    'paste',
    'enter',
    'add',
    'attach',
    'submit',
    'report',
    'use',
    'set',
    'append',
    'embed',
    'forward',
  ],
  ...['must', 'should', 'shall', 'has to', 'needs?', 'expected', 'required', 'goes', 'belongs'],
)

/** Not the environment of the server, which it knows itself. */
const isOfCaller: Sign = says(
  '(?:environment|env|machine|shell|system) of (?:the )?(?:assistant|model|agent|client|host|caller|users?)',
  '(?:your|the (?:assistants|models|agents|clients|hosts|callers|users)) (?:own )?(?:process |shell |local )?(?:environment|env|machine|shell)',
)

/** How a server is set up is what most who name a variable tell. */
const tellsOfSetup: Sign = says(
  ...[
    'defaults?',
    'default(?:ed|ing)',
    'falls? back',
    'fallback',
    'if (?:not|omitted|unset|absent|empty|none)',
    'unless',
  ],
  ...['when (?:not|omitted|unset|absent|empty)', 'otherwise', 'overrides?', 'instead of', 'optional', 'alternatively'],
  ...[
    '(?:is|are|be|been|was|being) (?:set(?! to(?:\\n|$))|read|taken|loaded|configured|used|injected|masked|redacted|checked)',
  ],
  ...[
    'never',
    'do not',
    'dont',
    'must not',
    'should not',
    'cannot',
    'avoid',
    'without',
    // To set an argument to what a variable holds is what is looked for.
    '(?<!(?:is|are) )sets?(?! (?:the )?[a-z][\\w-]{0,40}(?: argument| parameter| field)? to (?:the )?(?:values?|contents?|what))',
    'export',
    'configure',
  ],
  ...['name of', 'e\\.g', 'for example', 'such as', 'example'],
)

const WANTED = { rule: 'secret', family: 'secret', message: 'It has the model pass on secrets.' } as const

/** What has the model read a variable that holds a secret, in whichever words. */
export const VARIABLES: Subject = {
  needs: /_(?:key|token|secret|passw|passphrase|pat|credential)|\benv/u,
  concepts: [
    { ...WANTED, strength: 'strong', signs: [namesVariable, namesValue, isForArgument], unless: [tellsOfSetup] },
    {
      ...WANTED,
      strength: 'strong',
      signs: [namesVariable, namesValue, isOfParameter, isOfCaller],
      unless: [tellsOfSetup],
    },
    {
      ...WANTED,
      strength: 'strong',
      signs: [namesKey, isHandedOver, isForArgument],
      unless: [tellsOfSetup, describesItself],
    },
    { ...WANTED, strength: 'weak', signs: [namesVariable, namesValue, isOfParameter], unless: [tellsOfSetup] },
  ],
}
