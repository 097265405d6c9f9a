import type { UpstreamConfig } from '../../contracts/index.ts'
import { emptyHeader } from '../kernel/index.ts'
import { hide, hideArguments, hideInCommand, hideInUrl } from './argument-secrets.ts'
import type { Redact } from './known-secrets.ts'
import { isSecretName, looksLikeSecret } from './looks-like-secret.ts'
import { createSecretStore, type Keep, type SecretStore, secretNamesOf } from './script-secrets.ts'

/** An entry of `mcpServers` with references where its credentials stood, and the credentials by name. */
export interface SeparatedEntry {
  readonly entry: Record<string, unknown>
  readonly secrets: Record<string, string>
  /** What to know about those that were left where they stand. */
  readonly note?: string | undefined
}

interface SeparateOptions {
  /** The entry is to run as it comes back: what is in doubt, and what a shell would read, stays where it is. */
  readonly isToRun?: boolean
  /** The entry is for a person to see before it runs: what may be a package, a file or a module that runs stays, whatever it looks like. */
  readonly isToShow?: boolean
}

/** Takes what looks like a credential out of an entry: wherever its name says so, and by its form where such things stand. */
export function separateSecrets(
  upstream: string,
  entry: Entry,
  { isToRun = false, isToShow = false }: SeparateOptions = {},
): SeparatedEntry {
  const store = createSecretStore({ upstream, taken: secretNamesOf(entry), isToRun, isToShow })
  const separated = withoutSecrets(entry, store)
  const fallbacks = secretFallbacks(separated)
  if (fallbacks.length > 0 && !isToRun) return withoutFallbacks(upstream, entry, { isToShow })
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
    ...(isTexts(headers) && { headers: mapTexts(headers, (key, text) => hideInHeader(key, text, store)) }),
    ...(typeof command === 'string' && { command: hideInCommand(command, store) }),
    ...(Array.isArray(args) && { args: hideArguments(command, args, store) }),
    ...(typeof url === 'string' && { url: hideInUrl(url, store) }),
    // What is said about its tools is for everybody to read, examples of arguments included.
    ...hideDeeper(rest, { store, path: [] }),
  }
}

/** A scheme alone in `Authorization` is no credential. In any other header a single word may well be one. */
function hideInHeader(name: string, text: string, store: SecretStore): string {
  return emptyHeader(name, text) === undefined ? hide(name, text, store.own(name)) : text
}

/** The same with every fallback in the place of its reference, so that those which are secrets are found like any other. */
function withoutFallbacks(upstream: string, entry: Entry, options: SeparateOptions = {}): SeparatedEntry {
  const store = createSecretStore({ upstream, taken: secretNamesOf(entry), ...options })
  const { tools, ...rest } = entry
  const open = { ...(withFallbacks(rest, store.named) as Entry), ...(tools !== undefined && { tools }) }
  return { entry: withoutSecrets(open, store), secrets: store.secrets }
}

/** What those would be called that are still there as fallbacks. */
function secretFallbacks(entry: Entry): string[] {
  if (!JSON.stringify(entry).includes('${')) return []
  const store = createSecretStore({ upstream: '', taken: new Set() })
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
    `What looks like a secret in its command (${names.join(', ')}) has characters that a shell or a program may read as code, or stands ` +
    'in "${…}", and is left there. Give it by "env", and let the script name that variable: $NAME or $${NAME}, because ${NAME} is filled in before the ' +
    'shell runs.'
  )
}

function isTexts(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null && Object.values(value).every(text => typeof text === 'string')
}

function mapTexts(texts: Record<string, string>, map: (key: string, text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, map(key, text)]))
}

interface Place {
  readonly store: SecretStore
  readonly path: readonly string[]
}

/** `oauth.clientSecret`, `agents.analyst.headers.Authorization`, and whatever else is called like a credential. */
function hideDeeper(fields: object, { store, path }: Place): Record<string, unknown> {
  const holdsCredentials = CREDENTIALS.has(path.at(-1) ?? '')
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]: [string, unknown]) => {
      const here = [...path, key]
      if (typeof value === 'string') {
        const isOne = holdsCredentials || isSecretName(key)
        return [key, isOne ? hide(key, value, store.own(nameOf(here))) : value]
      }
      return [key, isFields(value) ? hideDeeper(value, { store, path: here }) : value]
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

/** `${NAME:-text}`, and the other ways in which shells write that; behind a second dollar sign it is a shell's. From the innermost on. */
const FALLBACK = /\$?\$\{(?:env:)?(\w+):?[-=+]((?:\$?\$\{(?:env:)?\w+\}|(?!\$\{)[^}]){0,1000})\}/g

/** A value with the fallbacks of its references in their place, however deep these stand; those that their variable's name gives away are kept. */
export function withFallbacks(value: unknown, keepAs: (name: string) => Keep): unknown {
  if (typeof value === 'string') return inText(value, keepAs)
  if (Array.isArray(value)) return value.map(item => withFallbacks(item, keepAs))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withFallbacks(item, keepAs)]))
}

function inText(text: string, keepAs: (name: string) => Keep): string {
  let [before, after] = ['', text]
  while (after !== before) {
    before = after
    after = before.replace(FALLBACK, (_all, name: string, fallback: string) =>
      isOfShell(fallback) || !looksLikeSecret(name, fallback) ? fallback : keepAs(name)(fallback),
    )
  }
  return after
}

/** What a variable or a command gives is none of ours to keep. */
function isOfShell(fallback: string): boolean {
  return /^[$`]/.test(fallback)
}

/** Where a server is, for people: the program and its arguments, or the address. What looks like a credential is left out. */
export function targetText(config: UpstreamConfig, redact: Redact): string {
  if (config.wrong !== undefined) return ''
  const { command, args, url } = separateSecrets('', config).entry
  const text = typeof url === 'string' ? addressOf(url) : [command, ...(Array.isArray(args) ? args : [])].join(' ')
  // Where it stands a credential of three letters is known too; masked everywhere, it would leave nothing to read.
  return redact(masked(text))
}

/** The program alone, for people. Where a whole line was written for it, what looks like a credential in that is left out. */
export function commandText(command: string): string {
  return masked(String(separateSecrets('', { command }).entry['command']))
}

function masked(text: string): string {
  return text.replace(/\$\{secret:[^}]*\}/g, '[secret]')
}

/** Without user and query: either may be a key, whatever it looks like. */
function addressOf(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^/?#]*@/i, '$1').replace(/[?#].*$/s, '')
}
