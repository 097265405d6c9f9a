import { sep } from 'node:path'
import type { ForeignQuestion } from '../../contracts/index.ts'
import { emptyHeaderReason } from '../../core/kernel/index.ts'
import { doubtfulArguments, freeName, secretNamesOf, separateSecrets } from '../../core/secrets/index.ts'
import {
  firstOperand,
  type ProgramLine,
  packageRunIn,
  programLines,
  withShellVariables,
} from '../../core/shell/index.ts'
import { isRecord, type WrittenServer } from './foreign-file.ts'
import { type EnvFile, isOfShell, leftToProgram, ownName, translateVariables } from './variables.ts'

/** What decides how an entry is translated. */
interface EntryScope extends OwnAddresses {
  readonly workspace: string
  readonly home: string
  /** The workspace of the entry, where that is not the project folder. */
  readonly cwd?: string | undefined
  /** Whether the client fills in `${NAME}` as well. */
  readonly isPlainFilledIn?: boolean | undefined
  readonly isEditor?: boolean | undefined
  /** Whether a person has refused the server in its client. */
  readonly isRefused?: boolean | undefined
  readonly envFile?: EnvFile | undefined
}

type TranslatedEntry =
  | { readonly skipped: string }
  | {
      readonly entry: Record<string, unknown>
      readonly secrets: Readonly<Record<string, string>>
      /** Whether the entry itself contains a secret, and not only its file of variables. */
      readonly holdsSecrets: boolean
      readonly asks: readonly ForeignQuestion[]
      readonly notes: readonly string[]
    }

/** An entry of another client as one of ours, or why that is not possible. */
export function translateEntry(name: string, written: WrittenServer, scope: EntryScope): TranslatedEntry {
  const { inputs } = written
  if (!isRecord(written.entry)) return { skipped: 'It is no object.' }
  const entry = Object.fromEntries(Object.entries(written.entry).filter(([, value]) => isThere(value)))
  const wrong = sizeFault(entry) ?? transportFault(entry) ?? shapeFault(entry)
  if (wrong !== undefined) return { skipped: wrong }
  if (isOurselves(entry, scope)) return { skipped: 'It is Quartermaster itself.' }
  const { entry: plain, left } = 'url' in entry ? httpEntry(entry) : stdioEntry(entry, { ...scope, inputs })
  const { value, asks, strange } = translateVariables(plain, { ...scope, inputs, separator: sep, upstream: name })
  if (strange.length > 0) return { skipped: `Only its own client can fill in ${strange.join(', ')}.` }
  const untaken = [...nullsIn(entry), ...left]
  const notes = untaken.length > 0 ? [`Not taken over: ${untaken.join(', ')}.`] : []
  const { variables, secrets } = takenFrom(scope.envFile, name, secretNamesOf(value))
  // The entry's own variables replace those of the file.
  const env = { ...variables, ...texts(value['env']) }
  const separated = separateSecrets(name, Object.keys(env).length > 0 ? { ...value, env } : value, { isToRun: true })
  return {
    entry: scope.isRefused ? { ...separated.entry, enabled: false } : separated.entry,
    secrets: { ...separated.secrets, ...secrets },
    holdsSecrets: Object.keys(separateSecrets(name, value, { isToRun: true }).secrets).length > 0,
    asks,
    notes: [
      ...(scope.isRefused ? [REFUSED] : []),
      ...notes,
      ...envFileNotes(scope.envFile),
      ...addressNotes(value),
      ...headerNotes(name, value),
      ...(separated.note === undefined ? [] : [separated.note]),
      ...doubtfulArguments(separated.entry),
    ],
  }
}

const REFUSED =
  'It was refused in Claude Code, so it is switched off here too. To have it, take "enabled": false out of its entry.'

/** The variables of a file are literal, so a text that we would read as a reference is stored as a secret. */
function takenFrom(envFile: EnvFile | undefined, upstream: string, taken: ReadonlySet<string>) {
  const variables: Record<string, string> = {}
  const secrets: Record<string, string> = {}
  for (const [key, text] of Object.entries(envFile && 'values' in envFile ? envFile.values : {})) {
    if (text.includes('${')) {
      const isFree = (candidate: string) => !taken.has(candidate) && (secrets[candidate] ?? text) === text
      const secret = freeName(ownName(upstream, key), isFree)
      variables[key] = `\${secret:${secret}}`
      secrets[secret] = text
    } else variables[key] = text
  }
  return { variables, secrets }
}

function envFileNotes(envFile: EnvFile | undefined): string[] {
  if (!envFile) return []
  if ('problem' in envFile) {
    return [`Its envFile ${envFile.file} ${envFile.problem}, so the variables in it are missing here.`]
  }
  const amount = Object.keys(envFile.values).length
  if (amount === 0) return []
  const [what, how] =
    amount === 1
      ? ['The variable', 'stands here as it is now']
      : [`The ${amount} variables`, 'stand here as they are now']
  return [`${what} of ${envFile.file} ${how}; import again when that file changes.`]
}

