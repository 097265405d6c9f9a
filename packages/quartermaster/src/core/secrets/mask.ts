import { SECRET_FORMS } from './looks-like-secret.ts'

/** Stands in a text where a secret stood. */
export const REDACTED = '[redacted]'

/**
 * A text without credentials, and how many there were. Masks only what has the form of a credential or stands where one is named:
 * hashes, paths, UUIDs, names and long words mean something to the reader, and what is masked is lost.
 */
export function mask(text: string): { readonly text: string; readonly count: number } {
  let { text: left, count } = withoutKeyBlocks(text)
  for (const { form, hint, spares = isSpared } of FORMS) {
    if (hint && !hint.test(left)) continue
    left = left.replace(form, (whole: string, ...groups: unknown[]) => {
      const { before = '', after = '' } = (groups.at(-1) ?? {}) as { before?: string; after?: string }
      const value = whole.slice(before.length, whole.length - after.length)
      if (value.includes(REDACTED) || spares(before, value)) return whole
      count++
      return `${before}${REDACTED}${after}`
    })
  }
  return { text: left, count }
}

/** Private keys come first, because they span much text that other forms would match in part. */
function withoutKeyBlocks(text: string): ReturnType<typeof mask> {
  const blocks = text.includes('PRIVATE KEY') ? keyBlocksIn(text) : []
  const kept = blocks.map(({ from }, i) => text.slice(blocks[i - 1]?.to ?? 0, from))
  return { text: [...kept, text.slice(blocks.at(-1)?.to ?? 0)].join(REDACTED), count: blocks.length }
}

/** Whether a word behind "Basic" is no name and password in base64: "Basic JavaScript". */
function isNoLogin(_before: string, value: string): boolean {
  try {
    return !/^[\x20-\x39\x3b-\x7e]+:\P{Cc}*$/u.test(atob(value))
  } catch {
    return true
  }
}

interface SecretForm {
  /** The secret is everything but the groups `before` and `after`. */
  readonly form: RegExp
  /** Cheap test: the form is tried only in texts that have this. */
  readonly hint?: RegExp
  /** Whether a match is no secret after all; `isSpared` unless given. */
  readonly spares?: (before: string, value: string) => boolean
}

/** Words for passwords and other secrets; a name may begin with more, such as `dbPassword`. */
const SPACED_PASSWORD = 'pass(?:word|wd|phrase|code|wort)|kennwort|pwd|contraseña|senha|mot de passe|пароль'
/** In these languages the word is not set apart from the one before it. */
const JOINED_PASSWORD = 'パスワード|密码|密碼|비밀번호'
const PASSWORD = `${SPACED_PASSWORD}|${JOINED_PASSWORD}`
const SECRET = String.raw`secret|(?:api|access|auth|private|secret|signing|encryption|account)[ _-]?key|token|credentials?`
const NAME = String.raw`(?:${PASSWORD}|${SECRET})`
/** `pass` and `pw` only behind one of these: a boarding pass is no password. */
const SHORT_NAME = String.raw`(?:\b(?:my|our|your|his|her|their|user|login|root|admin|wi-?fi) |[A-Za-z0-9]_)(?:pass|pw)`
/** An unquoted value ends where a setting or a part of an address ends. */
const PLAIN = String.raw`(?![\s"'\x60])(?:[^\s"'\x60;,&<>()]|&(?!\w{1,64}=)){4,512}`
const SET = String.raw`["'\x60]?\s{0,4}(?::=|=>|[=:：])\s{0,4}`
const SAID = String.raw`(?:is|ist|est|es|was|war|lautet):? (?:now |still |currently )?["'\x60]?`

/** `\b` knows the letters of English alone. */
const WORD_START = String.raw`(?<![\p{L}\p{N}_])`
const WHOLE_PASSWORD = `(?:${WORD_START}(?:${SPACED_PASSWORD})|${JOINED_PASSWORD})`

const NAMED = /pass|kennwort|pwd|pw\b|secret|key|token|credential|contrase|senha|парол|パスワード|密|비밀/i

