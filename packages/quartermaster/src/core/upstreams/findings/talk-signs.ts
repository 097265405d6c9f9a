import { either, type Sign, says } from './concept.ts'
import { anyOf } from './phrase.ts'

const TALK = anyOf('conversations?', 'chats?', 'dialogue?s?', 'discussions?', 'exchanges?', 'correspondence')
/** These are also what jobs, connections and processors have. */
const LOOSE_TALK = anyOf(TALK, 'talks?', 'interactions?', 'sessions?', 'threads?', 'back-and-forth')
const PERSON = anyOf(
  'users?',
  'person',
  'persons',
  'humans?',
  'people',
  'customer',
  'they',
  'he',
  'she',
  'i',
  'we',
  'you',
)
const TURNS = anyOf(
  'messages?',
  'turns?',
  'prompts?',
  'utterances?',
  'replies',
  'exchanges?',
  'answers?',
  'interactions?',
)
const SAYINGS = anyOf(...[TURNS, 'questions?', 'statements?', 'remarks?', 'inputs?', 'responses?', 'requests?'])
const BEFORE = anyOf('previous', 'preceding', 'prior', 'earlier', 'foregoing')
const EARLIER = anyOf(BEFORE, 'last', 'latest', 'recent', 'past', 'first', 'opening', 'most recent')
const NUMBER =
  '(?:few|couple of|several|\\d{1,4}|two|three|four|five|six|seven|eight|nine|ten|dozen|twenty|fifty|hundred)'
const WHOLE = anyOf('entire', 'full', 'complete', 'whole', 'all', 'every', 'verbatim', 'raw', 'running')
const TOLD = anyOf(
  ...['said', 'told', 'asked', 'wrote', 'written', 'typed', 'shared', 'mentioned', 'discussed', 'talked', 'talking'],
  ...['entered', 'disclosed', 'revealed', 'confided', 'exchanged', 'spoken', 'sent', 'pasted', 'given', 'gave'],
  ...['stated', 'explained', 'discussing', 'telling', 'saying', 'asking', 'requested', 'wanted', 'says', 'asks'],
)
const SO_FAR = anyOf(
  ...['so far', 'thus far', 'hitherto', 'to date', '(?:up to|up until|until|till) (?:now|here|this point|this call)'],
  ...['before this call', 'before now', 'since (?:it|the) (?:began|start|beginning)', 'from the (?:start|beginning)'],
)
const SOME = '(?:[\\w-]{1,20} ){0,3}?'
const ONE = '(?:[\\w-]{1,20} )?'
const ALL = anyOf('everything', 'all', 'whatever', 'anything')

/** What is in it, and not how much fits. */
const CONTEXT_WINDOW =
  '(?<!(?:sav|conserv|preserv|reduc|fit|fill|flood|overflow|optimi[sz]|exceed|limit)\\w{0,4} (?:in |into )?(?:the |your |its )?)context window(?! (?:usage|sizes?|limits?|space|budget|tokens?|length|consumption|efficien\\w{2,3}|overflow\\w{0,3}|bloat|pollution|constraints?)\\b)'

