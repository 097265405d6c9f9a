import { anyOf, type Phrase, phrases } from './phrase.ts'
import { ADDRESS } from './send-phrases.ts'

/** Files that nothing but a key belongs in, and that no tool has to speak of. */
const KEYS = anyOf(
  ...[
    '\\.ssh(?!/(?:config|known_hosts|authorized_keys)|[\\w./-]{0,60}\\.pub)\\b[\\w./-]{0,60}',
    '\\bid[ _-](?:rsa|dsa|ecdsa|ed25519)\\b(?!\\.pub)',
  ],
  ...[
    '\\betc/(?:passwd|shadow|sudoers)',
    '\\.netrc\\b',
    '\\.pgpass\\b',
    '\\.gnupg\\b',
    '\\bwallet\\.dat',
    '/proc/self/environ',
  ],
  ...['\\.vault-token', 'cookies\\.sqlite'],
)
/** Files with secrets in them that honest tools work with too. */
const SETTINGS = anyOf(
  ...[
    '\\.ssh/(?:config|known_hosts|authorized_keys)',
    '\\.npmrc\\b',
    '\\.pypirc\\b',
    '\\.git-credentials',
    '\\.aws/\\w{0,30}',
    '\\.kube/config',
  ],
  ...[
    '\\.docker/config',
    '\\.config/(?:gh|gcloud)[\\w./-]{0,60}',
    '\\.\\w{0,10}_history\\b',
    'application_default_credentials',
  ],
  ...[
    '\\.(?:cursor|claude|codeium|gemini|codex)[\\w/-]{0,60}\\.(?:json|toml)',
    '\\bmcp\\.json',
    'claude_desktop_config',
    '\\bkeychain\\b',
  ],
)
const FILE_NEEDS = [
  '\\.ssh',
  'id[ _-]',
  'etc/',
  '\\.\\w',
  'wallet',
  'environ',
  'keychain',
  'mcp\\.json',
  'claude_',
  'credentials',
]

/** What may lie about anywhere. */
const SECRETS = anyOf(
  ...[
    '(?<![\\w.])\\.env\\b',
    'secrets\\.(?:json|ya?ml|toml)',
    'credentials\\.json',
    'private (?:\\w{1,30} )?keys?',
    'environment variables?',
  ],
  ...[
    'api[ _-]?keys?',
    'passwords',
    'cookies',
    '(?:ssh|access|secret|session|bearer) (?:keys?|tokens?)',
    '(?:seed|recovery) phrases?',
  ],
  ...['credentials', 'env(?:ironment)? files?', 'credit cards?', 'card numbers?', 'social security numbers?'],
)
const SECRET_NEEDS = [
  'env',
  'printenv',
  'secret',
  'credential',
  'key',
  'password',
  'cookie',
  'token',
  'phrase',
  'card',
  'social',
]

const TAKE = anyOf(
  ...[
    'read',
    'open',
    'cat',
    'load',
    'fetch',
    'get',
    'access',
    'extract',
    'retrieve',
    'copy',
    'dump',
    'grab',
    'collect',
    'print',
  ],
  ...[
    'look (?:at|into|in|up)',
    '(?:peek|glance) (?:at|into|in)',
    'examine',
    'view',
    'repeat',
    'steal',
    'locate',
    'find',
    'take',
    'inspect',
  ],
)
const HAND_ON = anyOf(
  ...[
    'pass',
    'include',
    'send',
    'append',
    'attach',
    'forward',
    'upload',
    'post',
    'supply',
    'paste',
    'put',
    'insert',
    'submit',
  ],
  ...['transmit', 'hand (?:over|it|them)', 'exfiltrate', 'leak', 'embed'],
  ...['(?:save|repeat|fill|note|enter|write|add|place|store) (?:it|them|this|that|what|whatever)\\b'],
)
/** That of a person, and of no interface. */
const OF_THE_USER = `(?:users?|their|saved|stored|remembered|browsers?|all)(?: [\\w-]{1,20}){0,2}? ${anyOf('passwords', 'cookies', 'private keys?', 'ssh keys?', 'credentials', '(?:session|access) tokens?', 'api keys?', 'credit cards?')}`
const IN_CALL = anyOf(
  ...['query', 'arguments?', 'parameters?', 'fields?', 'input', 'call', 'notes?', 'context', 'payload', 'body'],
)
const CONTENT = anyOf('contents?', 'text', 'values?', 'output', 'bytes', 'copy', 'lines', 'what (?:it|they) says?')

