import { isKeyLike, isPasswordLike, isSecretName, isSecretText, isWebhookName } from './secret-text.ts'

/** An entry of `mcpServers` with references where its credentials stood, and the credentials by name. */
export interface SeparatedEntry {
  readonly entry: Record<string, unknown>
  readonly secrets: Record<string, string>
}

/** Takes what looks like a credential out of an entry: wherever its name says so, and by its form where such things stand. */
export function separateSecrets(upstream: string, entry: Readonly<Record<string, unknown>>): SeparatedEntry {
  const shelf = createShelf(upstream, secretNamesOf(entry))
  const { env, headers, args, url, tools: _tools, ...rest } = entry
  return {
    entry: {
      ...entry,
      ...(isTexts(env) && { env: mapTexts(env, (key, text) => hide(key, text, shelf.named(key))) }),
      ...(isTexts(headers) && { headers: mapTexts(headers, (key, text) => hide(key, text, shelf.own(key))) }),
      ...(Array.isArray(args) && { args: args.map((word, i) => hideArgument(word, args[i - 1], shelf)) }),
      ...(typeof url === 'string' && { url: hideInUrl(url, shelf) }),
      // What is said about its tools is for everybody to read, examples of arguments included.
      ...hideDeeper(rest, { shelf, path: [] }),
    },
    secrets: shelf.secrets,
  }
}

type Keep = (value: string) => string

interface Shelf {
  readonly secrets: Record<string, string>
  /** Keeps a text under this name. */
  named(name: string): Keep
  /** Keeps a text under this name of this upstream. */
  own(name: string): Keep
}

/** A name that the entry refers to already means another secret. */
function createShelf(upstream: string, taken: ReadonlySet<string>): Shelf {
  const secrets: Record<string, string> = {}
  const isFree = (name: string, value: string) => !taken.has(name) && (secrets[name] ?? value) === value
  const named = (wanted: string) => (value: string) => {
    const name = wanted.replace(/[^\w.-]+/g, '_').replace(/^_+|_+$/g, '') || 'SECRET'
    const free = freeName(name, candidate => isFree(candidate, value))
    secrets[free] = value
    return `\${secret:${free}}`
  }
  return { secrets, named, own: name => named(`${upstream}_${name}`.replace(/-/g, '_').toUpperCase()) }
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

function isTexts(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null && Object.values(value).every(text => typeof text === 'string')
}

function mapTexts(texts: Record<string, string>, map: (key: string, text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, map(key, text)]))
}

/** The scheme before a credential stays: it is no secret, and someone may want to read it. */
const SCHEME = /^((?:[\w-]+:\s*)?(?:bearer|basic|token)\s+)(\S+)$/i

function hide(name: string, text: string, keep: Keep): string {
  if (!isSecretText(name, text)) return text
  const [, scheme, credential] = SCHEME.exec(text) ?? []
  return scheme !== undefined && credential !== undefined ? `${scheme}${keep(credential)}` : keep(text)
}

interface Place {
  readonly shelf: Shelf
  readonly path: readonly string[]
}

/** `oauth.clientSecret`, `agents.analyst.headers.Authorization`, and whatever else is called like a credential. */
function hideDeeper(fields: object, { shelf, path }: Place): Record<string, unknown> {
  const holdsCredentials = CREDENTIALS.has(path.at(-1) ?? '')
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]: [string, unknown]) => {
      const here = [...path, key]
      if (typeof value === 'string') {
        const isOne = holdsCredentials || isSecretName(key)
        return [key, isOne ? hide(key, value, shelf.own(nameOf(here))) : value]
      }
      return [key, isFields(value) ? hideDeeper(value, { shelf, path: here }) : value]
    }),
  )
}

const CREDENTIALS: ReadonlySet<string> = new Set(['env', 'headers'])

/** `oauth`, `clientSecret` → `client_secret`: of where it stands only whose it is has to be told. */
function nameOf(path: readonly string[]): string {
  const words = path.filter(key => !CREDENTIALS.has(key) && key !== 'agents' && key !== 'oauth')
  return words.join('_').replace(/([a-z\d])([A-Z])/g, '$1_$2')
}

function isFields(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The options behind which something stands that may be a credential by its place and is none by its form: `-p hunter2` may as
 * well name a profile.
 */
export function doubtfulOptions(args: readonly unknown[]): string[] {
  const found = args.flatMap((word, i) => {
    const before = args[i - 1]
    const isDoubtful = typeof before === 'string' && MAY_BE_A_KEY.test(before)
    return isDoubtful && typeof word === 'string' && isPasswordLike(word) ? [before] : []
  })
  return [...new Set(found)]
}

/** What programs call a key, a password, a secret and a token in short, among other things. */
const MAY_BE_A_KEY = /^-[kpstKPST]$/

/** Options whose name says nothing, or means a name with most programs. */
const SAYS_NOTHING = /^(?:[A-Za-z]|profile)$/

/** `--api-key VALUE`, `--api-key=VALUE`, `-e KEY=VALUE`, `--header "Authorization: Bearer VALUE"`, addresses. */
function hideArgument(word: unknown, before: unknown, shelf: Shelf): unknown {
  if (typeof word !== 'string') return word
  const [, option, flag = 'H', value = ''] = /^(--?([\w.-]+)=|-H)(.+)$/s.exec(word) ?? []
  if (option !== undefined) return `${option}${hideValue(flag, value, shelf)}`
  if (word.startsWith('-')) return word
  const [, flagBefore = ''] = /^--?([\w.-]+)$/.exec(typeof before === 'string' ? before : '') ?? []
  return hideValue(flagBefore, word, shelf)
}

/** What stands behind a flag, or by itself where there is none. */
function hideValue(flag: string, text: string, shelf: Shelf): string {
  const [, name, sign, value] = /^([\w.-]+)(=|:\s*)(?!\/\/)(.+)$/s.exec(text) ?? []
  if (name !== undefined && value !== undefined && isSecretText(name, value)) {
    const isVariable = sign === '=' && !/^H$|header/i.test(flag)
    return `${name}${sign}${hide(name, value, isVariable ? shelf.named(name) : shelf.own(name))}`
  }
  if (/^https?:\/\//i.test(text) && !isSecretName(flag) && !isWebhookName(flag)) return hideInUrl(text, shelf)
  const isKey = SAYS_NOTHING.test(flag) && isKeyLike(text)
  return isKey ? shelf.own(flag)(text) : hide(flag, text, shelf.own(flag === '' ? 'argument' : flag))
}

function hideInUrl(url: string, shelf: Shelf): string {
  return url
    .replace(/^([a-z]+:\/\/)([^/@\s]+)@/i, (all: string, scheme: string, user: string) =>
      user.includes('${') ? all : `${scheme}${shelf.own('login')(user)}@`,
    )
    .replace(/^([a-z]+:\/\/[^/?#]+\/)([^?#]+)/i, (all: string, origin: string, path: string) =>
      isOpenToAll(all) ? `${origin}${shelf.own('path')(path)}` : `${origin}${hideInPath(path, shelf)}`,
    )
    .replace(/([?&])([^=&#]+)=([^&#]+)/g, (all: string, mark: string, key: string, value: string) =>
      isSecretText(key, value) ? `${mark}${key}=${shelf.own(key)(value)}` : all,
    )
}

/** Whether all of its path is one key. */
function isOpenToAll(address: string): boolean {
  return !address.includes('${') && isSecretText('', address)
}

function hideInPath(path: string, shelf: Shelf): string {
  return path
    .split('/')
    .map(piece => (isSecretText('', piece) ? shelf.own('path')(piece) : piece))
    .join('/')
}
