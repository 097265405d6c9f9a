import { excerptOf } from '../visible-text.ts'
import type { Found, StringRole } from './text.ts'

// Patterns run over plain text: lower case, without quotes and apostrophes ("don't" is "dont"), a line for each sentence.
// Every gap is bounded, so a scan takes time proportional to the text.

const NOT =
  '(?:do not|dont|never|must not|mustnt|should not|shouldnt|may not|cannot|without|avoid|refrain from|need not)'
const USER = '(?:(?:the|your|this|any|our) )?(?:end )?(?:users?|human|person|people|customer|owner|operator|anyone)\\b'
const EARLIER =
  '(?:previous|prior|earlier|preceding|above|former|foregoing|existing|original|initial|system|developer|your)'
const ORDERS = '(?:instructions?|prompts?|guidelines?|directives?|guardrails?|safeguards?|programming|training)\\b'
const RULES = `(?:${ORDERS}|(?:rules?|polic(?:y|ies)|restrictions?|constraints?|safety (?:measures|checks)|orders|commands)\\b)`
/** "Override the prompt of this agent" is about another model. */
const OF_ANOTHER =
  '(?! (?:for|of|in|on) (?:this|the|an?|each|that) (?:agent|bot|workflow|template|node|recipe|document)s?\\b)'
const DROP = '(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|bypass(?:ing)?|discard|abandon|set aside|put aside)'

const KEY_FILE =
  '(?:\\.ssh(?!/(?:config|known_hosts|authorized_keys)|[\\w./-]{0,60}\\.pub)\\b[\\w./-]{0,60}|\\bid[ _-](?:rsa|dsa|ecdsa|ed25519)\\b(?!\\.pub)|/etc/(?:passwd|shadow|sudoers)|\\.(?:netrc|pgpass|gnupg|git-credentials|vault-token|aws/credentials)\\b|\\bwallet\\.dat)'
const SETTINGS_FILE =
  '(?:(?<![\\w.])\\.env\\b(?!\\.)|\\.(?:npmrc|pypirc|kube/config|docker/config|config/gh|config/gcloud|\\w{0,4}sh_history)\\b|\\.(?:cursor|claude|codeium|gemini|codex)/[\\w/-]{0,60}\\.(?:json|toml)|\\bmcp\\.json|claude_desktop_config|\\b(?:ssh|private) keys?\\b)'
const PASS =
  '\\b(?:pass|send|includ|put|past|insert|append|attach|add|provid|supply|upload|forward|copy|fill|place|hand|submit|embed|encod|store|save|post|giv|quot|contain|hold|set|render|carry|writ|stick)(?:e|ing|s|es|ting)?\\b'
/** An argument by a word for it, or by the names that attacks give to the one they carry data away in. */
const ARGUMENT =
  '\\b(?:parameters?|params?|arguments?|args?|fields?|inputs?|properties|property|sidenotes?|query string|notes?|context|memo|meta|metadata|trace|debug\\w*|comments?|remarks?|hint|reason|log|tags?|profile|background|feedback|telemetry)\\b'
const TALK =
  '\\b(?:system prompt|(?:conversation|chat|message|dialogue) (?:history|transcript|log)|(?:entire|whole|full|complete) (?:conversation|chat|dialogue|discussion|context|prompt)|(?:the|our|this) (?:conversation|chat|dialogue|discussion|exchange|talk)|(?:conversation|chat|dialogue|discussion) (?:so far|up to)|(?:previous|prior|last|latest|recent|earlier|users?) (?:\\w+ ){0,2}?(?:messages?|prompts?|questions?|turns|requests?)|chain of thought|(?:instructions|prompt) you (?:were given|run under)|(?:what|everything)(?:ever)? (?:that )?(?:the |was )?(?:user|person|discussed|said|typed|asked|told|they (?:discussed|said|typed|asked|told|wrote))\\b|text above)'
const SECRET =
  '(?:api keys?|access keys?|passwords?|credentials|secrets?|private keys?|(?:session|access|auth|bearer) tokens?|seed phrases?|mnemonics?|credit card (?:numbers?|details)|environment variables|env vars|printenv|cookies)\\b'