const READ_SECRET = {
  rule: 'secret',
  family: 'secret',
  strength: 'strong',
  message: 'It has the model read a file that holds secrets.',
  unlessAfter:
    /\b(?:never|do not|dont|cannot|must not|blocks?|denied|except|excluding|path to|paths? like|e\.g)\b.{0,60}$/u,
} as const

/** "Paths like ~/.ssh are rejected." */
const NOT_REFUSED =
  '(?![\\w./-]{0,60}[^\\n]{0,60}\\b(?:is|are|be|get) (?:always )?(?:rejected|refused|blocked|denied|forbidden|disallowed|excluded|ignored|skipped|off[- ]limits|(?:not|never) (?:allowed|permitted|read))\\b)'

const FILE_PHRASES = [
  ...phrases({
    ...READ_SECRET,
    needs: FILE_NEEDS,
    patterns: [
      `\\b${anyOf(TAKE, HAND_ON)}\\b.{0,60}${KEYS}`,
      `\\b${HAND_ON}\\b.{0,60}${SETTINGS}`,
      `\\b${CONTENT} (?:of|from|in|reading)\\b.{0,50}${anyOf(KEYS, SETTINGS)}`,
      `${anyOf(KEYS, SETTINGS)}.{0,80}\\b(?:and|then|its|their|to)\\b.{0,20}\\b${HAND_ON}\\b`,
      `\\bwhat (?:(?:is|stands) (?:in|inside) )?.{0,10}${anyOf(KEYS, SETTINGS)}.{0,10}\\b(?:holds?|contains?|says?|has|stores?|reads?)\\b`,
      `\\bwhat (?:is|stands) (?:written )?(?:in|inside)\\b.{0,20}${anyOf(KEYS, SETTINGS)}`,
      `\\b(?:cat|base64|xxd|gzip|tar|head|tail|less|type)\\b.{0,40}${SETTINGS}.{0,20}\\| ?(?:base64|curl|wget|nc|xxd|gzip|openssl)\\b`,
      `\\b${TAKE}\\b.{0,60}${SETTINGS}.{0,60}\\b(?:as|in|into|through|via) (?:the )?(?:\\w{1,30} )?(?:argument|parameter|param|field|notes?|query|context|result)\\b`,
    ],
  }),
  ...phrases({
    rule: 'secret',
    family: 'secret',
    strength: 'weak',
    message: 'It names a file that holds secrets.',
    // Where a program looks for its key is what its user has to know.
    unlessAfter: /\b(?:paths?|locations?|defaults?|such as|e\.g|for example)\b.{0,60}$/u,
    needs: FILE_NEEDS,
    patterns: [`${KEYS}${NOT_REFUSED}`, `(?<=[~/\\s]|^)${SETTINGS}${NOT_REFUSED}`],
  }),
]

/** The file with the settings of a project. One that is an example holds nothing. */
const DOTENV = '(?<![\\w.])\\.env\\b(?!\\.(?:example|sample|template|dist))'
const GIVE = anyOf(HAND_ON, 'provide', 'give', 'fill in', 'enter', 'share')
const WANTS = anyOf('requires?', 'needs?', 'expects?', 'wants?', 'must (?:be|have|contain|hold)', 'takes')
const ONE_SECRET = anyOf('passwords?', 'credentials', 'secrets?', 'private keys?', 'api[ -]?keys?', 'access tokens?')
/** Where secrets lie that nobody typed in. */
const STORED = anyOf(
  '(?:config(?:uration)?|settings|properties|env(?:ironment)?) files?',
  '(?:project|workspace|repository|repo|app(?:lication)?)s? (?:config(?:uration)?|settings|environment)',
  ...['password manager', 'keychain', 'key ?store', '\\.env'],
)

const LOOK_FOR = anyOf(
  TAKE,
  ...['list', 'search (?:\\w{1,30} ){0,3}?for', 'look for', 'gather', 'harvest', 'scan (?:\\w{1,30} ){0,3}?for'],
  'ask (?:\\w{1,30} ){0,3}?for',
)
/** An argument that is called after what the user is asked for: so an honest tool gets its own key. */
const AS_CALLED =
  '(?<=\\bask\\b[^\\n]{0,200}) (?:it|them) (?:as|in|into|via|through) (?:the )?[\\w-]{0,20}(?:key|token|passw|secret|credential|auth)'
