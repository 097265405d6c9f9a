import { SECRET_FORMS } from './secret-forms.ts'

/**
 * Whether a value that someone wrote down is probably a credential, by its name or by its form. A reference to one is none.
 * Being wrong costs little: a text that is no secret works from the secrets file as well.
 */
export function isSecretText(name: string, value: string): boolean {
  const pieces = value.split(FILLED_IN)
  if (pieces.length > 1) return hasFormBesides(pieces) || namedPieces(name, pieces).length > 0
  if (isHarmless(value)) return false
  return isNamedSecret(name, value) || hasSecretForm(value) || isRandom(value)
}

/** Whether a name says that its value is a credential. */
export function isSecretName(name: string): boolean {
  const words = apart(name)
  return (SECRET_NAME.test(name) || SECRET_NAME.test(words)) && !NO_SECRET_NAME.test(words)
}

/** What takes the place, in a word of a script, of each character of what the shell puts there itself. */
export const FILLER = '\u{1}'

/** A reference, also one that is written so that it means the characters themselves. What is longer is none, so that no search is long. */
export const REFERENCE = String.raw`\$?\$\{[^}]{0,1000}\}`

/** References, and what a shell fills in. */
export const FILLED_IN = new RegExp(`${REFERENCE}|${FILLER}+`, 'u')

/** Those of the pieces beside what is filled in that hold the credential, in a text which has one. */
export function secretPieces(name: string, pieces: readonly string[]): string[] {
  const known = [...pieces.filter(piece => isSecretText('', piece)), ...namedPieces(name, pieces)]
  // What begins like that stands behind the credential: `@host/path`.
  const own = ownPieces(pieces).filter(piece => piece === pieces[0] || !/^[@/]/.test(piece))
  const surely = [...(known.length > 0 ? known : own), ...passwordPieces(pieces)]
  return surely.length > 0 ? surely : pieces.filter(piece => /\w/.test(piece) && !piece.endsWith('://'))
}

/** Those that the name of their place makes credentials: no part of a path or an address. */
function namedPieces(name: string, pieces: readonly string[]): string[] {
  if (LOGIN_NAME.test(name)) return passwordPieces(pieces)
  return isSecretName(name) ? ownPieces(pieces).filter(piece => !/[\s/:\\]/.test(piece)) : []
}

