import { FILLED_IN, secretPieces } from './secret-text.ts'

/** Keeps a value, and answers the reference to it. */
export type Keep = (value: string) => string

/** Where credentials go that are taken out of an entry. */
export interface SecretStore {
  readonly secrets: Record<string, string>
  /** What those would be called that had to stay. */
  readonly left: Set<string>
  readonly isToRun: boolean
  readonly isToShow: boolean
  /** Keeps a text under this name. */
  named(name: string): Keep
  /** Keeps a text under this name of this upstream. */
  own(name: string): Keep
}

interface StoreOptions {
  readonly upstream: string
  /** A name that the entry refers to already means another secret. */
  readonly taken: ReadonlySet<string>
  readonly isToRun?: boolean
  readonly isToShow?: boolean
}

export function createSecretStore({ upstream, taken, isToRun = false, isToShow = false }: StoreOptions): SecretStore {
  const secrets: Record<string, string> = {}
  const isFree = (name: string, value: string) => !taken.has(name) && (secrets[name] ?? value) === value
  const named = (wanted: string) => (text: string) => {
    const name = wanted.replace(/[^\w.-]+/g, '_').replace(/^_+|_+$/g, '') || 'SECRET'
    return mapSecretPieces(name, text, value => {
      const free = freeName(name, candidate => isFree(candidate, value))
      secrets[free] = value
      return `\${secret:${free}}`
    })
  }
  const own = (name: string) => named(variableName(`${upstream}_${name}`))
  return { secrets, left: new Set(), isToRun, isToShow, named, own }
}

/** Nothing is filled in in a secret, so references stay where they are: of `postgres://me:pw@${HOST}/db` what stands before goes. */
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