/** What is named as a secret: in a setting, in a command, in a header, or in a sentence. */
const NAMED_SECRETS: readonly SecretForm[] = [
  // `password=…`, `"apiKey": "…"`, `DB_PASSWORD: …`.
  {
    form: new RegExp(
      String.raw`(?<before>(?:${NAME}|${SHORT_NAME})${SET}(?<quote>["'\x60]))(?:(?!\k<quote>)[^\n]){4,512}(?<after>\k<quote>)`,
      'giu',
    ),
    hint: NAMED,
  },
  { form: new RegExp(String.raw`(?<before>(?:${NAME}|${SHORT_NAME})${SET}["'\x60]?)${PLAIN}`, 'giu'), hint: NAMED },
  // `OPENAI_KEY=…`, but no `PRIMARY_KEY=id`.
  {
    form: new RegExp(String.raw`(?<before>\b[A-Z][A-Z0-9_]{1,40}_KEY${SET}["'\x60]?)${PLAIN}`, 'gu'),
    hint: /_KEY/,
    spares: isProse,
  },
  // `pass: …` alone may be said of a test.
  {
    form: new RegExp(String.raw`(?<before>\b(?:pass|pw)${SET}["'\x60]?)${PLAIN}`, 'giu'),
    hint: NAMED,
    spares: isProse,
  },
  { form: new RegExp(String.raw`(?<before>--(?:[a-z]{1,20}-){0,4}${NAME}\s{1,4})(?!-)${PLAIN}`, 'giu'), hint: /--/ },
  // `curl -u me:…`, `docker login -p …`. A user and a group behind another command are no secret.
  {
    form: /(?<before>\b(?:curl|wget|https?)\b[^\n]{0,256}?\s(?:-[a-zA-Z]{0,8}[uU]|--(?:proxy-)?user)[ =]{0,2}["'`]?[^\s:"'`]{1,128}:)[^\s"'`]{1,256}/g,
    hint: /\b(?:curl|wget|http)/,
  },
  // `mysql -pSECRET`, where a space would begin the name of a database.
  {
    form: /(?<before>\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b[^\n]{0,256}?\s-p["'`]?)[^\s"'`-][^\s"'`]{3,256}/g,
    hint: /mysql|mariadb/,
  },
  {
    form: /(?<before>\b(?:sshpass|(?:docker|podman|helm|registry) login)\b[^\n]{0,256}?\s-p[ =]?["'`]?)[^\s"'`]{4,256}/g,
    hint: /sshpass|login/,
  },
  {
    form: /(?<before>(?:\b(?:set-)?cookie["'`]?\s{0,4}[:=]|--cookie[ =])\s{0,4}["'`]?)[\w.$-]{1,64}=[^\s;,"'`]{1,4096}(?:;\s{0,2}[\w.$-]{1,64}=[^\s;,"'`]{0,4096}){0,64}/gi,
    hint: /cookie/i,
    spares: isPlainCookie,
  },
  // As people say it. "The password is old" and "the token is base64-encoded" stay.
  { form: new RegExp(String.raw`(?<before>${NAME} ${SAID})${PLAIN}`, 'giu'), hint: NAMED, spares: isProse },
  {
    form: new RegExp(String.raw`(?<before>${WHOLE_PASSWORD}\s{1,4}["'\x60]?)${PLAIN}`, 'giu'),
    hint: NAMED,
    spares: isProse,
  },
  // Digits alone are a secret only where nothing else is: a PIN is four of them, and no date or measure.
  {
    form: new RegExp(
      String.raw`(?<before>${WORD_START}(?:passcode|pin(?:[ -](?:code|number))?) ${SAID})\d{4,12}(?![\p{L}\p{N}_]|[-.,:/]\p{N})`,
      'giu',
    ),
    hint: /passcode|\bpin\b/i,
  },
  {
    form: new RegExp(String.raw`(?<before>\b(?:${SECRET})\s{1,4}["'\x60]?)${PLAIN}`, 'giu'),
    hint: NAMED,
    spares: isProseBehindKey,
  },
]

/** Whether a value behind the name of a secret is a placeholder, a path, a reference, or a word about the secret. */
function isSpared(before: string, value: string): boolean {
  const bare = bareOf(value)
  if (isNoValue(bare)) return true
  return NEVER_A_WORD.test(before) && (/\s/.test(bare) || isWords(bare) || isTerm(bare))
}

/**
 * Whether what follows a secret's name in a sentence is prose. Only what is never a word of a sentence is a secret: letters and
 * digits mixed, or long and of one piece.
 */
function isProse(_before: string, value: string): boolean {
  const bare = bareOf(value)
  if (isNoValue(bare) || isTerm(bare) || isNumbered(bare)) return true
  const isMixed = /\d/.test(bare) && /[A-Za-z]/.test(bare)
  return !isMixed && !(bare.length >= LONG && /^[\x21-\x7e]+$/.test(bare) && isRandomCase(bare))
}

/** As `isProse`, where not even "is" stands between: a short text may be anything, and a name may have a number. */
function isProseBehindKey(before: string, value: string): boolean {
  const bare = bareOf(value)
  return bare.length < LONG || isProse(before, value) || bare.split(/[-_./:=]/).every(isWordOrNumber)
}

function isWordOrNumber(piece: string): boolean {
  return WORD.test(piece) || /^\d{0,4}$/.test(piece)
}

/** Whether the parts of a cookie are only settings: `SameSite=Lax; theme=dark`. */
function isPlainCookie(_before: string, value: string): boolean {
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
  return PLACEHOLDER.test(bare) || REFERENCE.test(bare) || isPath(bare)
}

/** What people write in place of a secret, words about one, and names of algorithms. */
const PLACEHOLDER =
  /^(?:\$\{?\w+\}?|\$\([^)]*\)|<[^>]*>|\{\{[^}]*\}\}|%\w+%|\*+|x+|\.{3}|…|\[[^\]]*\]|(?:your|my|the)[-_].*|true|false|yes|no|none|null|undefined|required|optional|string|empty|changed|unknown|wrong|invalid|missing|(?:sha-?\d+|md5|argon2\w*|bcrypt|scrypt|pbkdf2)(?:-\w+)?)$/i

/** Code that fetches it from elsewhere. */
const REFERENCE =
  /^(?:process\.env|import\.meta\.env|os\.environ|os\.getenv|env|secrets|vars|config|settings|options|args|self|this)[.[]/i

/** The place of a secret. A random piece between two slashes means a key that has slashes. */
function isPath(value: string): boolean {
  const isRooted = /^(?:~|\.{1,2}|[A-Za-z]:)?[\\/][\w.@\\/-]*$/.test(value)
  const isRelative = /^[a-z][a-z0-9_.-]*(?:\/[a-z0-9_.-]+)+$/.test(value)
  return isRelative || (isRooted && !value.split(/[\\/]/).some(isRandom))
}

function isRandom(piece: string): boolean {
  return piece.length >= 12 && isRandomCase(piece) && /\d/.test(piece)
}

/** Capitals and small letters mixed, but not as in names of several words. */
function isRandomCase(value: string): boolean {
  return /[a-z]/.test(value) && /[A-Z]/.test(value) && !value.split(/[-_./]/).every(word => WORD.test(word))
}

/** A password may be a word. These never are: a word behind them in prose, or in a setting, says something about them. */
const NEVER_A_WORD = /(?:token|key|secret|credentials?|bearer|basic|bot)\W*$/i

const WORD = /^(?:[a-z]{1,20}|[A-Z]{1,12}|(?:[A-Z][a-z]{2,20})+|[a-z]{2,20}(?:[A-Z][a-z]{2,20})+)[!?]?$/
const MOST_WORDS = 3

/** `rotated`, `created_at`, `getToken`, `X-Api-Key`. */
function isWords(value: string): boolean {
  const words = value.split(/[-_.]/)
  return words.length <= MOST_WORDS && words.every(word => WORD.test(word))
}

/** Technical terms that have digits. */
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

/** `step2`, `Q3`, `TASK-2026-000123`, `release-2024`. */
function isNumbered(value: string): boolean {
  if (/^[A-Z]{2,10}(?:-\d{1,8}){1,3}$/.test(value) || /^[A-Z]\d{1,2}$/.test(value)) return true
  return /^(?:case|chapter|day|field|form|input|item|level|line|no|number|option|page|part|phase|policy|release|round|rule|section|step|table|test|type|user|version|week|year)[-_#]?\d{1,8}$/i.test(
    value,
  )
}

/** The first and last line of a private key in PEM, PGP and SSH2. */
const HEAD = /-{4,5} ?BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}/g
const TAIL = /-{4,5} ?END (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}/g
/** No private key is longer. */
const LONGEST = 65_536

function keyBlocksIn(text: string): { readonly from: number; readonly to: number }[] {
  const tails = [...text.matchAll(TAIL)].map(found => ({ from: found.index, to: found.index + found[0].length }))
  const heads = [...text.matchAll(HEAD)].map(found => ({ from: found.index, to: found.index + found[0].length }))
  let next = 0
  return heads.flatMap(({ from, to }, i) => {
    while ((tails[next]?.from ?? Number.POSITIVE_INFINITY) < to) next++
    const tail = tails[next]
    const limit = Math.min(heads[i + 1]?.from ?? text.length, to + LONGEST)
    const end = tail && tail.from <= limit ? tail.to : endOfPieces(text, to, limit)
    return end === to ? [] : [{ from, to: end }]
  })
}

const GAP = /(?:[\s>|"'`+,]|\\[nrt]){0,64}/y
const HEADER = /(?:Proc-Type|DEK-Info|Version|Comment|Subject|Hash|Charset): [^\n]{0,256}/y
const PIECE = /[A-Za-z0-9+/=]+/y
/** The end of a text that was cut in the middle of the last line. */
const CUT = /\s{0,4}-{1,5} ?[A-Z0-9 -]{0,64}$/y

/** A line of a key is long and no word. Only the last one is shorter. */
const LONG_PIECE = 16
const A_WORD = /^[A-Z]?[a-z]+$|^[A-Z]+$/

/** The end of a key without a last line: it reaches as far as its lines do. */
function endOfPieces(text: string, start: number, limit: number): number {
  let end = start
  for (;;) {
    const at = after(GAP, text, end)
    const header = after(HEADER, text, at)
    const to = header > at ? header : after(PIECE, text, at)
    if (to === at || to > limit) break
    const piece = text.slice(at, to)
    if (header === at && A_WORD.test(piece)) break
    const isLast = header === at && piece.length < LONG_PIECE
    // Right behind the head a short piece is a word of a sentence about keys.
    if (isLast && end === start && at > start) break
    end = to
    if (isLast) break
  }
  const cut = after(CUT, text, end)
  return end > start || cut === text.length ? cut : start
}

function after(form: RegExp, text: string, at: number): number {
  form.lastIndex = at
  return form.test(text) ? form.lastIndex : at
}

const FORMS: readonly SecretForm[] = [
  {
    form: /(?<before>\bPrivate-Lines: \d{1,3}\r?\n)(?:[A-Za-z0-9+/=]{1,128}\r?\n){0,128}[A-Za-z0-9+/=]{1,128}(?![^\r\n])/g,
    hint: /Private-Lines/,
  },
  // The private number of a key in JSON.
  { form: /(?<before>"d"\s{0,4}:\s{0,4}")[\w-]{40,1024}(?<after>")/g, hint: /"kty"/ },
  // A password in an address: `postgres://me:pw@db`, but no port.
  { form: /(?<before>\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s/@:]{0,256}:)[^\s/?#]{1,256}(?<after>@)/gi, hint: /:\/\// },
  // A token in the place of the user.
  { form: /(?<before>\b[a-z][a-z0-9+.-]{1,30}:\/\/)[^\s/@:.]{20,256}(?<after>@)/gi, hint: /:\/\// },
  // What an address is signed with.
  {
    form: /(?<before>[?&](?:sig|signature|x-(?:amz|goog)-(?:signature|security-token|credential))=)[\w%.~+/=-]{6,2048}/gi,
    hint: /[?&](?:sig|x-)/i,
  },
  // A header, which may go on in the next line.
  {
    form: /(?<before>\bauthorization["'`]?\s{0,4}[:=]\s{0,32}["'`]?(?:bearer|basic|token|bot|apikey)\s{1,32})[\w.~+/=-]{4,4096}/gi,
    hint: /authorization/i,
  },
  // At the end of a line it is no sentence about tokens.
  {
    form: /(?<before>\bauthorization["'`]?\s{0,4}:\s{0,4}["'`]?bearer )(?!tokens?\b|auth|scheme|header)[\w.~+/=-]{4,4096}(?=["'`]{0,2}(?:\r?\n|$))/gi,
    hint: /authorization/i,
    spares: () => false,
  },
  // Elsewhere a token has a digit or is long, unlike "bearer of bad news".
  {
    form: /(?<before>\bbearer(?:\s{1,32}|[:=]\s{0,32})["'`]?)(?=[\w.~+/=-]{0,4096}\d|[\w.~+/=-]{32})[\w.~+/=-]{8,4096}/gi,
    hint: /bearer/i,
  },
  { form: /(?<before>\bbasic\s{1,4})[A-Za-z0-9+/]{8,512}={0,2}(?![\w-])/gi, hint: /basic/i, spares: isNoLogin },
  ...SECRET_FORMS.map(({ source, flags }) => ({ form: new RegExp(source, `${flags}g`) })),
  ...NAMED_SECRETS,
]
