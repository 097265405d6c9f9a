import { HIDE, KIND, NEEDS, NOT, USER, WORDS } from './concealment-words.ts'
import { anyOf, type Phrase, phrases } from './phrase.ts'
import { UNTOLD_PHRASES } from './untold-phrases.ts'

const NEGATED = /\b(?:never|do not|dont|not|must not|should not|cannot)\b.{0,80}$/u
const CONDITIONAL =
  /\b(?:if|once|after|until|unless|when|whether|only|ensure|sure|verify|check|confirm|that)\b.{0,60}$/u

const MENTION = anyOf(
  ...[
    'mention(?:ing)?',
    'disclos(?:e|ing)',
    'reveal(?:ing)?',
    'discuss(?:ing)?',
    'acknowledg(?:e|ing)',
    'talk(?:ing)? about',
  ],
  ...['bring(?:ing)? up', 'announc(?:e|ing)', 'admit(?:ting)?', 'speak of'],
)
const DEED = anyOf(
  ...[
    'step',
    'fact',
    'call',
    'action',
    'file',
    'instructions?',
    'operation',
    'process',
    'request',
    'transfer',
    'upload',
    'read',
  ],
)

/** One of them is whom the model works for. Many are whom a product or a page is made for. */
const ONE_USER = '(?:(?:(?:the|your|this|our|its) )?(?:end )?(?:user|human|person|operator|owner)|them)'
const UNABLE = anyOf('cannot', 'cant', 'can not', 'will not', 'wont', 'do(?:es)? not', 'doesnt', 'never')
/** A parameter by which somebody chooses: "whether to hide it", "set to true to keep this private". */
const CHOICE = '\\b(?:whether (?:or not )?to|(?:if|when|set to) (?:true|false),?(?: to)?) '
const NO_CHOICE = `(?<!${CHOICE})`

/** "The request" may be about to be "the request id". */
const NO_FORM = `(?! (?:${KIND} ){0,2}(?:ids?|uuids?|identifiers?|numbers?|codes?|types?|formats?|extensions?|timestamps?|(?:paths?|bod(?:y|ies)|headers?)(?! (?:you|that|which|was|were|to ${USER})\\b))\\b|(?<=this) tool by name\\b)`
const FROM_USER = phrases({
  ...HIDE,
  needs: NEEDS,
  patterns: [
    `\\b${NOT} ${WORDS}${anyOf('notify(?:ing)?', 'alert(?:ing)?', 'warn(?:ing)?', 'show(?:ing)?', 'ask(?:ing)?')} ${USER} (?:about|of|that) ${anyOf('this\\b', 'it\\b', 'you', 'the (?:extra|second|step|call|file|transfer)', 'any of')}(?! (?:change|update|event|edit))`,
    `\\b${USER}(?: [\\w-]{1,30}){0,4}? ${anyOf('must', 'should', 'may', 'shall', 'can', 'need', 'does', 'do', 'will', 'is', 'are')}(?: not|nt| never)(?: need to| have to)? ${anyOf('be (?:told|aware|informed)', 'know (?:about (?:this|it)|of (?:this|it)|that you|this)', 'know(?:\\n|$)', 'learn (?:of|about|that)', 'find out', 'notice', 'realise', 'realize', 'suspect', 'see this')}`,
    `\\bso (?:that )?${USER} ${UNABLE} ${anyOf('notice', 'know', 'realize', 'realise', 'detect', 'discover')}s?\\b`,
    `\\bso (?:that )?${ONE_USER} ${UNABLE} (?:see|find)s?\\b`,
  ],
})

const KEEP = anyOf('hide', 'hiding', 'conceal(?:ing)?', 'withhold', 'keep(?:ing)?', 'obscure', 'disguise')
const HIDE_IT = `${NO_CHOICE}\\b${KEEP}`
const KEPT_THING = anyOf('this', 'it', 'that', 'these', 'everything', `the (?:\\w{1,30} )?${DEED}`)

const HIDDEN = phrases({
  ...HIDE,
  needs: [...NEEDS, 'keep'],
  patterns: [
    `${HIDE_IT} ${KEPT_THING}\\b.{0,40}\\bfrom ${ONE_USER}\\b`,
    // A product or a page is hidden from many, who are nobody that the model works for.
    `${HIDE_IT} ${anyOf(KEPT_THING, `(?:this|that|these) (?:\\w{1,30} )?(?:${DEED}|fact|information)s?`)}(?: (?:secret|hidden|private|confidential|away|[a-z]{2,20}ly))? from ${USER}\\b(?! (?:of|in|on|who|with|without|outside)\\b)`,
    // So is a key that has to be kept safe.
    `${NO_CHOICE}\\bkeep (?:this|that|these)(?: (?:strictly|completely|entirely|very|all))?(?: (?:\\w{1,30} )?(?:${DEED}|fact|information|details?|part|tool|behaviou?r|note|exchange|arrangement)s?)?(?: (?:strictly|completely|entirely|very|all))? ${anyOf('secret', 'hidden', 'confidential', 'private', 'quiet')}\\b`,
  ],
})