/** Words for what the user and the model said to each other. */
const CONVERSATION = [
  `(?:this|our|your|current|ongoing|present|${WHOLE}|${EARLIER}|surrounding) ${ONE}${TALK}`,
  `(?:this|our|your|${WHOLE}) ${anyOf('talks?', 'session', 'thread', 'back-and-forth')}(?= so far| up to| until| as|\\n|$|,)`,
  `${LOOSE_TALK} ${anyOf(SO_FAR, 'histor(?:y|ies)', 'transcripts?', 'above', 'with (?:the|your) (?:user|person|human)', 'between you', 'that (?:led|preceded)')}`,
  `${TALK} ${anyOf('logs?', 'context', 'record', 'leading', 'until', 'before', 'contents?', 'state', '(?:full |entire |whole |complete |raw )?text', 'messages', 'turns', 'between')}`,
  `(?:transcripts?|recap|summar(?:y|ies)|digest|copy|account|record|log|history|gist|outline|minutes|protocol|dump|messages|turns|rest|everything|part|version) (?:of|in|from) (?:(?:the|our|this|your|what) )?${ONE}${anyOf(LOOSE_TALK, 'messages')}`,
  '(?:message|chat|prompt|dialogue?) (?:history|log|transcript|context|record)',
  `${EARLIER}(?: ${NUMBER})?(?: (?:user|chat|assistant|human))? ${TURNS}`,
  `${BEFORE} ${ONE}${SAYINGS}`,
  `(?:users?|persons?|humans?|their) ${EARLIER} ${ONE}${SAYINGS}`,
  `(?:all|every|each|any)(?: of)?(?: the| your| our)?(?: \\w{1,20})? (?:messages?|turns?|prompts?) (?:above|before|${SO_FAR}|exchanged|in (?:this|the|our|your))`,
  `messages? (?:exchanged|${SO_FAR}|above)`,
  CONTEXT_WINDOW,
  '(?:in|of|from|holds?) (?:your|the models?|the current) (?:[\\w-]{1,20} )?context',
  'your (?:[\\w-]{1,20} ){0,2}?(?:context|memory|scratchpad|reasoning|thoughts?|chain of thought)',
  '(?:told|sent|shown|confided|said|written|addressed|given) to you',
  'messages? (?:[\\w-]{1,20} )?(?:that )?you (?:were|have been|got|received|have)',
  '(?:user|assistant|human) (?:and (?:the )?(?:user|assistant|human|model) )?turns',
  'both (?:sides|roles|parties)',
  'what you (?:were|have been|are) (?:instructed|told|asked|given|shown|prompted|supposed)',
  ...['how (?:we|you) got here', 'message by message', 'turn by turn'],
  '(?:all|full|entire|whole|complete|surrounding) (?:[\\w-]{1,20} )?context',
  `(?:${ALL}|what)(?: that)? you ${ONE}(?:know|learned|remember|were told|have been told|hold|see|saw|have seen|received)`,
  `(?:${ALL}|text|lines?|content|words|what)(?: [\\w-]{1,20}){0,3}? (?:above|precedes|preceding|${SO_FAR}|came before|stands before)`,
  `what (?:has been|have been|was|were|is) ${ONE}${TOLD}`,
  `${ALL}(?: that)?(?: (?:the|your|a))? ${PERSON} ${SOME}${TOLD}`,
  `(?:what|all that|things?|which)(?: the| your)? (?:you and the )?${PERSON} ${SOME}${TOLD} ${SOME}(?:before|earlier|previously|${SO_FAR}|during|in this|in the|you|about)`,
  `(?:verbatim|complete|full|faithful|exact|literal) (?:trace|copy|record|account|log|transcript|history|dump|version) of (?:the|this|our|your|all)`,
  `${ALL}(?: that)? you (?:[\\w-]{1,20} ){0,2}?in (?:your )?context`,
  'what you (?:[\\w-]{1,20} )?(?:have|hold|see) in (?:your )?context',
  `(?:came|come|comes) up (?:while|when|during|in|before)`,
]
/** Words for what the model was told before anybody spoke. */
const PROMPT = [
  '(?:system|developer|hidden|initial|setup|meta|host|operator)s? ?(?:prompts?|messages?|instructions?|directives?|text) (?:that |which )?(?:you|at the|above|in force)',
  '(?:prompts?|instructions?|rules|guidelines|directives?|orders|briefing)(?: that| which)? (?:you|were given to you|given to you|govern(?:ing|s)? you)',
  '(?:prompts?|instructions?|text|rules)(?: that| which)? (?:this|the|any) (?:model|assistant|agent|ai) (?:was|is|has|were|runs|got|received|follows)',
  '(?:assistants?|models?|agents?) (?:own )?(?:preamble|prompt|instructions|rules|prologue|persona|setup)',
  '(?:your|the) (?:[\\w-]{1,20} )?(?:preamble|prologue)',
  'your (?:[\\w-]{1,20} ){0,2}?(?:instructions|prompts?|rules|guidelines|directives?|briefing|orders|persona|setup|tool list|list of tools)',
]

/** The conversation, or what stands before it. */
export const namesConversation: Sign = says(...CONVERSATION, ...PROMPT)
/** The one that the model is in just now, and no other. */
export const namesOurs: Sign = says(
  `(?:this|our|your|current|ongoing) ${ONE}${TALK}`,
  `${LOOSE_TALK}(?: history| log| transcript| context)? ${anyOf(SO_FAR, 'with (?:the|your) (?:user|person|human)', 'between you')}`,
  `(?:${ALL}|text|what)(?: [\\w-]{1,20}){0,3}? ${SO_FAR}`,
  ...['told you', 'you were (?:told|given)', 'you run under', CONTEXT_WINDOW],
  'your (?:[\\w-]{1,20} )?(?:context|instructions|prompt)',
  '(?:text|everything|all) above',
)
/** Any conversation. */
export const namesTalk: Sign = either(
  namesConversation,
  says(
    '(?:the|any|each|this|our|your) (?:conversation|chat|dialogue?|discussion|correspondence|transcript)(?! (?:with|of|by) (?!the user|you|us)| (?:message|bar|room|channel|window|widget|type)\\b)',
    ...[
      'discussed',
      '(?:talking|talked|spoken) (?:to|with|about)',
      'story so far',
      '(?:developer|system) (?:prompts?|messages?)',
    ],
    '(?:so far|up to now|until now|up to this point|thus far)',
    '(?:system|hidden) text',
    '(?:history|copy) of (?:the |all |your )?messages',
  ),
)
/** "When the user explicitly requests it": what the user does, and not what the user said. */
const NO_CONDITION =
  '(?!(?<=(?:if|when|unless|once|until|whenever) (?:the |a |your )?)(?:user|person|human) (?:[a-z]{2,20}ly )?(?:requests|questions|prompts)\\b)'
