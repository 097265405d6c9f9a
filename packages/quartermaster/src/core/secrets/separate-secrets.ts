import type { UpstreamConfig } from '../../contracts/index.ts'
import { emptyHeaderReason } from '../kernel/index.ts'
import { hide, hideArguments, hideInCommand, hideInUrl } from './argument-secrets.ts'
import type { Redact } from './known-secrets.ts'
import { isSecretName, looksLikeSecret } from './looks-like-secret.ts'
import { createSecretStore, type Keep, type SecretStore, type StoreOptions, secretNamesOf } from './secret-store.ts'

/** An entry of `mcpServers` with references in place of its credentials, and the credentials by name. */
interface SeparatedEntry {
  readonly entry: Record<string, unknown>
  readonly secrets: Record<string, string>
  /** What a person should know about credentials that stay in the entry. */
  readonly note?: string | undefined
}

/**
 * Takes what looks like a credential out of an entry, by its name or by its form. `isToRun`: the entry is to run as it comes back,
 * so scripts, and what may be code or no secret, stay. `isToShow`: a person is to see it before it runs, so what may be a package,
 * a file or a module that runs stays.
 */
export function separateSecrets(upstream: string, entry: Entry, options: StoreOptions = {}): SeparatedEntry {
  const store = createSecretStore(upstream, secretNamesOf(entry), options)
  const separated = withoutSecrets(entry, store)
  const fallbacks = secretFallbacks(separated)
  if (fallbacks.length > 0 && !options.isToRun) return withoutFallbacks(upstream, entry, options)
  const notes = [
    ...(store.left.size > 0 ? [leftNote([...store.left])] : []),
    ...(fallbacks.length > 0 ? [fallbackNote(fallbacks)] : []),
  ]
  return { entry: separated, secrets: store.secrets, note: notes.length > 0 ? notes.join(' ') : undefined }
}

type Entry = Readonly<Record<string, unknown>>

function withoutSecrets(entry: Entry, store: SecretStore): Record<string, unknown> {
  const { env, headers, command, args, url, tools: _tools, ...rest } = entry
  return {
    ...entry,
    ...(isTexts(env) && { env: mapTexts(env, (key, text) => hide(key, text, store.named(key))) }),
    ...(isTexts(headers) && {
      headers: mapTexts(headers, (key, text) =>
        // A scheme alone in `Authorization` is no credential. In any other header a single word may well be one.
        emptyHeaderReason(key, text) === undefined ? hide(key, text, store.own(key)) : text,
      ),
    }),
    ...(typeof command === 'string' && { command: hideInCommand(command, store) }),
    ...(Array.isArray(args) && { args: hideArguments(command, args, store) }),
    ...(typeof url === 'string' && { url: hideInUrl(url, store) }),
    // `tools` is left out: what it says about tools, examples of arguments included, is for everybody to read.
    ...hideDeeper(rest, store, []),
  }
}

/** The entry with every fallback in the place of its reference, so that fallbacks are examined like any other value. */
function withoutFallbacks(upstream: string, entry: Entry, options: StoreOptions = {}): SeparatedEntry {
  const store = createSecretStore(upstream, secretNamesOf(entry), options)
  const { tools, ...rest } = entry
  const open = { ...(withFallbacks(rest, store.named) as Entry), ...(tools !== undefined && { tools }) }
  return { entry: withoutSecrets(open, store), secrets: store.secrets }
}

/** Names for the secrets that stand as fallbacks: `${DB_PASSWORD:-hunter2}`. */
function secretFallbacks(entry: Entry): string[] {
  if (!JSON.stringify(entry).includes('${')) return []
  const store = createSecretStore('')
  withoutSecrets(entry, store)
  const known = new Set(Object.values(store.secrets))
  const found = Object.entries(withoutFallbacks('', entry).secrets)
  return found.flatMap(([name, value]) => (known.has(value) ? [] : [name]))
}

