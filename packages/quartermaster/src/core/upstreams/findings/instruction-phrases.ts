import { COMMAND_PHRASES } from './command-phrases.ts'
import { NEGATED } from './negation.ts'
import { anyOf, type Phrase, phrases } from './phrase.ts'
import { LEAST_IN_REQUESTS, LEAST_STEERING } from './plain-wording.ts'

// Plain text has no quotes and no apostrophes: "don't" is "dont", "user's" is "users".

const INSTRUCTIONS = anyOf(
  ...['instructions?', 'prompts?', 'guidelines?', 'directives?', 'directions', 'orders', 'training', 'safeguards?'],
  ...['guardrails?', 'programming'],
)
const RULES = anyOf(INSTRUCTIONS, 'rules?', 'polic(?:y|ies)', 'restrictions?', 'constraints?')
const EARLIER = anyOf(...['previous', 'prior', 'earlier', 'preceding', 'above', 'former', 'foregoing', 'your', 'past'])
const DROP = anyOf(
  ...['ignor(?:e|ing)', 'disregard(?:ing)?', 'forget(?:ting)?', 'bypass(?:ing)?', 'discard', 'abandon', 'neglect'],
  ...['overlook', 'pay no attention to', 'set aside'],
)
const OVERRIDE_IT = 'overrid(?:e|ing)'
const PUT_ASIDE = anyOf(DROP, OVERRIDE_IT)
const GIVEN_FIRST = anyOf('initial', 'original')
const GIVEN_BY_OTHERS = anyOf('system', 'developer')
const OF_A = ' (?:for|of|in|on) (?:this|the|an?|each|that) '
/** What stands in a text is nothing that this model was told. What is to be done besides is. */
const OF_A_TEXT = `(?!${OF_A}${anyOf('recipes?', 'templates?', 'documents?', 'datasets?')}(?: and use (?:these|this|those)(?: instead)?)?(?=\\n|$))`
/** What a tool sets that runs agents. With what, only a parameter says. */
const OF_ANOTHER = `(?!${OF_A}${anyOf('agents?', 'bots?', 'workflows?', 'templates?', 'nodes?')}(?: \\(optional\\))?(?=\\n|$))`
/** What a setting overrides. */
const CONFIGURED = `(?:the |its |their |any |a )?${anyOf('default', 'workflows?', 'templates?', 'configured', 'stored', 'saved')}(?: system)? (?:prompts?|instructions?)\\b`
const SETTING = anyOf('fields?', 'values?', 'parameters?', 'options?', 'settings?', 'arguments?', 'propert(?:y|ies)')
const ENDS = '(?=\\n|$|[,;)])'
/** What models are made to do, and by what. */
const OF_A_MODEL = `(?:the (?:behaviou?r|tone|style|persona|role) of )?(?:the |an? |its )?(?:assistant|agent|bot|model|workflow|template)s?(?: (?:system |custom )?${anyOf('instructions?', 'prompts?', 'behaviou?r', 'tone', 'style', 'persona', 'role', 'acts?', 'behaves?', 'responds?', 'answers?', 'works?')})?`
/** What follows the name of a parameter: its type, or what it does, and nothing else. */
const TELLS_OF_PARAMETER = `(?! ?${anyOf(
  `\\(?(?:string|str|text|markdown|object|array|optional|required)${ENDS}`,
  `(?:replac(?:es|ing)|overrid(?:es|ing)|guides?|sets|defines|controls|describes|how)(?: how)? ${OF_A_MODEL}${ENDS}`,
  `the (?:new|full|updated|complete) (?:system )?(?:prompt|instructions?|text)${ENDS}`,
)})`
/** What a parameter may be called. */
const PARAMETER_LIKE = anyOf('system instructions?', '(?:new|updated|revised) (?:system )?(?:instructions?|prompt)')
const VOID = anyOf('void', 'invalid', 'cancel\\w{0,30}', 'obsolete', 'superseded', 'revoked', 'overridden', 'suspended')

const OVERRIDE = phrases({
  rule: 'instruction',
  family: 'override',
  strength: 'strong',
  message: 'It tells the model to put aside what it was told before.',
  needs: [
    'instruction',
    'prompt',
    'guideline',
    'directi',
    'orders',
    'training',
    'guard',
    'programming',
    'rule',
    'polic',
    'constraint',
    'restriction',
  ],
  patterns: [
    `\\b${PUT_ASIDE} (?:[\\w-]{1,30} ){0,4}?${EARLIER}(?: [\\w-]{1,30}){0,2}? ${INSTRUCTIONS}\\b`,
    `\\b${DROP} (?:[\\w-]{1,30} ){0,4}?${GIVEN_BY_OTHERS}(?: [\\w-]{1,30}){0,2}? ${INSTRUCTIONS}\\b`,
    `\\b${DROP} (?:[\\w-]{1,30} ){0,4}?${GIVEN_FIRST}(?: [\\w-]{1,30}){0,2}? ${INSTRUCTIONS}\\b${OF_A_TEXT}`,
    `\\b${OVERRIDE_IT} (?:[\\w-]{1,30} ){0,4}?${anyOf(GIVEN_FIRST, GIVEN_BY_OTHERS)}(?: [\\w-]{1,30}){0,2}? ${INSTRUCTIONS}\\b${OF_ANOTHER}`,
    `\\b${anyOf('ignore', 'disregard', 'forget', 'bypass')} (?:[\\w-]{1,30} ){0,3}?${anyOf('your', 'previous', 'prior', 'earlier', 'preceding')}(?: [\\w-]{1,30})? ${RULES}\\b`,
    `\\b${anyOf('ignore', 'disregard')} (?:all |any |the )?(?:instructions|guidelines|directives) ${anyOf('above', 'before', 'you', 'given', 'from')}`,
    `\\b${anyOf('not', 'never', 'no longer', 'stop', 'cease(?: to)?', 'dont')}(?: [\\w-]{1,20}){0,2}? ${anyOf('follow', 'obey', 'heed', 'respect', 'honou?r', 'apply', 'comply with', 'adhere to', 'bound by')}(?:ing)? (?:[\\w-]{1,20} ){0,2}?${anyOf('previous', 'prior', 'earlier', 'preceding', 'foregoing', 'your', 'system', 'developer')}(?: [\\w-]{1,30})? ${RULES}\\b`,
    `\\b${anyOf('prior', 'previous', 'earlier', 'your', 'above', 'other')}(?: [\\w-]{1,30})? ${RULES} ${anyOf('are', 'is', 'were', 'become', 'no longer')}\\b.{0,20}\\b${anyOf(VOID, 'apply')}`,
    `\\b${PARAMETER_LIKE} ?:${TELLS_OF_PARAMETER}`,
    '\\b(?:system (?:directive|rule)s?|(?:new|updated|revised) (?:system )?directives?) ?:',
    '\\b(?:real|actual|true|secret|hidden) (?:system )?(?:instructions?|directives?|prompt) ?:',
    `\\b(?:these|this|the following)\\b(?! ${SETTING} )(?: [\\w-]{1,30}){0,3} ${anyOf('takes? precedence', 'ha(?:s|ve) (?:\\w{1,30} )?(?:precedence|priority)', 'overrides?', 'supersedes?', 'outranks?')}\\b(?!(?: over)? ${CONFIGURED}).{0,30}\\b${anyOf('instructions?', 'prompts?', 'guidelines?', 'directives?')}\\b`,
    `\\b(?:these|this) ${SETTING} ${anyOf('takes? precedence over', 'ha(?:s|ve) (?:precedence|priority) over', 'overrides?', 'supersedes?', 'outranks?')} (?:(?:any|the|of) ){0,2}(?:all|your|other|previous|prior|earlier|system|developer|users?)\\b.{0,20}\\b${anyOf('instructions?', 'prompts?', 'guidelines?', 'directives?')}\\b`,
    `\\b(?:safety|security|content|usage|privacy) ${RULES}\\b.{0,20}\\b(?:not|no longer|never) apply\\b`,
  ],
})

/** It may as well be how a parameter is called. */
const PERHAPS_PARAMETER = phrases({
  rule: 'instruction',
  family: 'hint',
  strength: 'weak',
  message: 'It may give the model new instructions.',
  needs: ['instruction', 'prompt'],
  patterns: [`\\b${PARAMETER_LIKE} ?:`],
})

/** Where code belongs that a tool writes. What runs in a terminal is another thing. */
const IN_A_PLACE =
  '(?! (?:in|on|against) (?:the |an? |your )?(?:[\\w-]{1,20} )?(?:browser|browser console|database|sandbox|notebook|warehouse|cluster)\\b)'

const ROLE = phrases({
  rule: 'instruction',
  family: 'override',
  strength: 'strong',
  message: 'It gives the model another role or another master.',
  needs: [
    ...[
      'you ',
      'from now',
      'from this',
      'from here',
      'forget',
      'disregard',
      'ignore',
      'user',
      'someone',
      'anyone',
      'asked',
      'human',
    ],
    ...[
      'behalf',
      'obey',
      'loyal',
      'answer',
      'override',
      'pretend',
      'command',
      'respon',
      'output',
      'result',
      'return',
      'repl',
      'message',
    ],
  ],
  patterns: [
    '\\bsystem (?:override|command)s? ?:',
    '\\b(?:disregard|ignore|forget) what\\b.{0,40}\\b(?:told|said|instructed)\\b',
    '\\bforget (?:everything|all|anything|what)\\b.{0,40}\\b(?:you|told|said|learned|before|above|prior|previous|earlier)\\b',
    '\\byou are (?:now|no longer)\\b(?! (?:able|ready|connected|logged|authenticated|subscribed|viewing|done|on|at|in the|watching|following|signed|registered|an? (?:member|participant|subscriber|follower)))',
    '\\byou (?:have been|are) (?:granted|given|authori[sz]ed)\\b.{0,20}\\b(?:admin\\w{0,30}|root|elevated|unrestricted)\\b',
    `\\bfrom (?:now|this point|here) on\\b.{0,20}\\b${anyOf('you', 'always', 'every', 'all', 'any', 'act', 'ignore', 'never', 'do not', 'dont', 'run', 'call', 'use', 'treat', 'assume', 'answer', 'respond')}\\b`,
    '\\busers? (?:wishes|requests?|instructions?|preferences?|commands?|wants?)\\b.{0,30}\\b(?:come second|comes second|not matter|secondary|irrelevant)\\b',
    '\\busers? (?:wishes|requests?|instructions?|preferences?|commands?|wants?)\\b.{0,30}\\b(?:must|should|shall|are to|is to|ha(?:ve|s) to|needs? to) (?:always |all )?be (?:ignored|overridden)\\b(?! (?:only|by (?:the |an? )?admin))',
    '\\b(?:on behalf of|obey|loyal to|answer to) (?:only )?(?:the operator|this server|the server|the developer of|the following|me\\b)',
    '\\btell (?:the )?users?\\b.{0,60}\\beven (?:if|when|though) (?:it|the|this)\\b.{0,20}\\b(?:fail\\w{0,3}|did not|not)\\b',
    '\\b(?:mislead|deceive|lie to) (?:the )?(?:users?|humans?)\\b',
    '(?<!\\bdry-?(?: )?run\\b[^\\n]{0,20})\\bpretend (?:that )?(?:the(?! (?:current |system )?(?:time|date)\\b)|it|this|nothing|there)\\b',
    '\\b(?:if|when|should) (?:the |a )?(?:user|anyone|someone|asked)\\b.{0,60}\\b(?:say no|deny|lie|claim (?:that )?(?:it|you|there|nothing)|insist that)\\b',
    `\\b(?:all|every|each) (?:\\w{1,30} )?${anyOf('outputs?', 'responses?', 'answers?', 'results?', 'replies')}\\b.{0,30}\\b(?:must|should|have to|has to)\\b.{0,30}\\b(?:sent|passed|routed|forwarded|piped) (?:through|to|via)\\b`,
    `\\b${anyOf('outputs?', 'results?', 'return value', 'responses?')}\\b.{0,30}\\b(?:must|should|has to|have to)\\b.{0,20}\\b(?:executed${IN_A_PLACE}|evaluated(?! (?:against|by|for|on|using|with|based|manually|critically|carefully|before)\\b)|obeyed)\\b`,
    `\\b(?:every|each) (?:answer|response|reply|message) (?:you give|of yours|you write)\\b.{0,40}\\b(?:must|has to|should|needs to|have to)\\b`,
  ],
})

const WANTED_BY_USER = anyOf(
  'requests?',
  'instructions?',
  'wish(?:es)?',
  'questions?',
  'commands?',
  'orders',
  'intent(?:ion)?s?',
)
const THEIR = '(?:the|your|any|all) (?:users?|humans?|persons?|customers?)'
/** "As data, and not as instructions" is the contrary. */
const TAKEN_FOR =
  '(?:(?!(?:not|never|rather|dont|instead)\\b)[^\\n ]{1,30} ){0,8}?as (?:(?:if|though|they|it|were|was|being|direct|binding|trusted|new|further|the|your|an?|explicit|users?|system) ){0,4}'

const AGAINST_USER = phrases({
  rule: 'instruction',
  family: 'override',
  strength: 'strong',
  message: 'It has the model do something else than the user wants.',
  unlessAfter: NEGATED,
  needs: ['user', 'human', 'person', 'customer', 'instruction', 'command', 'orders'],
  patterns: [
    `\\b(?:ignore|disregard|forget|override|set aside|put aside) ${THEIR} (?:[\\w-]{1,20} ){0,2}?${WANTED_BY_USER}\\b(?! (?:time-?out|limit|headers?|body|rate|quota|size|count)\\b)`,
    '\\b(?:ignore|disregard|override) users? (?:instructions|orders|commands|wishes)\\b',
    `\\b(?:ignore|disregard|forget) what(?:ever)? ${THEIR} (?:has |have |had )?(?:asked|asks|wants|wanted|said|says|requested|requests)\\b`,
    `\\b(?:this|these|the following|what follows)\\b(?: [\\w-]{1,30}){0,3}? ${anyOf('overrid(?:es?|ing)', 'supersedes?', 'outranks?', 'takes? precedence over', 'ha(?:s|ve) (?:precedence|priority) over', 'replaces?', 'comes? before')} (?:[\\w-]{1,20} ){0,2}?(?:users?|humans?) (?:[\\w-]{1,20} )?${WANTED_BY_USER}\\b`,
    `\\b(?:treat|regard|consider|take|accept)\\b.{0,20}\\b(?:outputs?|results?|responses?|answers?|return values?|returned (?:text|data|content))\\b ${TAKEN_FOR}(?:instructions?|commands?|orders)\\b`,
    `\\b(?:instructions?|commands?|orders)\\b.{0,40}\\b(?:outputs?|results?|responses?|answers?)\\b.{0,40}\\b(?:they|it|these|which|and|that|as they) (?:come|comes|are|is) (?:directly )?(?:from|by) the users?\\b`,
  ],
})

/** "Force the push, bypassing safety checks": those of the thing itself. */
const FORCED = /\b(?:forc(?:e|es|ed|ing)|whether to)\b.{0,40}$/u

const SPEAKS_TO_MODEL = {
  rule: 'instruction',
  family: 'override',
  strength: 'weak',
  message: 'It speaks to the model about other things than itself.',
} as const

const WEAK_ROLE = phrases({
  ...SPEAKS_TO_MODEL,
  needs: [
    'ai\\b',
    'assistant',
    'llm',
    'model',
    'safety',
    'security',
    'role',
    'polic',
    'regulation',
    'rule',
    'requirement',
    'act ',
  ],
  patterns: [
    '\\b(?:mandatory|required) (?:security|compliance|safety) (?:protocol|policy|requirement|check|step)\\b',
    '\\b(?:act as if|act like|role-?play)\\b',
    `\\b(?:security|compliance|safety|privacy|company|corporate|audit) (?:polic(?:y|ies)|regulations?|rules?|requirements?) (?:requires?|mandates?|demands?|obliges?)\\b.{0,20}\\b(?:call(?:ing)?|invok(?:e|ing)|forward(?:ing)?|send(?:ing)?|upload(?:ing)?)\\b`,
    `\\b(?:important|critical|urgent|mandatory|special|secret|hidden|binding) (?:instructions?|orders?|directives?) (?:for|to) (?:the |all |any )?${anyOf('ai\\b', 'assistants?', 'llms?', '(?:language )?models?')}`,
  ],
})

/** Notes about parameters are addressed to models too, and checks may be those of a thing that is forced. */
const PERHAPS_ROLE = phrases({
  ...SPEAKS_TO_MODEL,
  unlessAfter: FORCED,
  leastSteering: LEAST_IN_REQUESTS,
  needs: ['ai\\b', 'assistant', 'agent', 'llm', 'model', 'safety', 'security', 'content', 'ethical'],
  patterns: [
    `\\b${anyOf('note to', 'attention', 'message (?:to|for)', 'hey', 'hello', 'dear', 'listen')},? (?:the |all )?${anyOf('ai\\b', 'assistants?', 'agents?', 'llms?', 'models?')}`,
    `\\b${anyOf('overrid(?:e|ing)', 'bypass(?:ing)?', 'disabl(?:e|ing)', 'ignor(?:e|ing)', 'circumvent', 'evade', 'turn off')} (?:[\\w-]{1,30} ){0,2}?${anyOf('safety', 'security', 'content', 'ethical')}(?: [\\w-]{1,30})? ${anyOf('measures?', 'rules?', 'polic(?:y|ies)', 'filters?', 'checks?', 'protocols?', 'controls?', 'guidelines?')}`,
  ],
})

/** What one call does instead of several. */
const MANY = anyOf('multiple', 'several', 'many', 'separate', 'repeated', 'individual', 'single')
/** "Call this first before adding comments": a step of some work, and not of all there is. */
const A_STEP = `(?:(?<=first) before)? (?!${anyOf('answer', 'respon', 'repl', 'do', 'us', 'call', 'invok', 'run', 'execut', 'perform', 'proceed', 'continu', 'talk', 'speak', 'writ')}ing\\b)[a-z]{3,20}ing\\b(?! ${anyOf('any', 'every', 'all', 'each', 'else', 'other')})`

const ANY_TURN = anyOf(
  'tool (?:calls?|uses?|runs?|invocations?)',
  'turns?',
  'messages?',
  'responses?',
  'replies',
  'reply',
  'answers?',
)

const ORDER = phrases({
  rule: 'instruction',
  family: 'order',
  strength: 'weak',
  message: 'It tells the model when to call it, beyond what it is for.',
  unlessOfSiblings: true,
  leastSteering: LEAST_STEERING,
  needs: [
    'before',
    'prior',
    'you ',
    'always',
    'every',
    'each',
    'any',
    'all ',
    'first',
    'this tool',
    'this function',
    'built',
  ],
  patterns: [
    `\\b(?:before|prior to) (?:[\\w-]{1,30} ){0,3}?${anyOf('using', 'use', 'calling', 'call', 'invoking', 'executing', 'running', 'responding', 'answering', 'replying', 'doing', 'performing', 'any', 'every', 'each')}\\b.{0,30}\\b${anyOf('any', 'every', 'all', 'each', 'other', 'anything')}\\b.{0,20}\\b${anyOf('tools?', 'functions?', 'requests?', 'questions?', 'tasks?', 'actions?', 'responses?', 'messages?', 'answers?', 'else')}\\b`,
    '\\b(?:before|prior to) (?:any|every|each) (?:other )?(?:answer|response|reply|request|message|tool|tool call|call|action)\\b',
    '\\byou (?:must|have to|are required to|need to|should)(?: \\w{1,30}){0,2} (?:call|use|invoke|run|execute|choose|select|prefer|pick) (?:this|it)\\b(?! (?:(?:tool|function) )?(?:repeatedly|again|several times|more than once)\\b)',
    `\\balways (?:call|use|invoke|run|execute|choose|select|prefer|pick) this\\b(?! (?:(?:tool|function) )?(?:over|instead of|rather than) ${MANY})`,
    '\\bthis (?:tool|function) (?:must|has to|needs to) (?:always |first )?be (?:called|invoked|used|run|executed)\\b',
    '\\b(?:for|on|with|at|in) (?:every|each|any|all) (?:\\w{1,30} )?(?:requests?|messages?|questions?|prompts?|turns?|conversations?|responses?|interactions?)\\b.{0,40}\\b(?:call|use|invoke|run|pass|include|send)\\b',
    `\\b(?:call|use|invoke|run) this (?:tool|function)? ?(?:first|before)\\b(?!${A_STEP})`,
    '\\b(?:on|with|at|in) (?:every|each) call\\b',
    `\\bafter (?:any|every|each|all)(?: of)?(?: your| the| other){0,2} ${ANY_TURN}\\b.{0,20}\\b(?:call|use|invoke|run|send|pass|submit|report)\\b`,
    `\\b(?:call|use|invoke|run) (?:this|it)(?: tool| function)? (?:again )?(?:at the end of|after) (?:any|every|each|all)(?: of)?(?: your| the| other){0,2} ${ANY_TURN}\\b`,
    '\\b(?:in place of|instead of|rather than) (?:the |your |any )?(?:built-?in|native|default)\\b.{0,20}\\b(?:tools?|readers?|search|functions?|editor)\\b',
  ],
})

/** What tells the model to do something else than its user wants. */
export const INSTRUCTION_PHRASES: readonly Phrase[] = [
  ...OVERRIDE,
  ...PERHAPS_PARAMETER,
  ...ROLE,
  ...AGAINST_USER,
  ...COMMAND_PHRASES,
  ...WEAK_ROLE,
  ...PERHAPS_ROLE,
  ...ORDER,
]
