import { allOf, either, isOfParameter, type Sign, type Subject, says } from './concept.ts'

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
  '(?:from|in|of) (?:the |your |their |its )?(?:users? )?(?:(?:process|shell|system) )?env(?:ironment)?(?: var(?:iable)?s?)?',
)
const ARGUMENT = /\b(?:in|into|to|as|via|through|inside|within|under)\s+(?:the\s+)?[`'"“‘«][\w.$-]{1,40}[`'"”’»]/u
const isForArgument: Sign = either(
  ({ original }) => ARGUMENT.test(original()),
  says(
    '(?:in|into|to|as|via|through|inside|within) (?:the |this |an? |its )?(?:[\\w.-]{1,40} )?(?:argument|arg|parameter|param|field|input|property|payload)',
  ),
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
  ...['(?:is|are|be|been|was|being) (?:set|read|taken|loaded|configured|used|injected|masked|redacted|checked)'],
  ...[
    'never',
    'do not',
    'dont',
    'must not',
    'should not',
    'cannot',
    'avoid',
    'without',
    'sets?',
    'export',
    'configure',
  ],
  ...['name of', 'e\\.g', 'for example', 'such as', 'example'],
)

const WANTED = { rule: 'secret', family: 'secret', message: 'It has the model pass on secrets.' } as const

/** What has the model read a variable that holds a secret, in whichever words. */
export const VARIABLES: Subject = {
  needs: /_(?:key|token|secret|passw|passphrase|pat|credential)/u,
  concepts: [
    { ...WANTED, strength: 'strong', signs: [namesVariable, namesValue, isForArgument], unless: [tellsOfSetup] },
    {
      ...WANTED,
      strength: 'strong',
      signs: [namesVariable, namesValue, isOfParameter, isOfCaller],
      unless: [tellsOfSetup],
    },
    { ...WANTED, strength: 'weak', signs: [namesVariable, namesValue, isOfParameter], unless: [tellsOfSetup] },
  ],
}
