import { SECRET_FORMS } from '../kernel/index.ts'
import { isSpared } from './spared-values.ts'

/** A text without its secrets, and how many there were. */
export interface Redacted {
  readonly text: string
  readonly count: number
}

/** What stands where a secret stood. */
export const TAKEN_OUT = '[redacted]'

/**
 * Takes credentials out of a text before it is kept. Only what has the form of one, or stands where one is named: hashes, paths,
 * UUIDs and long words mean something to whoever reads the memory, and one that is eaten is lost.
 */
export function redactSecrets(text: string): Redacted {
  let count = 0
  let left = text
  for (const { form, hint, spares = isSpared } of FORMS) {
    // Most texts have none of it, and a look for a word costs little.
    if (hint && !hint.test(left)) continue
    left = left.replace(form, (whole: string, ...groups: unknown[]) => {
      const { before = '', after = '' } = (groups.at(-1) ?? {}) as { before?: string; after?: string }
      const value = whole.slice(before.length, whole.length - after.length)
      if (value.includes(TAKEN_OUT) || spares(before, value)) return whole
      count++
      return `${before}${TAKEN_OUT}${after}`
    })
  }
  return { text: left, count }
}

interface Form {
  /** Everything but the groups `before` and `after` is the secret. */
  readonly form: RegExp
  readonly hint?: RegExp
  /** Whether it is none after all, by what stands before it and by itself. */
  readonly spares?: (before: string, value: string) => boolean
}

/** As passwords are called, and what else is named like a secret. What stands before it in a name may say whose it is. */
const PASSWORD = String.raw`pass(?:word|wd|phrase|wort)|pwd|contraseña|senha|mot de passe|пароль|パスワード|密码|密碼|비밀번호`
const SECRET = String.raw`secret|(?:api|access|auth|private|secret|signing|encryption|account)[ _-]?key|token|credentials?`
const NAME = String.raw`(?:${PASSWORD}|${SECRET})`
/** Unquoted it ends where a setting or a part of an address does; in quotes it is all that is in them. */
const PLAIN = String.raw`(?![\s"'\x60])(?:[^\s"'\x60;,&<>()]|&(?!\w{1,64}=)){4,512}`

/** In nearly every text there is none of these words. */
const NAMED = /pass|pwd|secret|key|token|credential|contrase|senha|парол|パスワード|密|비밀/i

/** Those that span much come first: what they take is not looked through for less. */
const FORMS: readonly Form[] = [
  {
    form: /-{4,5} ?BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)? ?-{4,5}[\s\S]*?(?:-{4,5} ?END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)? ?-{4,5}|$)/g,
    hint: /PRIVATE KEY/,
  },
  {
    form: /(?<before>\bPrivate-Lines: \d{1,3}\r?\n)[A-Za-z0-9+/=\r\n]{4,8192}(?<after>\nPrivate-)/g,
    hint: /Private-Lines/,
  },
  // A password in an address: `postgres://me:pw@db`, but no port.
  { form: /(?<before>\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s/@:]{0,256}:)[^\s/?#]{1,256}(?<after>@)/gi, hint: /:\/\// },
  // A token in the place of the user.
  { form: /(?<before>\b[a-z][a-z0-9+.-]{1,30}:\/\/)[^\s/@:.]{20,256}(?<after>@)/gi, hint: /:\/\// },
  // What an address is signed with.
  {
    form: /(?<before>[?&](?:sig|signature|x-(?:amz|goog)-(?:signature|security-token|credential))=)[\w%.~+/=-]{6,2048}/gi,
    hint: /[?&](?:sig|x-)/i,
  },
  // As credentials travel in a header.
  {
    form: /(?<before>\bauthorization["'`]?\s{0,4}[:=]\s{0,4}["'`]?(?:bearer|basic|token|bot|apikey)\s{1,4})[\w.~+/=-]{4,4096}/gi,
    hint: /authorization/i,
  },
  // And elsewhere. "bearer of bad news" is none: these have a digit or are long.
  {
    form: /(?<before>\bbearer(?:\s{1,4}|[:=]\s{0,4})["'`]?)(?=[\w.~+/=-]*\d|[\w.~+/=-]{32})[\w.~+/=-]{8,4096}/gi,
    hint: /bearer/i,
  },
  { form: /(?<before>\bbasic\s{1,4})[A-Za-z0-9+/]{8,512}={0,2}(?![\w-])/gi, hint: /basic/i, spares: isNoLogin },
  ...SECRET_FORMS.map(({ source, flags }) => ({ form: new RegExp(source, `${flags}g`) })),
  // What is named: `password=…`, `"apiKey": "…"`, `DB_PASSWORD: …`, `--token …`.
  {
    form: new RegExp(
      String.raw`(?<before>${NAME}["'\x60]?\s{0,4}(?::=|=>|[=:：])\s{0,4}(?<quote>["'\x60]))(?:(?!\k<quote>)[^\n]){4,512}(?<after>\k<quote>)`,
      'giu',
    ),
    hint: NAMED,
  },
  {
    form: new RegExp(String.raw`(?<before>${NAME}["'\x60]?\s{0,4}(?::=|=>|[=:：])\s{0,4}["'\x60]?)${PLAIN}`, 'giu'),
    hint: NAMED,
  },
  { form: new RegExp(String.raw`(?<before>--(?:[a-z]{1,20}-){0,4}${NAME}\s{1,4})(?!-)${PLAIN}`, 'giu'), hint: /--/ },
  // As people say it: with a digit, so that "the password is old" stays.
  {
    form: new RegExp(
      String.raw`(?<before>(?:${PASSWORD}) (?:is|ist|est|es|was|war) ["'\x60]?)(?=\S*\d)(?=\S*[A-Za-z])${PLAIN}`,
      'giu',
    ),
    hint: NAMED,
  },
]

/** Basic credentials are a name and a password in base64. "Basic JavaScript" is neither. */
function isNoLogin(_before: string, value: string): boolean {
  try {
    return !/^[\x20-\x39\x3b-\x7e]+:\P{Cc}*$/u.test(atob(value))
  } catch {
    return true
  }
}