function fallbackNote(names: readonly string[]): string {
  return (
    `What stands behind ":-" looks like a secret (${names.join(', ')}) and is left there, because a fallback cannot be a reference ` +
    'itself. Put it into secrets.json and write "${secret:NAME}" in place of the whole "${…:-…}", or leave the fallback out.'
  )
}

function leftNote(names: readonly string[]): string {
  return (
    `What looks like a secret in its command (${names.join(', ')}) is part of a script or of other code, and is left there. ` +
    'Give it by "env", and let the script name that variable: $NAME or $${NAME}, because ${NAME} is filled in before the shell runs.'
  )
}

function isTexts(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null && Object.values(value).every(text => typeof text === 'string')
}

function mapTexts(texts: Record<string, string>, map: (key: string, text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, map(key, text)]))
}

/** `oauth.clientSecret`, `agents.analyst.headers.Authorization`, and whatever else is called like a credential. */
function hideDeeper(fields: object, store: SecretStore, path: readonly string[]): Record<string, unknown> {
  const holdsCredentials = CREDENTIALS.has(path.at(-1) ?? '')
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]: [string, unknown]) => {
      const here = [...path, key]
      if (typeof value === 'string') {
        const isCredential = holdsCredentials || isSecretName(key)
        return [key, isCredential ? hide(key, value, store.own(nameOf(here))) : value]
      }
      const isFields = typeof value === 'object' && value !== null && !Array.isArray(value)
      return [key, isFields ? hideDeeper(value, store, here) : value]
    }),
  )
}

const CREDENTIALS: ReadonlySet<string> = new Set(['env', 'headers'])

/** `oauth`, `clientSecret` → `client_secret`: only the name of the agent, if any, says more than the key. */
function nameOf(path: readonly string[]): string {
  const words = path.filter(key => !CREDENTIALS.has(key) && key !== 'agents' && key !== 'oauth')
  return words.join('_').replace(/([a-z\d])([A-Z])/g, '$1_$2')
}

/** `${NAME:-text}`, and the other ways to write that. From the innermost on. */
const FALLBACK = /\$?\$\{(?:env:)?(\w+):?[-=+]((?:\$?\$\{(?:env:)?\w+\}|(?!\$\{)[^}]){0,1000})\}/g

/** A value with its fallbacks in place of their references, at any depth; fallbacks that look like a secret by the variable's name are kept. */
function withFallbacks(value: unknown, keepAs: (name: string) => Keep): unknown {
  if (Array.isArray(value)) return value.map(item => withFallbacks(item, keepAs))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withFallbacks(item, keepAs)]))
  }
  if (typeof value !== 'string') return value
  let [before, after] = ['', value]
  while (after !== before) {
    before = after
    after = before.replace(FALLBACK, (_all, name: string, fallback: string) =>
      // What a variable or a command gives is not known here.
      /^[$`]/.test(fallback) || !looksLikeSecret(name, fallback) ? fallback : keepAs(name)(fallback),
    )
  }
  return after
}

/** The program of a server with its arguments, or its address, for people. What looks like a credential is left out. */
export function targetText(config: UpstreamConfig, redact: Redact): string {
  if (config.wrong !== undefined) return ''
  const { command, args, url } = separateSecrets('', config).entry
  // Without user and query: either may be a key, whatever it looks like.
  const address = (text: string) => text.replace(/^([a-z]+:\/\/)[^/?#]*@/i, '$1').replace(/[?#].*$/s, '')
  const text = typeof url === 'string' ? address(url) : [command, ...(Array.isArray(args) ? args : [])].join(' ')
  // References first: a known secret of three letters, masked everywhere, would leave nothing to read.
  return redact(masked(text))
}

/** The program alone, for people, also where a whole line stands in its place. */
export function commandText(command: string): string {
  return masked(String(separateSecrets('', { command }).entry['command']))
}

function masked(text: string): string {
  return text.replace(/\$\{secret:[^}]*\}/g, '[secret]')
}
