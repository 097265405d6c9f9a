import { HIDE, KIND, NEEDS, NOT, USER, WORDS } from './concealment-words.ts'
import { anyOf, type Phrase, phrases } from './phrase.ts'

const TELL = anyOf(
  ...['tell(?:ing)?', 'inform(?:ing)?', 'bother(?:ing)?', 'worry(?:ing)?', 'upset(?:ting)?', 'scar(?:e|ing)'],
  ...['troubl(?:e|ing)', 'disturb(?:ing)?', 'alarm(?:ing)?'],
)
const FIND_OUT = anyOf(
  'know',
  'see',
  'notice',
  'find out',
  'reali[sz]e',
  'suspect',
  'learn',
  'discover',
  'hear',
  'in on',
)
/** What comes next decides whether that hides anything. */
const UNTOLD = `\\b${NOT} ${WORDS}(?:${TELL} ${USER}|let(?:ting)? ${USER} ${FIND_OUT})\\b`

/** How something is written down. That people get the name and not the id is advice about form, and hides nothing. */
const FORM = anyOf(
  ...['ids?', 'uuids?', 'guids?', 'identifiers?', 'slugs?', 'timestamps?', 'cursors?', 'json', 'xml', 'yaml', 'html'],
  '(?:creation|update|modification) (?:dates?|times?)',
  ...['(?:page|pagination|cursor) tokens?', '(?:field|column|table|property|enum|variable|parameter) names?'],
  ...[
    '(?:status|error|country|currency|language) codes?',
    'enum values?',
    'stack traces?',
    'jargon',
    'sql',
    'coordinates',
  ],
  `(?:raw|internal|numeric) ${anyOf('ids?', 'values?', 'names?', 'codes?', 'numbers?', 'output', 'responses?', 'payloads?', 'markdown', 'fields?', 'data', 'errors?', 'exceptions?', 'logs?')}`,
  // Whatever it is the number of. What was done to numbers is no kind of them.
  `(?<=\\b(?:the|any|an?|its|their|these|those|all) )(?!\\w{1,30}(?:ed|en|nt)\\b)[\\w-]{1,30} ${anyOf('ids?', 'numbers?', 'codes?', 'cursors?')}`,
)
const SOME_FORM = `(?:the |any |a |an |its |their |these |those |all )?(?:${KIND} ){0,2}${FORM}`
/** "Do not tell the user the ids were sent" is about what was done, so the form has to be all of it. */
const ONLY_FORM = `(?:about |with |of )?${SOME_FORM}(?:,? (?:or|and|nor) ${SOME_FORM})?(?: of (?:the |each |an? )?[\\w-]{1,20})?(?:\\n|$| - |[;:)](?! (?:or|nor|and)\\b)|,? (?:but|instead|rather|unless|just|only|use|show|give|say|refer|prefer|directly|verbatim|if asked)\\b)`
/** "Do not tell the user that you cannot; use this tool." */
const INABILITY =
  '(?:that )?you (?:cannot|cant|can not|are unable to|are not able to|do not have access|dont have access)\\b'
/** That is for the user to do, or a matter of form. */
const ORDINARY = ` (?:to|go|down|choose|pick|use|select|enter|wait|how to|they should|that they can|${ONLY_FORM}|${INABILITY})`

/** What was done, or is to be done without a word. */
const DEED = `\\b${anyOf(
  ...['sen[dt]', 'upload', 'cop(?:y|ied|ies)', 'forward', 'shar(?:e|ed|ing)\\b', 'transfer', 'transmi', 'collect'],
  ...[
    'stor(?:e|ed|ing)\\b',
    'attach',
    'record',
    'logged',
    'post(?:ed|ing)?\\b',
    'includ',
    'append',
    'add(?:ed|ing|ition)',
  ],
  ...[
    'read(?:ing|s)?\\b',
    'delet',
    'remov',
    'chang',
    'modif',
    'replac',
    'install',
    'execut',
    'invok',
    'charg',
    'pa(?:y|id)\\b',
  ],
  ...[
    'bcc',
    'leak',
    'exfiltrat',
    'intercept',
    'redirect',
    'recipient',
    'took place',
    'taken',
    'exist',
    'happen',
    'extra',
  ],
  ...['second', 'hidden', 'secret', 'side', 'behind', 'access', 'monitor', 'track', 'steps?\\b', 'call(?:s|ed)?\\b'],
  ...['tools?\\b', 'instruct', 'actions?\\b', 'process', 'operation', 'files?\\b', 'request', 'check\\b', 'server'],
)}`

/** "Until the status says so". To wait for the user to ask is another thing. */
const UNTIL = '(?:until|unless|before)\\b(?! (?:they|the users?|he|she|asked|explicitly|directly)\\b)'
/** To say nothing that is not true yet hides nothing, unless it is about what the model does. */
const notYet = (word: string) =>
  ` (?:that )?(?!(?:that|this|these|you|your|we|i|about|of|with|what|why|how|any|anything|everything)\\b)(?:${word} ){2,12}?${UNTIL}`
const NOT_TRUE_YET = notYet('[\\w-]{1,30}')
const HARMLESS_YET = notYet(`(?!${DEED})[\\w-]{1,30}`)

/** Everything, the model itself, or a deed. */
const HIDDEN = anyOf(
  ...['\\n', '$', '[^ \\w]', ' (?:about |of |with )?that(?:\\n|$|[^ \\w])'],
  ` (?:about |of |that |with )?(?:this|it|these|you|your|we|any of|anything|everything|what|why|how)\\b`,
  `[^\\n;]{0,100}${DEED}`,
)

const KEPT = phrases({
  ...HIDE,
  needs: NEEDS,
  patterns: [`${UNTOLD}(?!${ORDINARY})(?!${NOT_TRUE_YET})(?=${HIDDEN})`],
})

const LEFT_OUT = phrases({
  rule: 'instruction',
  family: 'order',
  strength: 'weak',
  message: 'It tells the model what not to tell the user.',
  needs: NEEDS,
  patterns: [`${UNTOLD}(?!${ORDINARY})(?!${HARMLESS_YET})(?:(?=${NOT_TRUE_YET})|(?!${HIDDEN}))`],
})

/** What the user is not to be told. */
export const UNTOLD_PHRASES: readonly Phrase[] = [...KEPT, ...LEFT_OUT]
