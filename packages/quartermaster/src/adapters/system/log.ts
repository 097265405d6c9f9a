import { messageOf, type Settings, stackOf } from '../../contracts/index.ts'
import { type Log, toSafeJson } from '../../core/kernel/index.ts'
import { isName, mask, REDACTED } from '../../core/secrets/index.ts'

type Level = keyof Log
const ORDER: readonly Settings['logLevel'][] = ['debug', 'info', 'warn', 'error', 'silent']

type WriteEntry = (level: Level, message: string, fields: Record<string, unknown> | undefined) => void

/**
 * Passes on what is at or above the level, without what looks like a credential. The level is asked each time, because it
 * may be read later than the first line.
 */
export function createLevelledLog(threshold: () => Settings['logLevel'], write: WriteEntry): Log {
  const at =
    (level: Level): Log[Level] =>
    (message, fields) => {
      if (ORDER.indexOf(level) < ORDER.indexOf(threshold())) return
      write(level, redactText(message), fields && redactFields(fields))
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Writes one JSON line per event: time, level and message, then the facts, which cannot take their places. */
export function createJsonLog(options: { write: (line: string) => void; level: () => Settings['logLevel'] }): Log {
  return createLevelledLog(options.level, (level, message, fields) => {
    const head = { time: new Date().toISOString(), level, message }
    // The log may be read on a terminal.
    options.write(`${toSafeJson(JSON.stringify({ ...head, ...fields, ...head }))}\n`)
  })
}

/** For programs that want no lines. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/**
 * A copy of a log line's fields that can be written: nothing in it that looks like a credential, and nothing that JSON
 * cannot say. The log is the last place before a secret is out, so it does not trust the writer of the line.
 */
function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const shown = redactValue(fields, [])
  return typeof shown === 'object' && shown !== null ? { ...shown } : { fields: shown }
}

/** A text without what looks like a credential. */
function redactText(text: string): string {
  const shown = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}… (${text.length} characters)` : text
  const withoutHeaders = WIRE_FORMS.reduce((left, form) => left.replace(form, `$1${REDACTED}`), shown)
  return mask(withoutHeaders).text.replace(UNMARKED_TOKEN, word => (isName(word) ? word : REDACTED))
}

/** Credentials as they travel, and our own tokens wherever they stand. `mask` spares some of them, for prose. */
const WIRE_FORMS = [
  /\b((?:bearer|basic)\s+)[\w.~+/=-]{8,}/gi,
  /(qm(?:join)?_)[\w-]{43}/g,
  /(:\/\/)[^\s/@:]+:[^\s/@]+(?=@)/g,
]

/** A tool that writes a whole file into a log line means no harm and does some. */
const LONGEST_TEXT = 16 * 1024
const DEEPEST = 8
const MOST_ENTRIES = 1_000

/** 256 bits in base64url, as the admin token has them. A name of a tool may be as long; a hash is longer, and a path has more around it. */
const UNMARKED_TOKEN = /(?<![\w/+.-])[\w-]{43}(?![\w/+=.-])/g

/** Fields whose name says what they hold, its words parted by hyphens. Ids of tokens are no tokens. */
const SECRET_NAME = /^(.*[-_.])?(authorization|cookie|password|passphrase|secret|token|api[-_]?key|private[-_]?key)$/i

function redactObject(value: object, around: readonly object[]): Record<string, unknown> {
  const entries = Object.entries(value).slice(0, MOST_ENTRIES)
  return Object.fromEntries(
    entries.map(([key, child]) => [key, isSecret(key, child) ? REDACTED : redactValue(child, around)]),
  )
}

function isSecret(name: string, value: unknown): boolean {
  // Whether there is one is no secret.
  if (value === null || value === undefined || typeof value === 'boolean') return false
  // "accessToken" and "DBPassword" have words too.
  const words = name.replace(/([a-z\d])([A-Z])/g, '$1-$2').replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
  return SECRET_NAME.test(name) || SECRET_NAME.test(words)
}

function redactValue(value: unknown, around: readonly object[]): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (around.includes(value) || around.length >= DEEPEST) return '[left out]'
  if (value instanceof Error) return redactText(stackOf(value))
  const inside = [...around, value]
  try {
    if (Array.isArray(value)) return value.slice(0, MOST_ENTRIES).map(one => redactValue(one, inside))
    return 'toJSON' in value && typeof value.toJSON === 'function'
      ? redactValue(value.toJSON(), inside)
      : redactObject(value, inside)
  } catch (error) {
    // A foreign getter that throws must not break the code that logs.
    return `[${redactText(messageOf(error))}]`
  }
}
