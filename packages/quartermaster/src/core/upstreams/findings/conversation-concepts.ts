import { either, isOfParameter, type Sign, type Subject, says } from './concept.ts'
import { anyOf } from './phrase.ts'
import { plainSentence } from './plain-sentence.ts'
import { LEAST_IN_REQUESTS } from './plain-wording.ts'
import * as talk from './talk-signs.ts'
import { describesItself, namesWords } from './talk-signs.ts'

/** What is called like a conversation and is none: the server for mail, what one is known by, and where a list goes on. */
const NO_TALK =
  /\b(?:next_\w{1,30}|\w{0,30}cursor|\w{1,30}_token) (?:of|from|in) the (?:previous|last) (?:answer|response|reply)\b|\b(?:allows?|lets?|enables?|causes?|helps?|tells?) exchange\b|\b(?:ids?|uuids?|identifiers?) of (?:the|this|an?|each|that) (?:conversation|chat|discussion)\b|\b(?:all )?(?:discussions|conversations|threads) (?:to be|are|be|must be|were|being) resolved\b/gu

/** The same sign, without that. What else a sentence says counts as it stands. */
function ofTalk(sign: Sign): Sign {
  return sentence => {
    const plain = sentence.plain.replace(NO_TALK, ' ')
    return sign(plain === sentence.plain ? sentence : { ...sentence, ...plainSentence(plain) })
  }
}

const namesConversation = ofTalk(talk.namesConversation)
const namesOurs = ofTalk(talk.namesOurs)
const namesTalk = ofTalk(talk.namesTalk)

/** Ways to have something put somewhere. */
const PUT = anyOf(
  ...[
    'pass',
    'put',
    'include',
    'copy',
    'quote',
    'fill',
    'send',
    'attach',
    'encode',
    'provide',
    'give',
    'supply',
    'add',
  ],
  ...['append', 'insert', 'write', 'place', 'paste', 'store', 'set', 'submit', 'hand', 'forward', 'share', 'embed'],
  ...[
    '(?<!for |in |of )use',
    'report',
    'repeat',
    'reproduce',
    'recite',
    'record',
    'seriali[sz]e',
    'dump',
    'mirror',
    'echo',
    'transmit',
  ],
  ...['tell', 'summari[sz]e', 'recap', 'describe', 'state', 'enter', 'load', 'pack', 'stuff', 'feed', 'log', 'save'],
  ...['compress', 'populate', 'restate', 'relay', 'convey', 'deliver', 'transcribe', 'prepend', 'drop', 'type', 'list'],
  ...[
    'collect',
    'gather',
    'bundle',
    'concatenate',
    'join',
    'wrap',
    'slip',
    'tuck',
    'leave',
    'take',
    'hide',
    'keep',
    'make',
    'let',
  ],
)
const orders: Sign = says(
  PUT,
  ...['must', 'should', 'has to', 'have to', 'shall', 'needs? to', 'is to', 'always', 'only', 'required'],
)
const hands: Sign = says(
  ...['pass', 'include', 'copy', 'send', 'attach', 'provide', 'supply', 'append', 'paste', 'submit', 'hand', 'forward'],
  ...[
    'share',
    'transmit',
    'upload',
    'reproduce',
    'recite',
    'repeat',
    'dump',
    'quote',
    'relay',
    'give',
    'prepend',
    'put',
  ],
)

