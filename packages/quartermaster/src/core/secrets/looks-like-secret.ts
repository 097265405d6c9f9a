/**
 * Whether a written value is probably a credential, by its name or its form. A reference is none. A false positive costs
 * little: any text works from the secrets file as well.
 */
export function looksLikeSecret(name: string, value: string): boolean {
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

/** A reference, also an escaped one (`$${…}`). The length is bounded so that no search is long. */
export const REFERENCE = String.raw`\$?\$\{[^}]{0,1000}\}`

/** Splits a text at its references. */
export const FILLED_IN = new RegExp(REFERENCE, 'u')

/** The pieces between references that hold the credential. */
export function secretPieces(name: string, pieces: readonly string[]): string[] {
  const known = [...pieces.filter(piece => looksLikeSecret('', piece)), ...namedPieces(name, pieces)]
  // A piece that begins like this follows the credential: `@host/path`.
  const own = ownPieces(pieces).filter(piece => piece === pieces[0] || !/^[@/]/.test(piece))
  const surely = [...(known.length > 0 ? known : own), ...passwordPieces(pieces)]
  return surely.length > 0 ? surely : pieces.filter(piece => /\w/.test(piece) && !piece.endsWith('://'))
}

/** Pieces that the name makes credentials: no part of a path or an address. */
function namedPieces(name: string, pieces: readonly string[]): string[] {
  if (LOGIN_NAME.test(name)) return passwordPieces(pieces)
  return isSecretName(name) ? ownPieces(pieces).filter(piece => !/[\s/:\\]/.test(piece)) : []
}

/** Pieces with a meaning of their own; `https://`, `session=` and `Bearer ` only introduce a reference. */
function ownPieces(pieces: readonly string[]): string[] {
  return pieces.filter(
    (piece, i) => LONG.test(piece) && (i === pieces.length - 1 || !/(?:[=:]["']?|:\/\/|\s)$/.test(piece)),
  )
}

/** Also a short one: `:pw` of `${USER}:pw`. */
function passwordPieces(pieces: readonly string[]): string[] {
  return pieces.filter((piece, i) => i > 0 && /^:(?!\d+(?:\/|$))[^\s/\\=+-]\S*$/.test(piece))
}

/** Shorter pieces are the end of an address or a separator. */
const LONG = /^(?=.*\w).{6,}$/s

/** `clientSecret` → `client-Secret`. */
function apart(name: string): string {
  return name.replace(/([a-z\d])([A-Z])/g, '$1-$2').replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
}

/** Words that mark a secret at the end of a name, even without a separator before them. */
const FUSED = String.raw`pass(?:words?|wd|phrase)|secrets?|token|credentials?|(?:api|access|account|auth|license|master|private|secret|signing)[-_]?keys?|(?:admin|db|login|root|smtp|user)pass`
/** Words that need a separator, because other words end like this. */
const APART = String.raw`authorization|auth|cookies?|creds?|pass|pwd?|pat|bearer|jwt|sig|key`
/** What follows the word in `API_KEY_2` and `AUTH_HEADER`. */
const ENDING = String.raw`(?:[-_]?\d{1,2}|[-_](?:base|dev|header|live|prod|staging|test|value))?`

const SECRET_NAME = new RegExp(String.raw`(?:${FUSED}|(?:^|[-_.\s])(?:${APART}))${ENDING}$`, 'i')

/** Public keys, and the variables for the working folder. */
const NO_SECRET_NAME = /public[-_.]?keys?$|^(?:old)?pwd$/i

/** Switches and small numbers, also behind the scheme of a header. */
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

/** Whether a name says that its value is a webhook address, which lets in everyone who knows it. */
export function isWebhookName(name: string): boolean {
  return /webhook(?:[-_]?ur[il])?$/i.test(name)
}

/** The path of a credential is no credential. */
export function isPath(value: string): boolean {
  return /^(?:~|\.{0,2}[\\/]|[a-z]:[\\/])/i.test(value)
}

/** A user and a password behind an option. */
export function isLogin(option: string, value: string): boolean {
  return LOGIN_NAME.test(option) && LOGIN.test(value)
}

const LOGIN_NAME = /^(?:u|user|proxy-user)$/i

/** `me:pw` behind `-u`, but not a user and a group such as `1000:1000` or `node:node`. */
const LOGIN = /^([^\s:/@\\]+):(?!\d+$|\1$|[\\/])\S+$/

const WAYS_TO_SIGN_IN =
  /^(?:anonymous|api[-_]?key|auto|basic|bearer|cookie|default|digest|disabled?|enabled?|header|iam|jwt|kerberos|ldap|local|mtls|ntlm|oauth[12]?|oidc|optional|password|public|required|saml|session|token)$/i

function hasSecretForm(text: string): boolean {
  return FORMS.some(form => form.test(text)) || isConnectionString(text) || hasSecretPair(text)
}

/** The text beside the references: of `user=${ME} password=pw` each name keeps its own value. */
function hasFormBesides(pieces: readonly string[]): boolean {
  const text = pieces.join('')
  return FORMS.some(form => form.test(text)) || isConnectionString(text) || hasSecretPair(pieces.join(FILLER))
}

function hasSecretPair(text: string): boolean {
  const own = text.replaceAll(FILLED_VALUE, '')
  return pairsIn(own).some(([name, value]) => !isHarmless(value) && isNamedSecret(name, value))
}

/** Stands for a reference, so that the name before it does not get the value behind it. */
const FILLER = '\u{1}'

/** A name whose value is a reference alone. */
const FILLED_VALUE = new RegExp(String.raw`[=:]\s*["']?${FILLER}+(?=[\s;&#"',}?]|$)`, 'gu')

/** `Server=db;Pwd=abc`: by itself that name is the working folder. */
function isConnectionString(text: string): boolean {
  return text.includes(';') && /(?:^|;)\s*pwd\s*=\s*[^\s;/]/i.test(text)
}

/** `api_key=abc` in an address, `Password=abc;` in a connection string, `"apiKey": "abc"` in JSON, `Authorization: abc`. */
function pairsIn(text: string): (readonly [string, string])[] {
  const found = text.matchAll(/(?:^|[?&;,\s{"'])([\w.-]{1,128})["']?\s{0,8}[=:](?!\/\/)\s{0,8}["']?([^\s;&#"',}?]+)/g)
  return [...found].map(([, name = '', value = '']) => [name, value] as const)
}

/** Shorter than a certain secret, of one piece, with letters and digits taking turns: a credential where one may well stand. */
export function isKeyLike(value: string, shortest = 12): boolean {
  return (
    value.length >= shortest &&
    /^[\w+=~-]+$/.test(value) &&
    (value.match(/\d(?=[A-Za-z])|[A-Za-z](?=\d)/g)?.length ?? 0) >= 3
  )
}

/** Whether it may be a password: no number, version, plain word, path or package. */
export function isPasswordLike(value: string): boolean {
  return (
    /^[\w!#$%&*+.?^~@:/=-]{6,}$/.test(value) &&
    /[A-Za-z]/.test(value) &&
    /[\d!#$%&*?^]/.test(value) &&
    !ORDINARY.some(form => form.test(value))
  )
}

/** `10.5`, `v1.2.3`, `1500ms`, `2024-01-01`. */
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

/** Long, of one piece and mixed: not written by hand. */
function isRandom(value: string): boolean {
  return (
    /^[\w+/=.~-]{32,}$/.test(value) &&
    /\d/.test(value) &&
    /[A-Za-z]/.test(value) &&
    !/[/\\.]\w+[/\\.]/.test(value) &&
    !isOfWords(value)
  )
}

/** Whether a text is a name made of words and numbers, such as that of a tool or a package. A key has pieces that are neither. */
export function isName(text: string): boolean {
  return isOfWords(text.replace(/([A-Za-z])\d{1,2}(?=[-_./]|$)/g, '$1'))
}

/** `sentence-transformers/all-MiniLM-L6-v2`, `my-team-eu-west-1-readonly`: words and numbers, and few short mixed pieces. */
function isOfWords(value: string): boolean {
  const pieces = value.split(/[-_./]+/).filter(piece => piece !== '')
  const words = pieces.filter(piece => /^[A-Z]?[a-z]+(?:[A-Z]+[a-z]*){0,3}$|^[A-Z]+$/.test(piece))
  const numbers = pieces.filter(piece => /^\d{1,8}$/.test(piece))
  const mixed = pieces.filter(piece => /^(?=.*\d)(?=.*[A-Za-z])[A-Za-z\d]{2,5}$/.test(piece))
  const isAll = words.length + numbers.length + mixed.length === pieces.length
  return isAll && words.length >= 2 * mixed.length && words.length >= numbers.length
}

/**
 * Forms of keys, tokens and webhooks of well-known services; the one list for all searches. A prefix that is also a word needs
 * a digit, or a piece that is not written by hand.
 */
export const SECRET_FORMS: readonly RegExp[] = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek, Stripe.
  /\b(?:sk|rk)[-_](?:(?:ant|admin|live|lf|or|proj|svcacct|test)[-_](?=[\w-]*\d)[\w-]{16,256}|(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{20,256})/,
  /\b(?:gh[opusr]|github_pat)_\w{16,256}/,
  /\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w-]{16,256}/,
  // Slack.
  /\bxox[abcdeprs]-(?=[\w-]*\d)[\w-]{8,256}/,
  /\bxapp-[\w-]{8,256}/,
  // AWS, by the id: the key itself has no form.
  /\bA(?:KIA|SIA)[0-9A-Z]{16}\b/,
  // Google.
  /\bAIza[\w-]{30,64}/,
  /\bya29\.[\w-]{8,512}/,
  /\bGOCSPX-[\w-]{20,64}/,
  // JSON Web Tokens.
  /\beyJ[\w-]{8,4096}\.eyJ[\w-]{6,8192}(?:\.[\w-]{0,4096})?/,
  /\beyJ[\w-]{8,4096}(?:\.[\w-]{0,8192}){3}\.[\w-]{8,4096}/,
  // Ours: tokens, and join codes.
  /\bqm(?:join)?_[\w-]{43}/,
  // Notion, npm, Hugging Face, Figma, Shopify, Linear, DigitalOcean, Stripe, RubyGems, Grafana, Sentry, Replicate, Groq, Supabase …
  /\b(?:ntn|npm|hf|figd|shp(?:at|ss|ca|pa)|lin_api|do[opr]_v1|whsec|rubygems|glsa|glc|sntry[su]|r8|gsk|sbp|fm2|pscale_(?:tkn|pw)|lsv2_[ps][tk]|ATATT3x)[_-]?(?=[\w-]*\d)(?=[\w-]*[A-Za-z0-9]{12})[A-Za-z0-9][\w-]{19,512}/,
  // Those of Hugging Face may have letters alone, but never a second underscore.
  /\bhf_(?=[a-z]{0,40}[A-Z])[A-Za-z]{30,40}\b/,
  /\bsecret_(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{32,64}\b/,
  /\b(?:pypi|pplx|tvly|xai|xkeysib|PMAK|NRAK|HRKU|CFPAT|sq0csp)-(?=[\w-]*\d)[\w-]{16,256}/,
  /\bfc-[0-9a-f]{32}\b/,
  // Databricks, Mailchimp, Airtable, HashiCorp Vault, Doppler, age.
  /\bdapi[0-9a-f]{32}\b/,
  /\b[0-9a-f]{32}-us\d{1,2}\b/,
  /\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b/,
  /\bhv[sb]\.[\w-]{24,256}/,
  /\bdp\.(?:pt|st|ct|sa)\.[\w.-]{40,64}/,
  /\bAGE-SECRET-KEY-1[0-9A-Z]{40,64}/,
  // Docker, Tailscale, 1Password, Twilio.
  /\bdckr_(?:pat|oat)_[\w-]{20,64}/,
  /\btskey-[a-z]{1,16}-\w{8,64}-\w{8,64}/,
  /\bops_eyJ[\w-]{16,8192}/,
  /\bSK[0-9a-f]{32}\b/,
  // Mailgun, Facebook.
  /(?<![\w-])key-[0-9a-f]{32}\b/,
  /\bEAA(?=[A-Za-z]*\d)[A-Za-z0-9]{40,512}\b/,
  // SendGrid.
  /\bSG\.[\w-]{16,64}\.[\w-]{16,64}/,
  // Bots of Telegram and of Discord.
  /\b\d{6,12}:AA[\w-]{20,64}/,
  /\b[MNO](?=[\w-]*\d)[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,64}/,
  /(?<before>\bhooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/-]{8,256}/i,
  /(?<before>\bdiscord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/)[\w/-]{8,256}/i,
  /(?<before>\b\w{1,64}\.webhook\.office\.com\/|\boutlook\.office\.com\/webhook\/)[\w/@-]{8,512}/i,
]

/** Credentials in headers and addresses, and looser forms of keys: here a false positive costs little. */
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