const HTTP_TYPES = ['http', 'streamable-http', 'streamableHttp', 'streamable_http']

function transportFault(entry: Record<string, unknown>): string | undefined {
  const { command, url, type = entry['transport'] ?? entry['transportType'] } = entry
  if (type === 'sse')
    return 'It uses the older transport "sse", which is not spoken here. Many such servers have a newer address.'
  if (url === undefined && command === undefined) return 'It has neither "command" nor "url".'
  if (url !== undefined && command !== undefined) return 'It has both "command" and "url".'
  if (typeof (url ?? command) !== 'string') return `Its "${url === undefined ? 'command' : 'url'}" is no text.`
  const allowed = url === undefined ? ['stdio'] : HTTP_TYPES
  if (type === undefined || allowed.includes(String(type))) return undefined
  return `Its type ${JSON.stringify(type)} does not go with "${url === undefined ? 'command' : 'url'}".`
}

/** The search for secrets in a longer text would take too long. */
const LONGEST_TEXT = 32_768
const LONGEST_ENTRY = 1024 * 1024

function sizeFault(entry: Record<string, unknown>): string | undefined {
  if (JSON.stringify(entry).length > LONGEST_ENTRY) return 'It is larger than 1 MiB.'
  const isLong = (value: unknown): boolean =>
    typeof value === 'string'
      ? value.length > LONGEST_TEXT
      : typeof value === 'object' && value !== null && Object.values(value).some(isLong)
  return isLong(entry) ? `It has a text of more than ${LONGEST_TEXT} characters.` : undefined
}

/** Ignoring a field of the wrong type could start another program than the entry means. */
function shapeFault({ args, env, headers }: Record<string, unknown>): string | undefined {
  if (isThere(args) && !(Array.isArray(args) && args.every(word => !isThere(word) || isPlain(word))))
    return 'Its "args" are no list of texts.'
  const wrong = Object.entries({ env, headers }).find(([, value]) => isThere(value) && !isRecord(value))
  return wrong && `Its "${wrong[0]}" is no object of names and texts.`
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** Nulls inside a field. A field that is null is like a missing one. */
function nullsIn({ args, env, headers }: Record<string, unknown>): string[] {
  const isNull = (value: unknown) => !isThere(value)
  const named = [env, headers].flatMap(texts =>
    isRecord(texts) ? Object.keys(texts).filter(key => isNull(texts[key])) : [],
  )
  const isAmong = Array.isArray(args) && args.some(isNull)
  return [...(isAmong ? ['null among its "args"'] : []), ...named.map(key => `null for "${key}"`)]
}

interface Plain {
  readonly entry: Record<string, unknown>
  /** Fields that we do not have. */
  readonly left: readonly string[]
}

function stdioEntry(written: Record<string, unknown>, scope: EntryScope & Pick<WrittenServer, 'inputs'>): Plain {
  const {
    type: _type,
    transport: _t,
    transportType: _tt,
    command,
    args,
    env,
    cwd,
    envFile,
    disabled,
    enabled,
    ...rest
  } = written
  const words = Array.isArray(args) ? args.filter(isPlain).map(String) : []
  const scripts = withShellVariables(String(command), words, body => isOfShell(body, scope))
  const variables = texts(env)
  const folder = typeof cwd === 'string' && cwd !== '' ? cwd : scope.cwd
  const entry = {
    command,
    ...(words.length > 0 && { args: scripts.map(word => leftToProgram(word, scope)) }),
    ...(Object.keys(variables).length > 0 && { env: variables }),
    ...(folder !== undefined && { cwd: folder }),
    ...(isOff(disabled, enabled) && { enabled: false }),
  }
  // An `envFile` that was not read is reported like every other field.
  const isTaken = envFile === undefined || scope.envFile !== undefined
  return { entry, left: [...(isTaken ? [] : ['envFile']), ...Object.keys(rest)] }
}

function httpEntry(written: Record<string, unknown>): Plain {
  const {
    type: _type,
    transport: _t,
    transportType: _tt,
    url,
    headers,
    oauth,
    auth,
    disabled,
    enabled,
    ...rest
  } = written
  const sent = texts(headers)
  const login = loginOf(oauth) ?? loginOf(auth)
  const entry = {
    type: 'http',
    url,
    ...(Object.keys(sent).length > 0 && { headers: sent }),
    ...(login && { oauth: login }),
    ...(isOff(disabled, enabled) && { enabled: false }),
  }
  return { entry, left: Object.keys(rest) }
}

/** The OAuth settings, which clients write in two forms. */
function loginOf(value: unknown): Record<string, string> | undefined {
  if (!isRecord(value)) return undefined
  const scopes = value['scopes'] ?? value['scope']
  const login = {
    clientId: value['clientId'] ?? value['CLIENT_ID'],
    clientSecret: value['clientSecret'] ?? value['CLIENT_SECRET'],
    scope: Array.isArray(scopes) ? scopes.join(' ') : scopes,
  }
  const present = Object.entries(login).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string' && pair[1] !== '',
  )
  return present.length > 0 ? Object.fromEntries(present) : undefined
}