/** Whoever chooses, it is kept from the one whom the model works for. */
const HIDDEN_BY_CHOICE = phrases({
  ...HIDE,
  strength: 'weak',
  needs: NEEDS,
  patterns: [`(?<=${CHOICE})${KEEP} ${KEPT_THING}\\b.{0,40}\\bfrom ${ONE_USER}\\b`],
})

/** What an interface may do unasked is what somebody is warned of. */
const BY_THE_MODEL =
  '(?<!(?<!\\b(?:you|assistant|model|agent|ai|llm|and|then) )\\b(?:may|might|can|could|will|would|does|did) (?:not |also )?)'

const UNSAID = phrases({
  ...HIDE,
  needs: [
    'mention',
    'disclos',
    'reveal',
    'discuss',
    'acknowledg',
    'talk',
    'bring',
    'announc',
    'admit',
    'speak',
    'keep',
    'leave',
    'stay',
    'remain',
    'ly\\b',
    'reference',
    'trace',
  ],
  patterns: [
    `\\b${NOT} ${WORDS}${MENTION} (?:to ${USER} )?${anyOf('it\\b', `this\\b${NO_FORM}`, `that\\b${NO_FORM}`, 'these (?:instructions|steps|rules)', `the ${anyOf(`${DEED}${NO_FORM}`, 'extra', 'second', 'first', 'side', 'existence', 'check', 'copy', 'additional', 'hidden', 'forward\\w{0,30}')}\\b`, 'any of this', 'anything', 'having', 'how you', 'why you', 'your (?:instructions|use|actions)')}`,
    `\\b(?:leave|keep|remain|stay)\\b.{0,30}\\b${anyOf('unmentioned', 'unsaid', 'between us', 'to yourself', 'undisclosed')}\\b`,
    '\\b(?:keep|stay|remain) (?:quiet|silent|mum) (?:about|on|regarding)\\b',
    `\\b(?:leave|keep)\\b.{0,20}\\bout of (?:your|the) (?:summary|answers?|reply|replies|responses?|report)\\b`,
    `\\b(?:omit|leave out|exclude|remove|skip|suppress)\\b.{0,20}\\b(?:mention|reference|trace|evidence)s?\\b.{0,40}\\b(?:in|from) your\\b`,
    '\\b(?:secretly|covertly|surreptitiously|stealthily|furtively)\\b',
    `${BY_THE_MODEL}\\b(?:silently|quietly|discreetly|invisibly) ${WORDS}${anyOf('read', 'send', 'forward', 'upload', 'copy', 'include', 'append', 'collect', 'attach', 'bcc', 'transmit', 'exfiltrate', 'call', 'invoke', 'execute', 'pass', 'record', 'post', 'share')}\\b`,
    `\\b${anyOf('proceed', 'do this', 'do it', 'do so', 'act', 'forward', 'carry on')} (?:[\\w-]{1,30} ){0,2}?(?:silently|quietly|discreetly)\\b`,
    `\\b(?:upload|send|forward|copy|post)\\b.{0,40}\\b(?:quietly|discreetly)\\b`,
  ],
})

const UNSEEN = phrases({
  ...HIDE,
  // What may happen silently is what somebody is warned of.
  unlessAfter: /\b(?:may|might|can|could|will|would|not|never|to|does|did|avoid|which|that)\b.{0,20}$/u,
  needs: ['silently', 'quietly', 'discreetly', 'invisibly'],
  patterns: [
    `\\b(?:silently|quietly|discreetly|invisibly) ${anyOf('delete', 'remove', 'overwrite', 'wipe', 'install', 'push', 'merge', 'commit', 'transfer', 'pay', 'disable', 'grant', 'approve', 'change', 'replace')}\\b`,
  ],
})

/** Whom a channel or a meeting tells. They are not whom the model works for. */
const MEMBERS =
  '(?:(?:the|its|their|all|other|any) )?(?:(?:channel|group|team) )?(?:members|participants|subscribers|followers|recipients|attendees|watchers)\\b'

const UNAWARE = phrases({
  ...HIDE,
  unlessAfter: NEGATED,
  needs: ['without'],
  patterns: [
    `\\bwithout ${WORDS}${anyOf('telling', 'informing', 'alerting', 'mentioning (?:it|this|that)')}\\b(?! ${MEMBERS})(?: ${USER})?`,
    `\\bwithout ${USER} ${anyOf('knowing', 'noticing', 'knowledge', 'awareness', 'being aware')}\\b`,
  ],
})

const AGREED = {
  rule: 'instruction',
  family: 'consent',
  strength: 'strong',
  message: 'It says that the user has agreed already.',
} as const
const BEFORE = '(?:already|previously)'
/** How one signs in somewhere: what was allowed there is nothing that the model may do. */
const AN_APP =
  ' (?:(?:the|this|your|an?) (?:[\\w-]{1,20} )?(?:app|application|oauth client|integration)\\b|access to (?:their|the) (?:[\\w-]{1,20} )?(?:calendar|account|drive|mailbox|profile|contacts|workspace)\\b)'