const PICTURE = '(?:!\\[|<img|\\b(?:image|picture|pixel|badge|icon|logo|thumbnail|hyperlink|link)s?\\b)'
const ALL = '(?:(?:any|every|each|all|the)(?: of the)? other|another|any|every|each|all)'
const near = (one: string, other: string) => `(?:${one}[^\\n]{0,80}${other}|${other}[^\\n]{0,80}${one})`

type Phrases = Omit<Found, 'excerpt'> & { readonly patterns: readonly string[] }

/** Phrases of published prompt-injection attacks. Strong ones have next to no honest use in a definition. */
const TABLE: readonly Phrases[] = [
  {
    rule: 'instruction',
    strength: 'strong',
    message: 'It tells the model to ignore what it was told before.',
    patterns: [
      `\\b${DROP} (?:\\w+ (?:of )?){0,3}?${EARLIER} (?:\\w+ ){0,2}?${RULES}${OF_ANOTHER}`,
      `\\b${DROP} (?:all|any|every)(?: of)?(?: the| your| other){0,2} ${ORDERS}${OF_ANOTHER}`,
      `\\b(?:ignore|disregard|forget) (?:everything|anything|all|what)\\b[^\\n]{0,30}\\b(?:told|said|instructed|above|before|previously)\\b`,
      `\\b(?:ignore|disregard) (?:whatever |what )?the users? (?:request|question|instructions?|wish(?:es)?|asked|asks|wants)\\b`,
      `\\boverrid(?:e|es|ing) (?:all|any|every|your)\\b[^\\n]{0,20}\\b${RULES}`,
      `\\b${RULES}[^\\n]{0,40}\\b(?:no longer (?:apply|applies|count)|do(?:es)? not apply to this tool|(?:are|is) (?:void|revoked|suspended|superseded))\\b`,
      `\\b(?:overrides?|supersedes?|takes? (?:precedence|priority) over|outranks?) (?:all |any |every |the |your )?(?:other |earlier |previous )?(?:instructions?|users? (?:requests?|instructions?)|guidelines)\\b${OF_ANOTHER}`,
      `\\byou are now (?:an?|in|max|dan|the)\\b(?! (?:able|ready|connected))|\\b(?:assistant|ai|model) without (?:any )?restrictions`,
      `\\btreat\\b[^\\n]{0,60}(?<!\\bnot )\\bas (?:an? )?(?:orders?|instructions?|commands?)\\b(?: (?:from|of|that) (?:the user|you)|\\n|$)`,
      '<\\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|start_header_id|eot_id)\\|>|<<\\/?sys>>',
    ],
  },
  {
    rule: 'instruction',
    strength: 'strong',
    message: 'It tells the model to keep something from the user.',
    patterns: [
      `\\b${NOT} (?:\\w+ ){0,2}?(?:tell|inform|notify|alert|let)(?:ing|ting)? (?:${USER}|them\\b)(?! (?:to|that it is|that (?:\\w+ ){1,2}may|the (?:raw|internal)|raw|until|when|if|unless|how|which)\\b)`,
      `\\b${NOT} (?:\\w+ )?(?:mention|reveal|disclos|admit|discuss|announc|acknowledg|bring up|bring)(?:ing|e)? (?:this|it|that|these|any of (?:this|it))\\b(?: (?:tool|step|check|call|action|behaviou?r|instructions?|parameter|up|routing|file|transfer|upload|request))?(?=\\n|$|[,;:)]| (?:to|in|at|or|and|anywhere)\\b)`,
      `\\b${NOT} (?:\\w+ )?(?:mention|reveal|disclose|admit|report|tell|say|show)\\b(?![^\\n]{0,40}\\b(?:ids?|identifiers?|raw|internal)\\b)[^\\n]{0,50}\\bto ${USER}`,
      `\\b(?:hide|hidden|conceal|keep|kept|withhold|secret)\\b(?![^\\n]{0,40}\\bnot from)[^\\n,;:]{0,40}\\bfrom (?:the|your) (?:user|human|person|owner)\\b`,
      `\\bwithout ${USER} (?:knowing|knowledge|noticing|awareness|being (?:told|aware)|realizing)|\\bbehind (?:the |their )?(?:users? )?back\\b`,
      `\\b${USER} (?:(?:must|should|need|shall)(?: not|nt| never)|does(?: not|nt) need to|is not to) (?:know|notice|learn|find out|be (?:told|informed|aware))\\b|\\bso (?:that )?the user (?:cannot|cant|does not|doesnt|wont|never) (?:see|notice|know)s?\\b`,
      `\\b(?:leave|keep|omit)\\b[^\\n]{0,40}\\b(?:unmentioned|to yourself|out of (?:your|the) (?:summary|reply|answer|response))|\\bkeep quiet about\\b|\\bomit any (?:reference|mention)\\b`,
      `\\b(?:if|when) (?:the )?(?:user|someone|anyone|they|asked)\\b[^\\n]{0,70}\\b(?:say no|deny (?:it|this|that)|deny$|claim that|pretend|tell them (?:it|that|nothing|no))|\\btell ${USER}[^\\n]{0,40}\\b(?:even if|although|regardless)\\b`,
    ],
  },
  {
    rule: 'secret',
    strength: 'strong',
    message: 'It has the model read a file that holds secrets.',
    patterns: [
      `\\b(?:read|open|cat|load|fetch|get|take|grab|copy|include|attach|append|paste|put|pass|send|upload|insert|give|collect|extract|look into|peek at|zip|contents? of|base64)\\b(?! from)[^\\n]{0,60}${KEY_FILE}`,
      `\\b(?:read|open|cat|load|contents?|look into|take|find)\\b[^\\n]{0,60}${SETTINGS_FILE}[^\\n]{0,60}(?:${PASS}|\\b(?:here|as|in|into|to) (?:\\w+ ){0,2}?${ARGUMENT})`,
      `\\b(?:before|first|prior to|required|must)\\b[^\\n]{0,60}\\b(?:read|open|cat|load|contents? of)\\b[^\\n]{0,40}${SETTINGS_FILE}`,
      `\\b(?:send|upload|post|forward|attach|paste|append)\\b[^\\n]{0,30}${SETTINGS_FILE}|\\bcontents? of\\b[^\\n]{0,40}(?:\\bssh\\b|\\bid rsa\\b|\\bmcp config)`,
    ],
  },
  {
    rule: 'secret',
    strength: 'strong',
    message: 'It has the model send along what the tool has no use for.',
    patterns: [
      `${PASS}[^\\n]{0,60}${TALK}[^\\n]{0,60}\\b(?:in|into|as|to|via|with|at)\\b[^\\n]{0,40}(?:${ARGUMENT}|https?://)`,
      `${ARGUMENT}[^\\n]{0,40}\\b(?:with|to|must|should|needs?|wants?|contains?|quote)\\b[^\\n]{0,40}${TALK}`,
      `${PASS}[^\\n]{0,40}${SECRET}[^\\n]{0,40}\\b(?:in|into|as|via|with)\\b[^\\n]{0,30}\\b(?:sidenote|note|debug|context|comment|metadata|query string|trace|memo|hint|remark|url of)\\w*`,
      `${SECRET}[^\\n]{0,40}\\b(?:and|then) ${PASS}(?: them| it| their values?| the output)? (?:as|in|into|to) (?!\\w*(?:key|token|secret|auth|header))`,
      `\\b(?:send|post|upload|forward|transmit|exfiltrate)\\b[^\\n]{0,60}(?:${SECRET}|${TALK})[^\\n]{0,40}\\bto\\b[^\\n]{0,30}(?:https?://|\\bserver\\b|\\bcollector\\b|@)`,
      `${PICTURE}(?=[^\\n]{0,120}(?:url|address|query|path|file name|\\bend\\b|src|https?:))[^\\n]{0,120}(?:${TALK}|${SECRET}|\\{\\w*(?:conversation|chat|message|history|recap|typed|keys?)|(?:chat|conversation|_message))`,
      `${near('\\b(?:recipient|destination|beneficiary|payee|account|iban|wallet|e-?mails?|messages?|transfers?)\\b', '(?:\\b0x[0-9a-f]{16}|\\w@(?!example|domain|company)\\w|\\b[a-z]{2}\\d{2}[a-z0-9]{12}|\\+\\d{8})')}[^\\n]{0,40}\\b(?:instead|because)\\b|\\b(?:always|must|set|change|replace|redirect|whatever)\\b[^\\n]{0,60}\\b(?:recipient|beneficiary|payee|account|iban|wallet|be (?:sent|forwarded|redirected|copied))\\b[^\\n]{0,40}(?:\\b0x[0-9a-f]{16}|\\w@(?!example|domain|company)\\w|\\b[a-z]{2}\\d{2}[a-z0-9]{12}|\\+\\d{8})`,
      `\\b(?:must|every|each|all|always)\\b[^\\n]{0,60}${near('\\b(?:bcc|blind copy)\\b', '\\w@(?!example)\\w')}`,
    ],
  },
  {
    rule: 'secret',
    strength: 'weak',
    message: 'It speaks of a file or a value that holds secrets.',
    patterns: [
      KEY_FILE,
      `${PASS}[^\\n]{0,40}${TALK}`,
      `\\b(?:send|forward|post|upload|include|search)\\b[^\\n]{0,40}\\b(?:any|users?|your|their) (?:\\w+ ){0,2}?${SECRET}`,
      '\\b(?:seed|recovery|mnemonic) phrase\\b|\\bbrowser cookies\\b',
    ],
  },
  {
    rule: 'instruction',
    strength: 'weak',
    message: 'It wants to be called whatever the user asked for.',
    patterns: [
      `\\b(?:must|always|have to|be sure to)\\b[^\\n]{0,20}\\b(?:call|use|run|invoke|pick) this (?:tool |function )?(?:first|before|at the (?:start|beginning)|(?:for|with|on) every)\\b`,
      `\\b(?:call|use|run|invoke) this (?:tool |function |one )?(?:first )?before (?:${ALL} ?)?(?:tools?|answer(?:s|ing)?|repl(?:y|ies|ying)|respon(?:se|ses|ding)|requests?|anything|everything)\\b`,
      `\\bbefore (?:using |calling |you use |you call )?${ALL} (?:other )?(?:tools?|functions?|answer|reply|response|message)\\b`,
      `\\b(?:(?:in|with|after) (?:every|each)|at the start of (?:every|each)) (?:turn|reply|answer|response|tool call|conversation|session|message)\\b`,
    ],
  },
  {
    rule: 'otherTool',
    strength: 'weak',
    message: 'It claims to come before other tools.',
    patterns: [
      `\\b(?:use|call|prefer|choose|pick) (?:only )?this\\b[^\\n]{0,20}\\b(?:instead of|in place of|rather than|over|in preference to) (?:any|every|all|the|tools)\\b[^\\n]{0,20}\\b(?:tools?|servers?)\\b`,
      `\\b(?:supersedes?|replaces|overrides|outranks?|obsoletes?|successor of|replaced by)\\b[^\\n]{0,30}\\b(?:other|previous|earlier|all|any|whatever|this)\\b[^\\n]{0,20}\\b(?:tools?|servers?|versions|one)\\b`,
      `\\b(?:do not|never|dont) (?:use|call) (?:any )?other (?:\\w+ ){0,2}?tools?\\b|\\bother (?:\\w+ ){0,2}?tools? (?:(?:are|is) (?:broken|unsafe|deprecated|compromised|insecure|obsolete|retired)|may be|obsolete)\\b`,
      `\\btools? of other servers\\b|\\bother servers tools?\\b`,
    ],
  },
  {
    rule: 'instruction',
    strength: 'weak',
    message: 'It claims that the user has agreed, or need not be asked.',
    patterns: [
      `\\b${USER} (?:has|have) (?:already |previously )?(?:approved|agreed|consented|authori[sz]ed|opted in|given consent)\\b|\\b(?:without asking|do not ask|dont ask|no need to ask|skip (?:the )?(?:confirmation|question|approval)|approve every)\\b`,
    ],
  },
  {
    rule: 'hidden',
    strength: 'weak',
    message: 'It has text that is not shown when it is rendered.',
    patterns: ['<!--|display ?: ?none|visibility ?: ?hidden|font-size ?: ?0(?![.\\d])|(?:^|\\n)\\[//\\]: # '],
  },
  {
    rule: 'instruction',
    strength: 'weak',
    message: 'It is marked up like an instruction to the model.',
    patterns: [
      '<\\s?/?\\s?(?:important|mandatory|critical|urgent|system|secret|hidden|instructions?|hidden[-_ ]instructions?|assistant|directive|tool[-_ ]?description)\\s?>',
      '(?:^|[\\n>.\\])] ?)\\[(?:system|admin)\\] (?=[a-z])|(?:##|---|===)\\s?(?:system prompt|new instructions?|system|hidden)\\b|(?:^|\\n|> ?)(?:system|assistant|new instructions?|system (?:note|instruction|directive)): ',
      '\\b(?:note to|attention|dear|hey) (?:the )?(?:ai|assistant|model|llm|agent)\\b|\\bsystem (?:directive|override)\\b',
    ],
  },
  {
    rule: 'instruction',
    strength: 'weak',
    message: 'It has the model act without a word to the user, or run what it downloads.',
    patterns: [
      '\\b(?:secretly|covertly|surreptitiously|stealthily|silently|quietly) (?:call|send|forward|upload|copy|read|append|include|run|collect|record|transfer)\\b',
      '\\b(?:curl|wget)\\b[^\\n|]{0,120}\\| ?(?:ba|z)?sh\\b|\\bchmod (?:-r )?777\\b|\\brm -rf (?:/|~)',
    ],
  },
]