function isOff(disabled: unknown, enabled: unknown): boolean {
  return disabled === true || enabled === false
}

function isPlain(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

/** Like other clients, takes numbers and booleans for strings and leaves out null. */
function texts(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {}
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, text]) => (isPlain(text) ? [[key, String(text)]] : [])),
  )
}

/** An empty header may be one that a person has to fill in. */
function headerNotes(upstream: string, { headers }: Record<string, unknown>): string[] {
  return Object.entries(texts(headers)).flatMap(([header, value]) => {
    const what = emptyHeaderReason(header, value)
    const secret = ownName(upstream, header)
    const whole = `${value.trim()} \${secret:${secret}}`.trimStart()
    const step = `If one belongs there, put it into secrets.json as "${secret}", make the header "${whole}", then: quartermaster reload`
    return what === undefined ? [] : [`The header "${header}" of "${upstream}" has ${what}. ${step}`]
  })
}

function addressNotes({ url }: Record<string, unknown>): string[] {
  if (typeof url !== 'string' || !/\/sse\/?(?:[?#]|$)/.test(url)) return []
  return [
    'Its address looks like one of the older transport "sse"; if it does not answer, look for one that ends in /mcp.',
  ]
}

/** The addresses of our own server. */
interface OwnAddresses {
  /** Where our own server listens, if it does. */
  readonly url?: string | undefined
  /** Other names of it: `box.lan`, or `box.lan:8443` for that port alone. */
  readonly hosts?: readonly string[] | undefined
}

/** The default port of `up`. */
const USUAL_PORT = '7420'

/** Whether an entry of another client is our own server, which must not mount itself. */
function isOurselves(entry: Entry, own: OwnAddresses): boolean {
  return isOurProgram(entry) || leadsToUs(entry, own)
}

type Entry = Readonly<Record<string, unknown>>

/** Whether an entry has our address, or passes it to a program such as mcp-remote, alone or as `--url=`. */
export function leadsToUs({ command, args, url }: Entry, own: OwnAddresses): boolean {
  if (typeof url === 'string') return isOwnAddress(url, own)
  const words = linesOf({ command, args }).flatMap(line => line.words)
  return words.some(word => isOwnAddress(word.replace(/^-[^=]*=/, ''), own))
}

/** Whether the program of an entry is our own bridge, also through a shell. */
export function isOurProgram(entry: Entry): boolean {
  return linesOf(entry).some(line =>
    runPlaces(line).some(at => OURS.test(line.words[at] ?? '') && line.words.includes('connect', at + 1)),
  )
}

function linesOf({ command, args }: Entry): ProgramLine[] {
  if (typeof command !== 'string') return []
  return programLines(command, Array.isArray(args) ? args.map(String) : [])
}

const OURS = /(?:^|[\\/]|^--package=)quartermaster(?:[@:][\w.-]+)?(?:\.(?:[cm]?[jt]s|cmd|exe))?$/

/** The words that name what is run: the program, and its package or script. Other words may name our folder. */
function runPlaces(line: ProgramLine): number[] {
  const { words } = line
  const run = packageRunIn(line)
  if (run) return [0, ...run.packages]
  const script = firstOperand(words, 1, SCRIPT_OPTIONS) ?? 0
  return words[script] === 'run' ? [0, script, script + 1] : [0, script]
}

const SCRIPT_OPTIONS: ReadonlySet<string> = new Set(['-r', '--require', '--import', '--loader', '-C', '--conditions'])

/** Whether an address is that of our own server or, where none runs, the default one. */
function isOwnAddress(text: string, { url: own, hosts = [] }: OwnAddresses): boolean {
  const ours = own !== undefined && URL.canParse(own) ? new URL(own) : new URL(`http://127.0.0.1:${USUAL_PORT}`)
  if (!URL.canParse(text)) return false
  const { host, hostname, port, pathname } = new URL(text)
  const isHere = port === ours.port && (LOCAL_HOSTS.has(hostname) || hostname === ours.hostname)
  // A name without a port is that of a proxy in front of us; another port may be another server.
  const isNamed = hosts.some(name => name.toLowerCase() === (port === ours.port ? hostname : host))
  return (isHere || isNamed) && decoded(pathname).replace(/\/+$/, '') === '/mcp'
}

/** Names of this machine in a parsed URL, with those that stand for all its addresses. */
const LOCAL_HOSTS: ReadonlySet<string> = new Set([
  ...['localhost', 'localhost.', '127.0.0.1', '[::1]', '[::ffff:7f00:1]'],
  ...['0.0.0.0', '[::]', '[::ffff:0:0]'],
])

/** Our own server decodes paths too: `/%6dcp` is `/mcp`. */
function decoded(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    // A path that cannot be decoded is none of ours.
    return path
  }
}