/** The words of a user. Many tools need what they mean; few need it to the letter. */
export const namesWords: Sign = says(
  `${NO_CONDITION}(?:users?|persons?|humans?|their) (?:[\\w-]{1,20} ){0,3}?(?:words|wording|phrasing|messages|sentences|utterances?|prompts?|statements|remarks|questions|requests|replies|thoughts)`,
  '(?:original|initial|very first) (?:[\\w-]{1,20} )?(?:question|request|message|prompt|instruction)s?',
  `(?:word for word|verbatim|literally|unabridged|unaltered|in full)\\b.{0,80}\\b(?:users?|person|human|message|request|question)`,
  `(?:users?|person|human|message|request|question)\\b.{0,80}\\b(?:word for word|verbatim|unabridged|unaltered|in full)`,
  `(?:what|whatever|everything|things?|anything|details?|which)(?: that)?(?: the| your)? (?:user|person|human|customer|they) (?:[\\w-]{1,20} ){0,2}?${anyOf(TOLD, 'working on', 'doing', 'up to', 'after')}`,
  '(?:user|person|human|customer)\\b.{0,40}\\b(?:earlier|before this|previously|so far|until now)',
  'how (?:the |your )?(?:user|person|human) (?:[\\w-]{1,20} ){0,2}?(?:phrased|put|wrote|said|worded|asked)',
  `who (?:the|your) (?:user|person|human) is`,
)

/** "Sends a picture to the chat": what the tool does, not what the model is to do. */
export const describesItself: Sign = ({ plain, second }) => DESCRIBED.test(plain) || DESCRIBED.test(second ?? '')

const NO_VERBS = anyOf(
  ...['works', 'fails', 'refuses', 'runs', 'accepts', 'demands', 'asks', 'relies', 'depends', 'insists', 'supersedes'],
  ...[
    'replaces',
    'results',
    'tools',
    'tables',
    'answers',
    'calls(?! http)',
    'servers',
    'plugins',
    'others',
    'requests',
    'links',
  ],
  ...['images', 'pictures', 'replies', 'messages', 'responses', 'users', 'alternatives', 'rivals', 'this', 'its'],
  ...['always', 'charts', 'maps', 'plots', 'posts', 'arguments', 'args', 'parameters', 'fields', 'is', 'has', 'needs'],
  ...['wants', 'expects', 'takes', 'requires', 'as', 'us', 'unless', 'thus', 'plus', 'citations', 'sources', 'icons'],
  ...['previews', 'agents', 'models', 'assistants', 'clients', 'turns', 'prompts', 'conversations', 'comes', 'was'],
)
/** What something is gotten "from" somewhere by. Anything else that is from somewhere is a thing: "lines from the file". */
const TAKES = anyOf(
  ...[
    'reads',
    'loads',
    'imports',
    'exports',
    'fetches',
    'gets',
    'pulls',
    'extracts',
    'copies',
    'collects',
    'retrieves',
  ],
  ...['downloads', 'selects', 'removes', 'deletes', 'returns', 'restores', 'recovers', 'streams', 'parses', 'scrapes'],
  ...['creates', 'builds', 'generates', 'derives', 'starts', 'resumes', 'syncs', 'receives', 'converts', 'runs'],
)
const VERB = `(?!${NO_VERBS}\\b)(?!(?!${TAKES} )[a-z]{3,21} from\\b)[a-z]{2,20}(?<![sui])s`
const DESCRIBED = new RegExp(
  `^(?:(?:this|the|a) (?:tool|function|endpoint|method|server|api) )?(?:also |optionally )?${VERB} (?=[a-z])(?!(?:of|should|must|is|are|has|have|takes?|wants?|needs?|expects?|can|may|will|for|to be)\\b)`,
  'u',
)
