/** Replaces what must not be seen. */
export type Redact = (text: string) => string

/** `isCut`: the text itself is the beginning of a longer one. `isWhole`: nothing of it is missing. */
type RedactStart = (
  text: string,
  most: number,
  options?: { readonly isCut?: boolean },
) => { readonly text: string; readonly isWhole: boolean }

export interface SecretRedactor {
  readonly redact: Redact
  /**
   * The beginning of a text, masked before it is cut, so that no part of a secret is at its end. A mask is mostly shorter than
   * its secret, so more of the text may be shown than `most` characters of it.
   */
  readonly redactStart: RedactStart
  /** The length of the longest secret in its longest spelling, so that callers cut no text through the middle of one. */
  readonly longest: number
}

/** A line of a multi-line secret counts as a secret from this length on; shorter ones are brackets and the like. */
const SHORTEST_LINE = 8

/** Masks these secrets in any text, plain and as JSON or URLs spell them. */
export function createSecretRedactor(secrets: readonly string[]): SecretRedactor {
  const texts = [...new Set(secrets.flatMap(withLines))].sort((a, b) => b.length - a.length)
  if (texts.length === 0) return { redact: text => text, redactStart: startOf(text => text, NO_START), longest: 0 }
  const spelled = texts.map(text => (text.match(PIECE) ?? []).map(spellingsOf))
  // One pattern: a short secret might otherwise be found in the mask of a longer one.
  const pattern = new RegExp(spelled.map(characters => characters.map(anyOf).join('')).join('|'), 'g')
  const longest = Math.max(...spelled.map(characters => characters.reduce((sum, one) => sum + longestOf(one), 0)))
  const redact: Redact = text => text.replace(pattern, MASK)
  return { redact, redactStart: startOf(redact, { pattern, longest }), longest }
}

const MASK = '[secret]'

interface KnownSecrets {
  readonly pattern: RegExp
  readonly longest: number
}

const NO_START: KnownSecrets = { pattern: /(?!)/g, longest: 0 }

function startOf(redact: Redact, known: KnownSecrets): RedactStart {
  return (text, most, { isCut = false } = {}) => {
    const head = text.slice(0, most + known.longest)
    const isAll = !isCut && head.length === text.length
    const masked = isAll ? redact(head) : redactedHead(head, known)
    const isWhole = isAll && masked.length <= most
    return { text: isWhole ? masked : masked.slice(0, most).replace(/[\ud800-\udbff]$/, ''), isWhole }
  }
}

/** A secret that begins before `end` is complete in `head`; a later one may be cut in two. */
function redactedHead(head: string, { pattern, longest }: KnownSecrets): string {
  const end = Math.max(0, head.length - longest + 1)
  const pieces: string[] = []
  let from = 0
  for (const { 0: found, index } of head.matchAll(pattern)) {
    if (index >= end) break
    pieces.push(head.slice(from, index), MASK)
    from = index + found.length
  }
  return [...pieces, head.slice(from, Math.max(from, end))].join('')
}

function withLines(secret: string): string[] {
  const lines = secret.split(/\r?\n/).filter(line => line.length >= SHORTEST_LINE)
  return [secret, ...lines].filter(text => text !== '')
}

/** A run of backslashes is one piece, because each could be one or half of one, in more ways than can be tried. */
const PIECE = /\\+|[\s\S]/gu

/** A character plain and as writers of JSON and URLs escape it. None escapes letters and digits. */
function spellingsOf(character: string): string[] {
  if (/^[A-Za-z0-9]$/.test(character)) return [character]
  const units = Array.from({ length: character.length }, (_, i) =>
    character.charCodeAt(i).toString(16).padStart(4, '0'),
  )
  return [
    ...new Set([
      character,
      JSON.stringify(character).slice(1, -1),
      units.map(unit => `\\u${unit}`).join(''),
      ...(character === '/' ? ['\\/'] : []),
      ...(character === ' ' ? ['+'] : []),
      ...percents(character),
    ]),
  ]
}

/** Half a surrogate pair has no place in a URL. */
function percents(character: string): string[] {
  if (/\p{Surrogate}/u.test(character)) return []
  return [[...new TextEncoder().encode(character)].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')]
}

function anyOf(spellings: readonly string[]): string {
  const patterns = spellings.map(patternOf)
  return patterns.length === 1 ? (patterns[0] ?? '') : `(?:${patterns.join('|')})`
}

/**
 * Hexadecimal digits match in either case. JSON inside JSON has more backslashes; the number is bounded, or a long row would be
 * scanned again from each of its places.
 */
function patternOf(spelling: string): string {
  const plain = spelling.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  if (!ESCAPED.test(spelling)) return plain
  return plain
    .replace(/^%.*|u[0-9a-f]{4}/g, code => code.replace(/[a-f]/g, digit => `[${digit}${digit.toUpperCase()}]`))
    .replaceAll('\\\\', `\\\\{1,${MOST_BACKSLASHES}}`)
}

const ESCAPED = /^(?:\\[u/]|%.)/
const MOST_BACKSLASHES = 7

/** The length of a character in its longest spelling. */
function longestOf(spellings: readonly string[]): number {
  const lengths = spellings.map(spelling => {
    const backslashes = ESCAPED.test(spelling) ? spelling.split('\\').length - 1 : 0
    return spelling.length + backslashes * (MOST_BACKSLASHES - 1)
  })
  return Math.max(...lengths)
}

const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/**
 * Parses JSON with the secrets in its keys and values masked. Masking the text would miss other spellings, and a masked number
 * would leave no JSON. Throws what `JSON.parse` throws.
 */
export function redactedJson(text: string, redact: Redact): unknown {
  // Parsed first: in a text that is no JSON, the search for tokens may take as long as its author wants.
  const value: unknown = JSON.parse(text)
  // Numbers are masked as they are written, because a long one changes when it is parsed.
  const quoted = text.replace(STRING_OR_NUMBER, token =>
    token.startsWith('"') || redact(token) === token ? token : JSON.stringify(redact(token)),
  )
  return redactedValue(quoted === text ? value : JSON.parse(quoted), redact)
}

function redactedValue(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map(item => redactedValue(item, redact))
  if (typeof value !== 'object' || value === null) return value
  return redactedObject(Object.entries(value), redact)
}

/** Keys that become equal are numbered, so that none replaces another. */
function redactedObject(members: readonly (readonly [string, unknown])[], redact: Redact): unknown {
  const redacted = new Map<string, unknown>()
  const counts = new Map<string, number>()
  for (const [key, item] of members) {
    const masked = redact(key)
    let name = masked
    for (let count = counts.get(masked) ?? 2; redacted.has(name); count++) {
      name = `${masked} ${count}`
      counts.set(masked, count + 1)
    }
    redacted.set(name, redactedValue(item, redact))
  }
  return Object.fromEntries(redacted)
}