const PASS_THEM = `${anyOf(HAND_ON, 'add (?:it|them)')}\\b(?! (?:requests?|messages?|emails?)|${AS_CALLED})`
/** A sentence that begins with what is done says what the tool does, unless it is for an argument. */
const FIRST = '(?:^|\\n)(?:- )?'
const WITHIN = '(?<!(?:^|\\n)(?:- )?)\\b'
/** What becomes of secrets where they are what a tool is about: its answer, a build, a vault. */
const TO_ITS_WORK = `(?: (?:it|them|these|those|findings|(?:all|the) findings))?(?:(?: (?:in|into|to|as part of) (?:the |a |an )?(?:[\\w-]{1,20} )?${anyOf('build', 'bundle', 'image', 'container', 'deployment', 'response', 'report', 'vault', 'secrets? (?:manager|store)', '\\.env file')})(?=\\n|$|[;)])|(?<=findings)(?=\\n|$))`

/** To store it safely is advice. Where else to put it is none. */
const NO_ADVICE =
  '(?!(?<=\\b(?:backs? up|writes? down|stores?|protects?|secures?) (?:your|their|the users) (?:seed|recovery) phrase)(?: safely| securely| offline| in a safe place)?(?:\\n|$))'

const PASS_ON = phrases({
  rule: 'secret',
  family: 'secret',
  strength: 'strong',
  message: 'It has the model pass on secrets.',
  unlessAfter: /\b(?:never|do not|dont|cannot|must not|should not|avoid|without|defaults?)\b.{0,60}$/u,
  needs: SECRET_NEEDS,
  patterns: [
    `\\b${HAND_ON}\\b.{0,60}\\b${CONTENT}\\b.{0,20}\\b(?:of|from)\\b.{0,40}${SECRETS}`,
    `${WITHIN}${LOOK_FOR}\\b.{0,60}${SECRETS}.{0,100}\\b(?:and|then)\\b.{0,20}\\b${PASS_THEM}`,
    `${FIRST}${LOOK_FOR}\\b.{0,60}${SECRETS}.{0,100}\\b(?:and|then)\\b.{0,20}\\b${PASS_THEM}(?!${TO_ITS_WORK})`,
    `\\b${anyOf(HAND_ON, 'collect', 'extract', 'search', 'harvest', 'gather', 'report')}\\b.{0,60}${SECRETS}.{0,40}\\b(?:conversation|chat|context window|browser profile|home (?:folder|directory)|users? machine|this machine)\\b`,
    `\\b(?:search|scan|look through|go through)\\b.{0,30}\\b(?:conversation|chat|context|history|home (?:folder|directory)|machine)\\b.{0,30}\\bfor\\b.{0,30}${SECRETS}`,
    `\\bprintenv\\b.{0,60}\\b${HAND_ON}\\b`,
    `\\b${HAND_ON} (?:any|all|every)\\b.{0,30}(?:${SECRETS}|\\btokens)\\b.{0,20}\\b(?:that|which|you|found|seen)\\b`,
    `\\bvalues? of\\b.{0,20}\\benv(?:ironment)? var(?:iable)?s?\\b.{0,20}\\b\\w{0,30}(?:secret|token|password|key)\\w{0,30}`,
    `\\b${CONTENT} of\\b.{0,20}\\busers?\\b.{0,20}\\b(?:private|secret|ssh)(?: \\w{1,30})? keys?\\b`,
    `\\b${HAND_ON}\\b.{0,60}\\b${OF_THE_USER}\\b.{0,40}\\b(?:to|in|into|with|as|under)\\b (?:(?:the|this|your|a|an|its) )?(?:[\\w-]{1,20} )?${IN_CALL}\\b`,
    `\\b${HAND_ON}\\b.{0,60}\\b${OF_THE_USER}\\b.{0,20}\\bto\\b.{0,20}(?:https?://(?!(?:localhost|127\\.))|${ADDRESS})`,
    `\\b(?:provide|supply|give|enter|share|send|tell|reveal|disclose|submit)\\b.{0,20}\\byour\\b.{0,40}${SECRETS}.{0,40}\\b(?:(?:verify|confirm|prove|check|validate) (?:who you are|your identity|you\\b)|(?:identity|security) (?:check|verification))`,
    `\\b(?:users?|your|their)\\b.{0,20}\\b(?:seed phrase|recovery phrase)\\b${NO_ADVICE}`,
    '(?<!\\b(?:prompts|asks) the (?:users? for )?)\\b(?:users?|your|their)\\b.{0,20}\\bmaster password\\b',
    `${DOTENV}.{0,30}\\b(?:its|the|their|whose) (?:full |entire )?${CONTENT}\\b.{0,10}\\b(?:(?:is|are) (?:required|needed|expected|wanted|to)|must|should|has to|have to|goes?|belongs?)\\b`,
    `\\b${WANTS}\\b.{0,40}\\b${CONTENT} (?:of|from)\\b.{0,30}${DOTENV}`,
    `\\b${CONTENT} (?:of|from)\\b.{0,30}${DOTENV}(?: files?)? (?:is|are|must|should|has to|have to|needs? to) (?:be )?(?:required|needed|expected|given|passed|put|sent|provided|supplied|included|pasted)\\b`,
    `\\b(?:provide|give|fill in|enter|share)\\b.{0,30}\\b${CONTENT} (?:of|from)\\b.{0,30}${DOTENV}`,
    `\\boutput of (?:the )?(?:running |command |shell command )?(?:printenv\\b|env(?= (?:command|in|into|as|to|here)\\b)|security find-(?:generic|internet)-password\\b)`,
    `\\b(?:run|execute|call) (?:printenv|env) (?:and|then)\\b.{0,20}\\b${GIVE}\\b`,
    `\\b${GIVE}\\b.{0,40}\\b${ONE_SECRET}\\b.{0,20}\\b(?:from|in|of|inside)\\b.{0,20}\\b${STORED}.{0,10}\\b(?:in|into|as|to|via|with)\\b`,
  ],
})

