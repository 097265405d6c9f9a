import { isForArgument } from './argument-signs.ts'
import { allOf, either, isOfParameter, type Sign, type Subject, says } from './concept.ts'
import { handsOverKey } from './handed-keys.ts'
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
    { ...WANTED, strength: 'strong', signs: [handsOverKey], unless: [tellsOfSetup, describesItself] },
    { ...WANTED, strength: 'weak', signs: [namesVariable, namesValue, isOfParameter], unless: [tellsOfSetup] },
  ],
}