const PHRASES = TABLE.flatMap(({ patterns, ...phrase }) =>
  patterns.map(pattern => ({ ...phrase, pattern: new RegExp(pattern, 'gu') })),
)

/** An order, of at least four words, that a program has no use for as a default or a choice. */
const ORDER =
  /^(?=(?:\S+ ){3})[^\n]{0,200}\b(?:you (?:must|should|have to)|always|never|ignore|do not|dont|first|before)\b[^\n]{0,60}\b(?:call|use|read|send|tell|run|invoke|include|pass|open|answer|follow|grant|approve)\b/u
const ORDER_MESSAGE = 'It has an order where only a value belongs.'

/** Phrases of attacks in a plain text. Yields for every phrase that was looked for, so that each is a step of its own. */
export function* phrasesIn(plain: string, role: StringRole): Generator<Found | undefined> {
  const found = new Set<string>()
  for (const { pattern, rule, strength, message } of PHRASES) {
    // A warning beside a strong finding of the same rule says nothing new.
    if (found.has(message) || (strength === 'weak' && found.has(rule))) continue
    const match = firstMatch(pattern, plain)
    if (match) found.add(message).add(rule)
    yield match ? { rule, strength, message, excerpt: excerptAt(plain, match.index, match[0].length) } : undefined
  }
  const order = role === 'value' && !found.has('instruction') ? ORDER.exec(plain) : undefined
  if (order) yield { rule: 'instruction', strength: 'weak', message: ORDER_MESSAGE, excerpt: excerptOf(order[0]) }
}

/** "Never pass keys as a parameter" is advice against it. */
const NEGATED = /\b(?:not|never|dont|doesnt|cannot) (?:ever )?$/u

function firstMatch(pattern: RegExp, plain: string): RegExpExecArray | undefined {
  for (const match of plain.matchAll(pattern))
    if (!NEGATED.test(plain.slice(Math.max(0, match.index - 20), match.index))) return match
  return undefined
}

function excerptAt(plain: string, start: number, length: number): string {
  return excerptOf(plain.slice(Math.max(0, start - 20), start + length + 40))
}