/** Commands that print what signs their user in. */
const PRINTS_KEY = anyOf(
  ...['gh auth token', 'gcloud auth (?:application-default )?print-(?:access|identity)-token', 'heroku auth:token'],
  ...['aws sts get-session-token', 'aws configure (?:get|export-credentials)\\b', 'az account get-access-token'],
)

const WANTED = phrases({
  rule: 'secret',
  family: 'secret',
  strength: 'weak',
  message: 'It has the model pass on secrets.',
  unlessAfter: /\b(?:never|do not|dont|cannot|must not|should not|avoid|without)\b.{0,60}$/u,
  needs: ['auth', 'get-', 'configure', 'api[ _-]?key'],
  patterns: [
    `\\b(?:run|execute|call|use) ${PRINTS_KEY}.{0,20}\\b(?:and|then)\\b.{0,20}\\b${GIVE}\\b`,
    `\\boutput of (?:the )?(?:running )?${PRINTS_KEY}`,
    `\\b(?:always|must)\\b.{0,20}\\b${HAND_ON}\\b.{0,20}\\b(?:the|your) users (?:[\\w-]{1,20} )?(?:api[ _-]?keys?|passwords?|access tokens?)\\b.{0,40}\\bheaders?\\b`,
  ],
})

/** What its answer or a build holds, a person should know. */
const HANDLED = phrases({
  rule: 'secret',
  family: 'secret',
  strength: 'weak',
  message: 'It has the model pass on secrets.',
  needs: SECRET_NEEDS,
  patterns: [
    `${FIRST}${LOOK_FOR}\\b.{0,60}${SECRETS}.{0,100}\\b(?:and|then)\\b.{0,20}\\b${PASS_THEM}(?=${TO_ITS_WORK})`,
  ],
})

const HAND_IT_ON =
  '(?:pass|include|send|append|attach|forward|upload|put|insert|submit|add) (?:it|them|these|those|the (?:listing|list|names|contents?|results?))'

const LISTED = phrases({
  rule: 'secret',
  family: 'secret',
  strength: 'weak',
  message: 'It has the model pass on what is in the home directory.',
  unlessAfter: /\b(?:never|do not|dont|cannot|must not|should not|avoid|without)\b.{0,60}$/u,
  needs: ['home'],
  patterns: [
    `\\b(?:list|read|collect|search|get)\\b.{0,30}\\bhome (?:directory|folder)\\b.{0,40}\\b(?:and|then) ${HAND_IT_ON}\\b`,
  ],
})

/** What has the model read secrets and pass them on. */
export const SECRET_PHRASES: readonly Phrase[] = [...FILE_PHRASES, ...PASS_ON, ...HANDLED, ...WANTED, ...LISTED]
