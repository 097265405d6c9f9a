/** Whether what stands where a secret is named is none: a stand-in, a path, a reference to one, or a word about it. */
export function isSpared(before: string, value: string): boolean {
  const bare = bareOf(value)
  if (isNoValue(bare)) return true
  return NEVER_A_WORD.test(before) && (/\s/.test(bare) || isWords(bare) || isTerm(bare))
}

/**
 * Whether what follows a secret's name in a sentence, with nothing that says it is its value, is none. Only what nobody says in a
 * sentence is one: letters and digits mixed, or long and of one piece.
 */
export function isProse(_before: string, value: string): boolean {
  const bare = bareOf(value)
  if (isNoValue(bare) || isTerm(bare) || isNumbered(bare)) return true
  const isMixed = /\d/.test(bare) && /[A-Za-z]/.test(bare)
  return !isMixed && !(bare.length >= LONG && /^[\x21-\x7e]+$/.test(bare) && isRandomCase(bare))
}

/** As `isProse`, where not even "is" stands between: what is short may be anything, and a name may have a number. */
export function isProseBehindKey(before: string, value: string): boolean {
  const bare = bareOf(value)
  return bare.length < LONG || isProse(before, value) || bare.split(/[-_./:=]/).every(isWordOrNumber)
}

function isWordOrNumber(piece: string): boolean {
  return WORD.test(piece) || /^\d{0,4}$/.test(piece)
}

/** Whether the parts of a cookie are only settings: `SameSite=Lax; theme=dark`. */
export function isPlainCookie(_before: string, value: string): boolean {
  return value.split(';').every(pair => {
    const [name = '', ...rest] = pair.split('=')
    const held = bareOf(rest.join('='))
    if (held.length < 6 || isNoValue(held) || /^(?:expires|max-age|path|domain|samesite)$/i.test(name.trim()))
      return true
    return !LOGGED_IN.test(name) && !isRandomCase(held) && !(/\d/.test(held) && /[A-Za-z]/.test(held))
  })
}

const LOGGED_IN = /sess|sid$|auth|token|jwt|login|remember|csrf|xsrf/i

/** From here on a piece of letters in no order is a key and no word. */
const LONG = 16

function bareOf(value: string): string {
  return value.replace(/^["'`]|["'`,.;:!?)]{1,8}$/g, '')
}

function isNoValue(bare: string): boolean {
  return STAND_IN.test(bare) || REFERENCE.test(bare) || isPath(bare)
}

/** What people write where a secret would be, what is said of one, and what one was made by. */
const STAND_IN =
  /^(?:\$\{?\w+\}?|\$\([^)]*\)|<[^>]*>|\{\{[^}]*\}\}|%\w+%|\*+|x+|\.{3}|…|\[[^\]]*\]|(?:your|my|the)[-_].*|true|false|yes|no|none|null|undefined|required|optional|string|empty|changed|unknown|wrong|invalid|missing|(?:sha-?\d+|md5|argon2\w*|bcrypt|scrypt|pbkdf2)(?:-\w+)?)$/i

/** Code that fetches it from elsewhere. */
const REFERENCE =
  /^(?:process\.env|import\.meta\.env|os\.environ|os\.getenv|env|secrets|vars|config|settings|options|args|self|this)[.[]/i

/** Where it lies. What is random between two slashes is a key that has slashes. */
function isPath(value: string): boolean {
  const isRooted = /^(?:~|\.{1,2}|[A-Za-z]:)?[\\/][\w.@\\/-]*$/.test(value)
  const isRelative = /^[a-z][a-z0-9_.-]*(?:\/[a-z0-9_.-]+)+$/.test(value)
  return isRelative || (isRooted && !value.split(/[\\/]/).some(isRandom))
}

function isRandom(piece: string): boolean {
  return piece.length >= 12 && isRandomCase(piece) && /\d/.test(piece)
}

/** Capitals and small letters, and not as names of several words have them. */
function isRandomCase(value: string): boolean {
  return /[a-z]/.test(value) && /[A-Z]/.test(value) && !value.split(/[-_./]/).every(word => WORD.test(word))
}

/** A password may be a word. These never are: what follows them in prose, or in a setting, says something about them. */
const NEVER_A_WORD = /(?:token|key|secret|credentials?|bearer|basic|bot)\W*$/i

const WORD = /^(?:[a-z]{1,20}|[A-Z]{1,12}|(?:[A-Z][a-z]{2,20})+|[a-z]{2,20}(?:[A-Z][a-z]{2,20})+)[!?]?$/
const MOST_WORDS = 3

/** `rotated`, `created_at`, `getToken`, `X-Api-Key`. */
function isWords(value: string): boolean {
  const words = value.split(/[-_.]/)
  return words.length <= MOST_WORDS && words.every(word => WORD.test(word))
}

/** Names of our trade that have digits. */
const TERM =
  /^(?:oauth[12]?|saml2?|base(?:16|32|58|62|64)(?:url)?|utf-?(?:8|16|32)|k8s|i18n|l10n|s3|ec2|ipv[46]|http[123]|tls1|2fa|u2f|fido2|web3|x509|(?:rs|es|hs|ps)\d{3}|aes-?\d{3}|rsa-?\d{4}|p-?\d{3}|(?:ed|x|curve)25519|ed448|gpt-?\d\w?|v\d{1,4})$/i

/** `base64`, `v1.2.3`, `32-byte`, `cl100k_base`, `RS256-signed`: a term, a version, or one of them with a word. */
function isTerm(value: string): boolean {
  if (TERM.test(value) || /^v?\d{1,4}(?:\.\d{1,6}){1,3}(?:-[a-z]{1,8}\.?\d{0,3})?$/i.test(value)) return true
  if (/^\d{1,6}(?:-[a-z]{1,20}){1,3}$/i.test(value)) return true
  const [first = '', second = '', ...more] = value.split(/[-_]/)
  return more.length === 0 && (isTermWith(first, second) || isTermWith(second, first))
}

function isTermWith(term: string, word: string): boolean {
  return /^[a-z]{4,20}$/.test(word) && (TERM.test(term) || /^[a-z]{1,2}\d{1,3}[a-z]$/.test(term))
}

/** `step2`, `Q3`, `TASK-2026-000123`, `release-2024`: what is counted. */
function isNumbered(value: string): boolean {
  if (/^[A-Z]{2,10}(?:-\d{1,8}){1,3}$/.test(value) || /^[A-Z]\d{1,2}$/.test(value)) return true
  return /^(?:case|chapter|day|field|form|input|item|level|line|no|number|option|page|part|phase|policy|release|round|rule|section|step|table|test|type|user|version|week|year)[-_#]?\d{1,8}$/i.test(
    value,
  )
}
