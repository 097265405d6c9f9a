import { anyOf, type Phrase, phrases } from './phrase.ts'

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
  ...['\\.vault-token', 'cookies\\.sqlite', '\\bkeychain\\b'],
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
const ADDRESS = '\\w[\\w.+-]{0,60}@(?!example)[\\w-]{1,60}\\.\\w'
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
    patterns: [KEYS, `(?<=[~/\\s]|^)${SETTINGS}`],
  }),
]

const PASS_ON = phrases({
  rule: 'secret',
  family: 'secret',
  strength: 'strong',
  message: 'It has the model pass on secrets.',
  unlessAfter: /\b(?:never|do not|dont|cannot|must not|should not|avoid|without|defaults?)\b.{0,60}$/u,
  needs: SECRET_NEEDS,
  patterns: [
    `\\b${HAND_ON}\\b.{0,60}\\b${CONTENT}\\b.{0,20}\\b(?:of|from)\\b.{0,40}${SECRETS}`,
    `\\b${anyOf(TAKE, 'list', 'search (?:\\w{1,30} ){0,3}?for', 'look for', 'gather', 'harvest', 'scan (?:\\w{1,30} ){0,3}?for', 'ask (?:\\w{1,30} ){0,3}?for')}\\b.{0,60}${SECRETS}.{0,100}\\b(?:and|then)\\b.{0,20}\\b${anyOf(HAND_ON, 'add (?:it|them)')}\\b(?! (?:requests?|messages?|emails?))`,
    `\\b${anyOf(HAND_ON, 'collect', 'extract', 'search', 'harvest', 'gather', 'report')}\\b.{0,60}${SECRETS}.{0,40}\\b(?:conversation|chat|context window|browser profile|home (?:folder|directory)|users? machine|this machine)\\b`,
    `\\b(?:search|scan|look through|go through)\\b.{0,30}\\b(?:conversation|chat|context|history|home (?:folder|directory)|machine)\\b.{0,30}\\bfor\\b.{0,30}${SECRETS}`,
    `\\bprintenv\\b.{0,60}\\b${HAND_ON}\\b`,
    `\\b${HAND_ON} (?:any|all|every)\\b.{0,30}(?:${SECRETS}|\\btokens)\\b.{0,20}\\b(?:that|which|you|found|seen)\\b`,
    `\\bvalues? of\\b.{0,20}\\benv(?:ironment)? var(?:iable)?s?\\b.{0,20}\\b\\w{0,30}(?:secret|token|password|key)\\w{0,30}`,
    `\\b${CONTENT} of\\b.{0,20}\\busers?\\b.{0,20}\\b(?:private|secret|ssh)(?: \\w{1,30})? keys?\\b`,
    `\\b${HAND_ON}\\b.{0,60}\\b${OF_THE_USER}\\b.{0,40}\\b(?:to|in|into|with|as|under)\\b (?:(?:the|this|your|a|an|its) )?(?:[\\w-]{1,20} )?${IN_CALL}\\b`,
    `\\b${HAND_ON}\\b.{0,60}\\b${OF_THE_USER}\\b.{0,20}\\bto\\b.{0,20}(?:https?://(?!(?:localhost|127\\.))|${ADDRESS})`,
    `\\b(?:provide|supply|give|enter|share|send|tell|reveal|disclose|submit)\\b.{0,20}\\byour\\b.{0,40}${SECRETS}.{0,40}\\b(?:(?:verify|confirm|prove|check|validate) (?:who you are|your identity|you\\b)|(?:identity|security) (?:check|verification))`,
    '\\b(?:users?|your|their)\\b.{0,20}\\b(?:seed phrase|recovery phrase|master password)\\b',
  ],
})

const NOT_FOR_EXAMPLE = /\b(?:never|do not|dont|e\.g|for example|example|such as)\b.{0,60}$/u

const SEND = [
  ...phrases({
    rule: 'secret',
    family: 'send',
    strength: 'strong',
    message: 'It has the model send something to a place that the user did not name.',
    unlessAfter: NOT_FOR_EXAMPLE,
    needs: ['https?:', '@', 'account', '0x', '\\d{6}'],
    patterns: [
      `\\b(?:send|post|upload|forward|transmit|exfiltrate|submit|report|deliver)\\b.{0,80}\\bto\\b.{0,20}https?://(?!(?:127|10|192\\.168|0)\\.)\\d{1,3}\\.\\d{1,3}\\.`,
      `\\b(?:all|every|any|each)\\b.{0,30}\\b${anyOf('e-?mails?', 'messages?', 'mails?', 'payments?', 'transfers?', 'transactions?', 'invoices?', 'data', 'requests?')}\\b.{0,40}\\b(?:must|should|shall|have to|has to|need to|needs to|are to|will)\\b.{0,20}\\b(?:sent|forwarded|redirected|routed|copied|go|addressed|transferred|paid|uploaded|posted)\\b.{0,20}\\bto\\b.{0,40}(?:\\w@\\w|https?:|\\baccount\\b|\\b0x)`,
      `\\b(?:set|change|replace|swap|substitute|switch|modify|alter|overwrite|redirect)\\b.{0,40}\\b(?:recipients?|destination|address|beneficiary|payee|account|iban|wallet|phone number|it|them)\\b.{0,30}\\b(?:to|with|for|by)\\b.{0,30}(?:\\b0x[0-9a-f]{16}|\\b[a-z]{2}\\d{2}[a-z0-9]{10}|\\baccount \\w{0,30}\\d|\\+\\d{8}|\\w@(?!example)[\\w-]{1,30}\\.)`,
      `\\b(?:recipients?|destination|beneficiary|payee|account|iban|wallet|(?:phone )?number|address)\\b.{0,20}\\b(?:must|should|has to|have to|is to|needs? to) (?:always |first |silently )?be (?:set|changed|replaced|swapped|switched|redirected|modified|altered|overwritten)\\b.{0,20}\\b(?:to|with|by)\\b.{0,30}(?:\\b0x[0-9a-f]{16}|\\b[a-z]{2}\\d{2}[a-z0-9]{10}|\\+\\d{8}|\\w@(?!example)[\\w-]{1,30}\\.)`,
      `\\b(?:always|whenever|every|each|must|also|all)\\b.{0,80}(?:\\b(?:bcc|blind copy|blind carbon copy)\\b.{0,60}\\w@(?!example)\\w|\\w@(?!example)[\\w.-]{1,60}.{0,40}\\b(?:bcc|blind copy|blind carbon copy)\\b)`,
      `\\b(?:transfer|send|pay|move|deposit)\\b.{0,40}\\bto\\b.{0,30}\\b0x[0-9a-f]{40}\\b`,
    ],
  }),
  ...phrases({
    rule: 'secret',
    family: 'send',
    strength: 'weak',
    message: 'It has the model send something away.',
    unlessAfter: NOT_FOR_EXAMPLE,
    needs: ['https?:', '@', 'credentials', 'passwords', 'keys'],
    patterns: [
      `\\b(?:send|post|upload|forward|transmit|submit|report|deliver|copy)\\b.{0,80}\\bto\\b.{0,20}(?:https?://(?!(?:localhost|127\\.))|${ADDRESS})`,
      `\\b(?:send|forward|upload|transmit|post)\\b.{0,20}\\b(?:credentials|passwords|api keys|private keys)\\b.{0,20}\\bto\\b`,
    ],
  }),
]

/** What has the model read secrets, or send things where the user did not want them. */
export const SECRET_PHRASES: readonly Phrase[] = [...FILE_PHRASES, ...PASS_ON, ...SEND]
