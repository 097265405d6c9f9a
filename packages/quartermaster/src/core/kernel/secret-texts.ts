/** Replaces what must not be seen. */
export type Redact = (text: string) => string

export interface SecretTexts {
  readonly redact: Redact
  /** Of the longest one, so that nobody cuts a text through the middle of it. */
  readonly longest: number
}

/** A line of a secret of several lines is one itself, from this length on; shorter ones are brackets and the like. */
const SHORTEST_LINE = 8

/** Knows these secrets in any text, as they are and as they are written in JSON and addresses. */
export function createSecretTexts(secrets: readonly string[]): SecretTexts {
  const texts = [...new Set(secrets.flatMap(spellings))].sort((a, b) => b.length - a.length)
  const [first] = texts
  if (first === undefined) return { redact: text => text, longest: 0 }
  // In one go: a short secret might otherwise be found in what stands for a longer one.
  const pattern = new RegExp(texts.map(text => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g')
  return { redact: text => text.replace(pattern, '[secret]'), longest: first.length }
}

function spellings(secret: string): string[] {
  const lines = secret.split(/\r?\n/).filter(line => line.length >= SHORTEST_LINE)
  const known = [secret, ...lines].filter(text => text !== '')
  return known.flatMap(text => [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text.replace(/\p{Surrogate}/gu, '')),
  ])
}