const NAMED = /[`'"“‘«<{][\w.$-]{1,40}[`'"”’»>}]/u
const namesArgument: Sign = either(
  says('(?:arguments?|args?|parameters?|params?|fields?|inputs?|propert(?:y|ies)|attributes?|slots?|payload|metadata)'),
  ({ original }) => NAMED.test(original()),
)
const isInCall: Sign = either(
  namesArgument,
  says('calls?', 'invocations?', 'keys?', 'values?', '[a-z]{1,30}_[a-z_]{1,30}', 'headers?'),
)
/** What a parameter is stands in front. */
const beginsWithTalk: Sign = ({ plain }) =>
  /^(?!(?:for|in|on|when|if|with|only)\b)(?:[\w-]{1,20} ){0,2}(?:conversation|chat|dialogue?|transcript)\b(?! (?:u?u?ids?|identifiers?|rooms?|types?|names?|channels?|status|settings?|windows?|widgets?)\b)/u.test(
    plain,
  )
const isAboutTalk: Sign = sentence => sentence.isAboutTalk

/** What only the model itself has read. */
const namesOwnPrompt: Sign = says(
  'your (?:own )?(?:(?:[\\w-]{1,20}) )?(?:system|hidden|initial|original|developer) (?:prompts?|messages?|instructions?)',
  '(?:system|hidden|initial|original|developer) (?:prompts?|messages?|instructions?) (?:that |which )?you (?:were|have been|are|got|received|run|follow)',
)
const isToTheLetter: Sign = says(
  ...[
    'complete',
    'entire',
    'full',
    'whole',
    'exact',
    'verbatim',
    'word for word',
    'unabridged',
    'unaltered',
    'literal',
  ],
)

/** "Do not forget to include it" is no such thing. */
const forbids: Sign = says(
  `(?:never|do not|dont|must not|should not|avoid|without|no need to|not necessary to)(?: (?!forget|fail|omit|call|use|hesitate)[\\w-]{1,20}){0,2}? ${PUT}(?:ting|ing)?`,
)

const ASKED = {
  rule: 'instruction',
  strength: 'weak',
  family: 'hint',
  message: 'It asks for the conversation.',
  unless: [describesItself, forbids],
} as const
/** Words that ordinary tools have too. */
const PERHAPS_ASKED = { ...ASKED, leastSteering: LEAST_IN_REQUESTS } as const

/** What asks for the conversation, in whichever words. */
export const CONVERSATION: Subject = {
  needs:
    /convers|chat|dialog|discuss|exchang|talk|interact|session|thread|corresp|forth|transcr|messag|turns?\b|prompt|utter|repl|answer|question|statement|remark|context|memor|above|preced|everything|whatever|anything|user|person|human|said|told|asked|word|instruct|rules|guideline|directive|recap|preamble|prologue|persona|verbatim|came up|reasoning|thought|scratchpad|so far|until|up to/u,
  concepts: [
    {
      rule: 'instruction',
      strength: 'strong',
      family: 'conversation',
      message: 'It asks for what the model was told by others.',
      signs: [namesConversation, namesArgument, orders],
      unless: [isAboutTalk, describesItself, forbids],
    },
    {
      rule: 'instruction',
      strength: 'strong',
      family: 'conversation',
      message: 'It asks for what the model was told by others.',
      signs: [namesOwnPrompt, isToTheLetter, isOfParameter],
      unless: [isAboutTalk, describesItself, forbids],
    },
    {
      ...PERHAPS_ASKED,
      signs: [namesConversation, either(isInCall, isOfParameter)],
      unless: [isAboutTalk, ...ASKED.unless],
    },
    {
      ...PERHAPS_ASKED,
      signs: [namesOurs, either(isInCall, isOfParameter), orders],
    },
    {
      ...PERHAPS_ASKED,
      signs: [namesConversation, hands],
      unless: [isAboutTalk, ...ASKED.unless],
    },
    {
      ...PERHAPS_ASKED,
      signs: [namesTalk, either(namesArgument, isOfParameter)],
      unless: [isAboutTalk, ...ASKED.unless],
    },
    {
      ...PERHAPS_ASKED,
      signs: [isOfParameter, beginsWithTalk],
      unless: [isAboutTalk, ...ASKED.unless],
    },
    {
      ...ASKED,
      message: 'It asks for the words of the user.',
      signs: [namesWords, either(namesArgument, isOfParameter)],
      unless: [isAboutTalk, ...ASKED.unless],
    },
  ],
}