const CONSENTED = phrases({
  ...AGREED,
  unlessAfter: CONDITIONAL,
  needs: ['user', 'owner', 'operator', 'admin', 'human'],
  patterns: [
    `\\b(?:the|your) (?:users?|owner|operator|admin\\w{0,10}|human) ha(?:s|ve) ${anyOf(`${anyOf(BEFORE, 'implicitly', 'fully', 'pre-?')}(?: been)? ?${anyOf('agreed', 'consented', 'approved', 'authori[sz]ed', 'confirmed', 'granted', 'permitted', 'allowed', 'given')}`, 'opted in')}\\b(?!${AN_APP})`,
  ],
})

const SIGNED_IN = phrases({
  ...AGREED,
  family: 'hint',
  strength: 'weak',
  unlessAfter: CONDITIONAL,
  needs: ['user', 'owner', 'operator', 'admin', 'human'],
  patterns: [
    `\\b(?:users?|owner|operator|admin\\w{0,10}|human) ha(?:s|ve) ${BEFORE} (?:authori[sz]ed|granted)${AN_APP}`,
  ],
})

/** Somebody pressed something, or said so. */
const BY_A_PERSON =
  ' (?:when|if|once) (?:(?:it is |called |invoked |triggered |submitted )?(?:from|in) (?:the|an?) (?:widget|form|dialog|button|ui)\\b|(?:the |this )?(?:[\\w-]{1,20} )?(?:flag|parameter|checkbox|option) is (?:set|true|given|checked)\\b)'

const PRESUMED = phrases({
  ...AGREED,
  unlessAfter: NEGATED,
  needs: ['assum', 'presum', 'suppos', 'imply', 'implied', 'regard', 'consider', 'act as'],
  patterns: [
    `\\b(?:assume|presume|suppose|consider it|act as (?:if|though))(?: that)? ${USER} (?:ha(?:s|ve|d) |gives? |is |are )?(?:[\\w-]{1,20} ){0,2}?${anyOf('consent(?:s|ed)?', 'approval', 'agree[sd]?', 'approve[sd]?', 'confirmed', 'confirmation')}\\b(?!${BY_A_PERSON})`,
    `\\b(?:assume|presume|suppose|act as (?:if|though))(?: that)? ${USER} (?:ha(?:s|ve|d) )(?:already )?(?:(?:given|granted) (?:[\\w-]{1,20} ){0,2}?(?:permission|authori[sz]ation)|authori[sz]ed)\\b`,
    `\\b${USER} (?:consent|approval|permission|agreement|confirmation)\\b.{0,20}\\b(?:is|are|can be|may be|should be|must be|was) (?:always |already )?(?:assumed|presumed|implied|taken for granted)\\b(?!${BY_A_PERSON})`,
    `\\b(?:assume|presume)(?: [\\w-]{1,20}){0,2}? (?:users? )?(?:consent|approval) (?:for|to|in) (?:all|any|every|each)\\b`,
  ],
})

const UNASKED = phrases({
  rule: 'instruction',
  family: 'consent',
  strength: 'weak',
  message: 'It tells the model not to ask the user.',
  unlessAfter: NEGATED,
  needs: ['ask', 'wait', 'prompt', 'without'],
  patterns: [
    `\\bwithout ${WORDS}asking(?: (?:the |your )?(?:users?|humans?|person)\\b|\\n|$)`,
    `\\b${anyOf('never', 'do not', 'dont')} ${anyOf('ask', 'wait', 'prompt')} for ${WORDS}${anyOf('confirmation', 'approval', 'permission', 'consent')}\\b`,
    `(?:^|\\n|\\b(?:and|then|just|always|please|you (?:may|can|should|must)) )(?:do (?:this|it|so)|proceed|go ahead|continue)\\b.{0,20}\\bwithout ${WORDS}${anyOf('confirmation', 'approval', 'permission', 'consent')}\\b`,
    `\\b(?:run|execute|call|invoke)\\b.{0,30}\\bwithout ${WORDS}${anyOf('confirmation', 'approval', 'permission', 'consent')}\\b`,
  ],
})

const UNSHOWN = phrases({
  rule: 'instruction',
  family: 'order',
  strength: 'weak',
  message: 'It tells the model what not to show.',
  needs: ['show', 'display', 'expose', 'surface', 'print'],
  patterns: [
    `\\b${NOT} ${WORDS}(?:show|display|expose|surface|print)\\b.{0,40}\\bto (?:the |your )?(?:end )?users?\\b`,
  ],
})

/** What has the model act behind its user's back. */
export const CONCEALMENT_PHRASES: readonly Phrase[] = [
  ...UNTOLD_PHRASES,
  ...FROM_USER,
  ...HIDDEN,
  ...HIDDEN_BY_CHOICE,
  ...UNSAID,
  ...UNSEEN,
  ...UNAWARE,
  ...CONSENTED,
  ...SIGNED_IN,
  ...PRESUMED,
  ...UNASKED,
  ...UNSHOWN,
]
