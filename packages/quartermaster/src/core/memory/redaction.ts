import { SECRET_FORMS } from '../kernel/index.ts'

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
  for (const { form, hint } of FORMS) {
    // Most texts have none of it, and a look for a word costs little.
    if (hint && !hint.test(left)) continue
    left = left.replace(form, (whole: string, ...groups: unknown[]) => {
      const { before = '', after = '' } = (groups.at(-1) ?? {}) as { before?: string; after?: string }
      const value = whole.slice(before.length, whole.length - after.length)
      if (value.includes(TAKEN_OUT) || isSpared(value) || isOrdinary(before, value)) return whole
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
}

/** Stand-ins that people write where a secret would be, references to one, and words that are none. */
const SPARED =
  /^(?:\$\{?\w+\}?|\$\([^)]*\)|<[^>]*>|\{\{[^}]*\}\}|%\w+%|\*+|x+|\.{3}|…|\[[^\]]*\]|(?:your|my|the)[-_].*|true|false|yes|no|none|null|undefined|required|optional|string|empty|changed|unknown|wrong|invalid|missing)$/i

/** A password may be a word. Tokens and keys never are: what follows them in prose, or in a setting, says something about them. */
function isOrdinary(name: string, value: string): boolean {
  return /(?:token|key|credentials?)\W*$/i.test(name) && /^[a-z]{1,20}[.!?]?$/.test(value)
}

function isSpared(value: string): boolean {
  return SPARED.test(value.replace(/^["'`]|["'`,.;)]+$/g, ''))
}

/** Those that span much come first: what they take is not looked through for less. */
const FORMS: readonly Form[] = [
  {
    form: /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|$)/g,
    hint: /PRIVATE KEY/,
  },
  // A password in an address: `postgres://me:pw@db`, but no port.
  { form: /(?<before>\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s/@:]{0,256}:)[^\s/@]{1,256}(?<after>@)/gi, hint: /:\/\// },
  // A token in the place of the user.
  { form: /(?<before>\b[a-z][a-z0-9+.-]{1,30}:\/\/)[^\s/@:.]{20,256}(?<after>@)/gi, hint: /:\/\// },
  // As credentials travel. "bearer of bad news" and "basic authentication" are none: these have a digit or are long.
  {
    form: /(?<before>\bbearer\s{1,4})(?=[\w.~+/=-]*\d|[\w.~+/=-]{32})[\w.~+/=-]{8,4096}/gi,
    hint: /bearer/i,
  },
  {
    form: /(?<before>\b[Bb]asic\s{1,4})(?=[A-Za-z0-9+/]*(?:[0-9+/=]|[a-z][A-Z]))[A-Za-z0-9+/]{8,512}={0,2}(?![\w-])/g,
    hint: /basic/i,
  },
  ...SECRET_FORMS.map(({ source, flags }) => ({ form: new RegExp(source, `${flags}g`) })),
  // What is named: `password=…`, `"apiKey": "…"`, `DB_PASSWORD: …`, `--token …` with a sign between.
  {
    form: /(?<before>(?:^|[^A-Za-z0-9])(?:[A-Za-z0-9]{1,40}[_.-]){0,6}(?:pass(?:word|wd|phrase)|pwd|secret|secret[_-]?key|(?:api|access|auth|private|signing|encryption|account|shared[_-]?access)[_-]?key|(?:access|auth|api|refresh|bearer|session|id)?[_-]?token|client[_-]?secret|credentials?)["'`]?\s{0,4}(?::=|=>|=|:)\s{0,4}["'`]?)(?![\s"'`])(?:[^\s"'`;,&<>()]|&(?!\w{1,64}=)){4,512}/gi,
    hint: /pass|pwd|secret|key|token|credential/i,
  },
]