/** Those that say something themselves, and not what follows: `https://`, `session=` and `Bearer ` do that before a reference. */
function ownPieces(pieces: readonly string[]): string[] {
  return pieces.filter(
    (piece, i) => LONG.test(piece) && (i === pieces.length - 1 || !/(?:[=:]["']?|:\/\/|\s)$/.test(piece)),
  )
}

/** Also a short one: `:pw` of `${USER}:pw`. */
function passwordPieces(pieces: readonly string[]): string[] {
  return pieces.filter((piece, i) => i > 0 && /^:(?!\d+(?:\/|$))[^\s/\\=+-]\S*$/.test(piece))
}

/** What is shorter is the end of an address, or a sign between two. */
const LONG = /^(?=.*\w).{6,}$/s

/** `clientSecret` → `client-Secret`. */
function apart(name: string): string {
  return name.replace(/([a-z\d])([A-Z])/g, '$1-$2').replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
}

/** Words that say so wherever they end a name, also without anything before them that sets them apart. */
const FUSED = String.raw`pass(?:words?|wd|phrase)|secrets?|token|credentials?|(?:api|access|account|auth|license|master|private|secret|signing)[-_]?keys?|(?:admin|db|login|root|smtp|user)pass`
/** Words that are the end of others too. */
const APART = String.raw`authorization|auth|cookies?|creds?|pass|pwd?|pat|bearer|jwt|sig|key`
/** What follows the word in `API_KEY_2` and `AUTH_HEADER`. */
const ENDING = String.raw`(?:[-_]?\d{1,2}|[-_](?:base|dev|header|live|prod|staging|test|value))?`

const SECRET_NAME = new RegExp(String.raw`(?:${FUSED}|(?:^|[-_.\s])(?:${APART}))${ENDING}$`, 'i')

/** What may be shown to everybody, and the variables in which shells keep the working folder. */
const NO_SECRET_NAME = /public[-_.]?keys?$|^(?:old)?pwd$/i

/** Switches and small numbers are no credentials, whatever they are called, and with the word before them that a header has. */
function isHarmless(value: string): boolean {
  return /^(?:(?:bearer|basic|token)\s+)?(?:|true|false|yes|no|on|off|none|null|undefined|\d{1,3})$/i.test(value)
}

function isNamedSecret(name: string, value: string): boolean {
  if (/(?:^|[-_.])auth$/i.test(apart(name)) && WAYS_TO_SIGN_IN.test(value)) return false
  if (/cred(?:ential)?s?$/i.test(name) && isPath(value)) return false
  if (isSecretName(name)) return true
  if (LOGIN_NAME.test(name)) return isLogin(name, value)
  if (/(?:^|[-_.])tokens$/i.test(name)) return !/^[\d_.,]+[km]?$/i.test(value)
  if (/dsn$|conn(?:ection)?[-_]?str(?:ing)?$/i.test(name)) return value.includes('@')
  return isWebhookName(name) && /^https?:/i.test(value)
}

/** Whether a name says that its value is an address which lets in whoever knows it. */
export function isWebhookName(name: string): boolean {
  return /webhook(?:[-_]?ur[il])?$/i.test(name)
}

/** Where a credential lies is none. */
export function isPath(value: string): boolean {
  return /^(?:~|\.{0,2}[\\/]|[a-z]:[\\/])/i.test(value)
}

/** Whether a person and a password stand behind an option. */
export function isLogin(option: string, value: string): boolean {
  return LOGIN_NAME.test(option) && LOGIN.test(value)
}

const LOGIN_NAME = /^(?:u|user|proxy-user)$/i

/** `me:pw` behind `-u`, but no `1000:1000` and no `node:node`, who are a user and a group. */
const LOGIN = /^([^\s:/@\\]+):(?!\d+$|\1$|[\\/])\S+$/

const WAYS_TO_SIGN_IN =
  /^(?:anonymous|api[-_]?key|auto|basic|bearer|cookie|default|digest|disabled?|enabled?|header|iam|jwt|kerberos|ldap|local|mtls|ntlm|oauth[12]?|oidc|optional|password|public|required|saml|session|token)$/i

function hasSecretForm(text: string): boolean {
  return FORMS.some(form => form.test(text)) || isConnectionString(text) || hasSecretPair(text)
}

/** The same of what stands beside what is filled in: of `user=${ME} password=pw` each name keeps its own value. */
function hasFormBesides(pieces: readonly string[]): boolean {
  const text = pieces.join('')
  return FORMS.some(form => form.test(text)) || isConnectionString(text) || hasSecretPair(pieces.join(FILLER))
}

function hasSecretPair(text: string): boolean {
  const own = text.replaceAll(FILLED_VALUE, '')
  return pairsIn(own).some(([name, value]) => !isHarmless(value) && isNamedSecret(name, value))
}

/** Without it a name is no pair. */
const FILLED_VALUE = new RegExp(String.raw`[=:]\s*["']?${FILLER}+(?=[\s;&#"',}?]|$)`, 'gu')

/** `Server=db;Pwd=abc`: by itself that name is the working folder. */
function isConnectionString(text: string): boolean {
  return text.includes(';') && /(?:^|;)\s*pwd\s*=\s*[^\s;/]/i.test(text)
}

/** Credentials as they travel, and what begins like a key: here it does not matter when one is none. */
const FORMS: readonly RegExp[] = [
  ...SECRET_FORMS,
  /\b(?:bearer|basic)\s+\S{8,}/i,
  /^bearer\s+\S+$/i,
  // A password in an address, not a port; a long name before the @ is a token.
  /:\/\/[^\s/@:[]*:(?!\d+(?:[/?#]|$))[^\s@]{1,256}@/,
  /:\/\/[^\s/@:]{20,256}@/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /\b(?:sk|rk|pk)[-_][\w-]{16,}/,
  /\b(?:ntn|npm|hf|figd|secret|shpat|lin_api|dop_v1|qm)_[\w-]{16,}/,
  /\b(?:pplx|tvly|fc|SG)[-.][\w.-]{16,}/,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\./,
  /\bhooks\.slack\.com\/\w+\/\S/i,
  /\bdiscord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/\S/i,
  /\b(?:\w+\.webhook\.office\.com|outlook\.office\.com\/webhook)\/\S/i,
  /\bapi\.telegram\.org\/(?:file\/)?bot\d+:/i,
]

/** `api_key=abc` in an address, `Password=abc;` in a connection string, `"apiKey": "abc"` in JSON, `Authorization: abc`. */
function pairsIn(text: string): (readonly [string, string])[] {
  const found = text.matchAll(/(?:^|[?&;,\s{"'])([\w.-]{1,128})["']?\s{0,8}[=:](?!\/\/)\s{0,8}["']?([^\s;&#"',}?]+)/g)
  return [...found].map(([, name = '', value = '']) => [name, value] as const)
}

/** Where a credential may well stand: shorter than what is random for certain, of one piece, letters and digits taking turns. */
export function isKeyLike(value: string, shortest = 12): boolean {
  return (
    value.length >= shortest &&
    /^[\w+=~-]+$/.test(value) &&
    (value.match(/\d(?=[A-Za-z])|[A-Za-z](?=\d)/g)?.length ?? 0) >= 3
  )
}

/** Whether somebody may have thought of it as a password: no number, no version, no plain word, no place, no package. */
export function isPasswordLike(value: string): boolean {
  return (
    /^[\w!#$%&*+.?^~@:/=-]{6,}$/.test(value) &&
    /[A-Za-z]/.test(value) &&
    /[\d!#$%&*?^]/.test(value) &&
    !ORDINARY.some(form => form.test(value))
  )
}

/** `10.5`, `v1.2.3`, `1500ms`, `2024-01-01`; what is not hidden by a name is what somebody may want to read. */
const IS_AMOUNT = /^v?\d[\d.:-]*(?:[A-Za-z]{1,2})?$/

const ORDINARY: readonly RegExp[] = [
  IS_AMOUNT,
  /^[a-z][\w+.-]*:\/\//i,
  // `src/*.ts`, `$HOME/a1`, `localhost:8080`, `node:20-alpine`
  /^[\w.~*$%+-]*[/:][\w.~*$%+/:-]*$/,
  // `@scope/server-2`, `server@1.2.3`, `me2@mail.example`, `image@sha256:0123`
  /^@[\w.-]+\/[\w.-]+$/,
  /^@?[\w./:-]+@(?:v?\d+(?:\.[\w.+-]*)?|latest|next|beta|sha256:\w+|[\w.-]+\.[a-z]{2,})$/i,
  // `MODE=fast2`
  /^[A-Za-z_][\w.-]*=[^=]/,
]

/** Long, of one piece, and mixed: nobody writes that by hand. */
function isRandom(value: string): boolean {
  return (
    /^[\w+/=.~-]{32,}$/.test(value) &&
    /\d/.test(value) &&
    /[A-Za-z]/.test(value) &&
    !/[/\\.]\w+[/\\.]/.test(value) &&
    !isOfWords(value)
  )
}

/** `sentence-transformers/all-MiniLM-L6-v2`, `my-team-eu-west-1-readonly`: words and numbers, and few short pieces of both. */
function isOfWords(value: string): boolean {
  const pieces = value.split(/[-_./]+/).filter(piece => piece !== '')
  const words = pieces.filter(piece => /^[A-Z]?[a-z]+(?:[A-Z]+[a-z]*){0,3}$|^[A-Z]+$/.test(piece))
  const numbers = pieces.filter(piece => /^\d{1,8}$/.test(piece))
  const mixed = pieces.filter(piece => /^(?=.*\d)(?=.*[A-Za-z])[A-Za-z\d]{2,5}$/.test(piece))
  const isAll = words.length + numbers.length + mixed.length === pieces.length
  return isAll && words.length >= 2 * mixed.length && words.length >= numbers.length
}
