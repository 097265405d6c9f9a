import { FILLED_IN, secretPieces } from './looks-like-secret.ts'

/** Keeps a value, and answers with the reference to it. */
export type Keep = (value: string) => string

/** Collects the credentials that are taken out of an entry. */
export interface SecretStore {
  readonly secrets: Record<string, string>
  /** Names for those that had to stay in the entry. */
  readonly left: Set<string>
  readonly isToRun: boolean
  readonly isToShow: boolean
  /** Keeps a text under this name. */
  named(name: string): Keep
  /** Keeps a text under this name of this upstream. */
  own(name: string): Keep
}

export type StoreOptions = Partial<Pick<SecretStore, 'isToRun' | 'isToShow'>>

/** A new collection. `taken`: names that already mean another secret. */
export function createSecretStore(
  upstream: string,
  taken: ReadonlySet<string> = new Set(),
  { isToRun = false, isToShow = false }: StoreOptions = {},
): SecretStore {
  const secrets: Record<string, string> = {}
  const named = (wanted: string) => (text: string) => {
    const name = wanted.replace(/[^\w.-]+/g, '_').replace(/^_+|_+$/g, '') || 'SECRET'
    return mapSecretPieces(name, text, value => {
      const free = freeName(name, candidate => !taken.has(candidate) && (secrets[candidate] ?? value) === value)
      secrets[free] = value
      return `\${secret:${free}}`
    })
  }
  const own = (name: string) => named(variableName(`${upstream}_${name}`))
  return { secrets, left: new Set(), isToRun, isToShow, named, own }
}

/** A kept secret cannot hold a reference, so references stay in the entry: of `postgres://me:pw@${HOST}/db` the part before goes. */
export function mapSecretPieces(name: string, text: string, keep: Keep): string {
  const pieces = text.split(FILLED_IN)
  if (pieces.length === 1) return keep(text)
  const secret = new Set(secretPieces(name, pieces))
  const between = text.match(new RegExp(FILLED_IN, 'gu')) ?? []
  return pieces.map((piece, i) => `${secret.has(piece) ? keep(piece) : piece}${between[i] ?? ''}`).join('')
}

/** `api-key` → `API_KEY`. */
export function variableName(name: string): string {
  return name.replace(/-/g, '_').toUpperCase()
}

/** The names of all secrets that a value refers to. */
export function secretNamesOf(value: unknown): Set<string> {
  const found = (JSON.stringify(value) ?? '').matchAll(/\$\{secret:([\w.-]+)\}/g)
  return new Set([...found].map(([, name = '']) => name))
}

/** The name, or the name with the first number that makes it free. */
export function freeName(name: string, isFree: (candidate: string) => boolean): string {
  if (isFree(name)) return name
  for (let number = 2; ; number++) if (isFree(`${name}_${number}`)) return `${name}_${number}`
}
