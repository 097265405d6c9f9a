import { anyOf, type Phrase, phrases } from './phrase.ts'

const HAND = anyOf(
  ...['pass', 'include', 'send', 'provide', 'give', 'append', 'attach', 'copy', 'forward', 'submit', 'put', 'supply'],
  ...['share', 'add', 'hand'],
)
const FILL = anyOf(
  HAND,
  'paste',
  'insert',
  'place',
  'write',
  'repeat',
  'quote',
  'set',
  'fill',
  'report',
  'embed',
  'store',
)
const TELL = anyOf(
  ...['reveal', 'print', 'output', 'repeat', 'show', 'include', 'send', 'leak', 'append', 'copy', 'paste', 'pass'],
  ...['share', 'forward', 'disclose', 'put', 'attach', 'return', 'provide'],
)
const WHOLE = anyOf('entire', 'full', 'complete', 'whole', 'all', 'verbatim')
const TALK = anyOf('conversations?', 'chat', 'dialogue?', 'transcript', 'message history', 'chat history')

const NUMBER = anyOf(
  ...['\\d{1,4}', 'few', 'several', 'couple of', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'],
  ...['nine', 'ten', 'dozen', 'twenty', 'fifty', 'hundred'],
)
/** What people write to each other is what many tools are about. */
const OF_PEOPLE =
  '(?:of|in|from|on|to|with|between) (?:the |a |an |this |that |each |every |your )?(?:[\\w-]{1,30} )?(?:channel|thread|inbox|mailbox|room|queue|topic|folder|group|stream|ticket|customer|contact|recipient|lead)s?\\b'
const LAST = `${anyOf('last', 'previous', 'preceding', 'prior', 'recent', 'latest', 'past', 'earlier', 'first')}(?: ${NUMBER})?(?: (?:user|chat|conversation|assistant|human))? ${anyOf('messages?', 'turns?', 'prompts?', 'exchanges?', 'utterances?')}\\b(?! (?:${OF_PEOPLE}|(?:ids?|numbers?|counts?|types?|index|limit|timestamps?|tokens?)\\b))`
const SO_FAR = `${anyOf('conversation', 'chat', 'dialogue?', 'discussion', 'messages', 'transcript', 'session')}(?: history| log| transcript)? ${anyOf('so far', 'thus far', 'up to (?:now|here|this point)', '(?:until|till) (?:now|here|this point)')}\\b`
const EVERYTHING =
  '(?:everything|all) (?:that )?(?:was|has been|we have|you have|the user has|they have) (?:said|discussed|written|asked|typed|talked about)\\b'
/** What was said between the user and the model. */
const SAID = anyOf(
  LAST,
  SO_FAR,
  `${WHOLE}(?: \\w{1,30}){0,2} (?:conversations?|chat)\\b(?! ${OF_PEOPLE})`,
  `${anyOf('conversation', 'chat')} ${anyOf('history', 'transcript', 'context')}\\b(?! ${OF_PEOPLE})`,
  'context window\\b(?! (?:usage|sizes?|limits?|space|budget|tokens?|length|consumption)\\b)',
  'what (?:the user|they|the human) (?:has |have )?(?:said|asked|wrote|written|typed|told you)\\b',
  'what (?:came|was said|was discussed|was asked|happened) (?:earlier|before|so far|until now)\\b',
  EVERYTHING,
)

/** A tool that speaks to another model has an argument for the conversation, and calls it that. */
const ARGUMENT = `(?:(?!messages|history|conversation|chat|transcript|dialog|thread)[\\w.-]{1,40} )?${anyOf('arguments?', 'arg', 'parameters?', 'params?', 'field', 'property', 'input')}`
const INTO = `\\b(?:in|into|as|to|under|through|via|within|using) (?:the |an |a |its |this )?${ARGUMENT}\\b`
const MUST_HOLD = `${anyOf('must', 'should', 'shall', 'has to', 'have to', 'needs to', 'is to')}(?: always| also)? ${anyOf('contain', 'hold', 'carry', 'include', 'be', 'have', 'repeat', 'quote')}`

const OWN_PROMPT = anyOf(
  ...['system prompt', 'system message', 'developer message', 'hidden prompt', 'chain of thought'],
  '(?:initial|configuration|original|base|setup|internal|developer) prompt',
)

const STRONG = {
  rule: 'instruction',
  family: 'conversation',
  strength: 'strong',
  message: 'It asks for what the model was told by others.',
} as const

const ALWAYS = phrases({
  ...STRONG,
  needs: ['your', 'you ', 'conversation', 'chat', 'transcript', 'history'],
  patterns: [
    `\\b(?:always|every|each|any)\\b.{0,60}\\b${HAND}\\b.{0,30}\\b${WHOLE}\\b.{0,20}\\b${TALK}\\b`,
    `\\b${HAND}\\b.{0,30}\\b${WHOLE}\\b.{0,20}\\b${TALK}\\b.{0,60}\\b(?:always|every|each)\\b`,
    `\\b${TELL}\\b.{0,40}\\byour (?:\\w{1,30} ){0,2}?${anyOf(OWN_PROMPT, 'instructions')}\\b`,
    `\\b(?:supply|quote|hand)\\b.{0,40}\\byour (?:\\w{1,30} ){0,2}?${OWN_PROMPT}\\b`,
    `\\b${TELL}\\b.{0,40}\\b(?:instructions|prompt|rules|guidelines) (?:that )?you (?:were|have been) (?:given|told|started with|set up with)\\b`,
  ],
})

const IN_ARGUMENT = phrases({
  ...STRONG,
  unlessAfter: /\b(?:never|do not|dont|must not|should not|cannot|avoid|without)\b.{0,40}$/u,
  needs: [
    'message',
    'turn',
    'prompt',
    'exchange',
    'utterance',
    'conversation',
    'chat',
    'dialog',
    'discussion',
    'session so',
    'what (?:the|they|came|was|happened)',
    'everything',
    'all (?:that|was|has|we|you)',
    'context window',
  ],
  patterns: [
    `\\b${FILL}\\b.{0,30}\\b${SAID}.{0,60}${INTO}`,
    `${INTO}.{0,20}\\b${FILL}\\b.{0,30}\\b${SAID}`,
    `\\b${ARGUMENT}(?: [\\w.-]{1,40})? ${MUST_HOLD}\\b.{0,20}\\b${SAID}`,
    `\\b${FILL}\\b.{0,20}\\b${ARGUMENT}\\b.{0,20}\\bwith\\b.{0,20}\\b${SAID}`,
    `\\b${ARGUMENT} (?:wants|expects|takes|needs|receives|gets|is for)\\b.{0,20}\\b${SAID}`,
    `\\bset [\\w.-]{1,40} to\\b.{0,30}\\b${anyOf(LAST, SO_FAR, EVERYTHING)}`,
  ],
})

const WISHED_FOR = phrases({
  rule: 'instruction',
  family: 'conversation',
  strength: 'weak',
  message: 'It asks for the conversation.',
  needs: [
    'everything',
    'conversation',
    'chat',
    'message',
    'prompt',
    'dialog',
    'transcript',
    'tools',
    'files',
    'clipboard',
    'tabs',
    'screen',
  ],
  patterns: [
    `\\b${HAND}\\b.{0,60}\\b${anyOf(WHOLE, 'users?')}\\b.{0,30}\\b${anyOf('conversations?', 'chat', 'messages?', 'prompts?', 'dialogue?', 'transcript')}\\b`,
    `\\b${FILL}\\b.{0,30}\\b${anyOf(LAST, SO_FAR)}`,
    `\\b${EVERYTHING} (?:before|so far|until now|earlier|above|in this)\\b`,
    '\\b(?:names?|list|descriptions?) of (?:all )?(?:of )?(?:(?:your|the other) (?:\\w{1,30} )?|(?:the )?available )tools\\b',
    '\\byour (?:\\w{1,30} )?(?:system prompt|system message|hidden prompt|chain of thought)\\b',
    `\\b${anyOf(HAND, 'paste')}\\b.{0,20}\\b(?:everything|anything|whatever)\\b.{0,40}\\b(?:clipboard|tabs|screen|workspace|editor)\\b`,
    `\\b(?:attach|pass|append|send|upload)\\b.{0,30}\\bcontents? of (?:all|every|each|any)(?: \\w{1,30}){0,3} files?\\b`,
  ],
})

/** What others answered is as little its business. */
const OF_OTHERS = phrases({
  rule: 'instruction',
  family: 'conversation',
  strength: 'weak',
  message: 'It asks for what other tools answered.',
  unlessAfter: /\b(?:never|do not|dont|must not|should not|cannot|avoid|without)\b.{0,40}$/u,
  needs: ['tool'],
  patterns: [
    `\\b(?:with|${HAND})\\b.{0,20}\\b(?:results?|outputs?|responses?|answers?|arguments?) (?:of|from) (?:that|each|every|any|all|the (?:last|previous|preceding|other))(?: of)?(?: the| your| other| last| previous){0,2} tools?(?: calls?| uses?| runs?)?\\b`,
  ],
})

/** What asks for more of the conversation than a tool needs to know. */
export const CONVERSATION_PHRASES: readonly Phrase[] = [...ALWAYS, ...IN_ARGUMENT, ...WISHED_FOR, ...OF_OTHERS]
