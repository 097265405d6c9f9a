import { isSecretText } from './secret-text.ts'

/** Keeps a value, and answers the reference to it. */
export type Keep = (value: string) => string

/** Where credentials go that are taken out of an entry. */
export interface Shelf {
  readonly secrets: Record<string, string>
  /** What those would be called that had to stay. */
  readonly left: Set<string>
  readonly isToRun: boolean
  /** Keeps a text under this name. */
  named(name: string): Keep
  /** Keeps a text under this name of this upstream. */
  own(name: string): Keep
}

interface ShelfOptions {
  readonly upstream: string
  /** A name that the entry refers to already means another secret. */
  readonly taken: ReadonlySet<string>
  readonly isToRun: boolean
}

export function createShelf({ upstream, taken, isToRun }: ShelfOptions): Shelf {
  const secrets: Record<string, string> = {}
  const isFree = (name: string, value: string) => !taken.has(name) && (secrets[name] ?? value) === value
  const named = (wanted: string) => (text: string) => {
    const name = wanted.replace(/[^\w.-]+/g, '_').replace(/^_+|_+$/g, '') || 'SECRET'
    return mapSecretPieces(text, value => {
      const free = freeName(name, candidate => isFree(candidate, value))
      secrets[free] = value
      return `\${secret:${free}}`
    })
  }
  const own = (name: string) => named(variableName(`${upstream}_${name}`))
  return { secrets, left: new Set(), isToRun, named, own }
}

/** Nothing is filled in in a secret, so references stay where they are: of `postgres://me:pw@${HOST}/db` what stands before goes. */
function mapSecretPieces(text: string, keep: Keep): string {
  const pieces = text.split(REFERENCE)
  if (pieces.length === 1) return keep(text)
  const isLiteral = (_: string, i: number) => i % 2 === 0
  const literals = pieces.filter(isLiteral)
  const bySight = literals.filter(piece => isSecretText('', piece))
  const secret = new Set(bySight.length > 0 ? bySight : literals.filter(piece => piece.length >= SHORTEST))
  return pieces.map((piece, i) => (isLiteral(piece, i) && secret.has(piece) ? keep(piece) : piece)).join('')
}

/** Also one that is written so that it means the characters themselves. */
const REFERENCE = /(\$?\$\{[^}]*\})/

/** What is shorter beside a reference is the end of an address, or a sign between two. */
const SHORTEST = 6

/** `api-key` → `API_KEY`. */
export function variableName(name: string): string {
  return name.replace(/-/g, '_').toUpperCase()
}

/** The names of the secrets that texts refer to, however deep they stand. */
export function secretNamesOf(value: unknown): Set<string> {
  const found = (JSON.stringify(value) ?? '').matchAll(/\$\{secret:([\w.-]+)\}/g)
  return new Set([...found].map(([, name = '']) => name))
}

/** The name, or the name with the first number that makes it free. */
export function freeName(name: string, isFree: (candidate: string) => boolean): string {
  if (isFree(name)) return name
  for (let number = 2; ; number++) if (isFree(`${name}_${number}`)) return `${name}_${number}`
}
