import { sep } from 'node:path'
import type { ForeignQuestion } from '../../contracts/index.ts'
import { emptyHeader } from '../../core/kernel/index.ts'
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

/** What decides how an entry is meant. */
interface EntryScope extends OwnFace {
  readonly workspace: string
  readonly home: string
  /** Set for entries that count from their workspace, where that is not the project folder. */
  readonly cwd?: string | undefined
  /** Whether that client fills in `${NAME}` as well. */
  readonly isPlainFilledIn?: boolean | undefined
  /** Whether that client is an editor. */
  readonly isEditor?: boolean | undefined
  /** Whether the person has refused it in its own client. */
  readonly isRefused?: boolean | undefined
  /** What the file of variables that it names holds. */
  readonly envFile?: EnvFile | undefined
}

type TranslatedEntry =
  | { readonly skipped: string }
  | {
      readonly entry: Record<string, unknown>
      readonly secrets: Readonly<Record<string, string>>
      /** Whether any of them stands in the entry itself, and not only in its file of variables. */
      readonly holdsSecrets: boolean
      readonly asks: readonly ForeignQuestion[]
      readonly notes: readonly string[]
    }

/** One entry of another client in our words, or why there are none for it. */
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
  // The entry's own variables count before those of the file.
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

/** The variables of a file, which are meant word for word: what would be a reference here is kept as a secret. */
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

/** What stands in a configuration of ours is shorter by far; to look for secrets in more takes too long. */
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

/** What is written otherwise would be left out, and something else started than is meant. */
function shapeFault({ args, env, headers }: Record<string, unknown>): string | undefined {
  if (isThere(args) && !(Array.isArray(args) && args.every(word => !isThere(word) || isPlain(word))))
    return 'Its "args" are no list of texts.'
  const wrong = Object.entries({ env, headers }).find(([, value]) => isThere(value) && !isRecord(value))
  return wrong && `Its "${wrong[0]}" is no object of names and texts.`
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** What has no value where one belongs. A whole field that is null is as good as none. */
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
  /** Fields that mean nothing here. */
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
  // One that could not even be looked for is told like every other field.
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

/** What two clients call the same thing. */
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

/** Clients take numbers and booleans for texts, and leave out what is null. */
function texts(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {}
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, text]) => (isPlain(text) ? [[key, String(text)]] : [])),
  )
}

/** It may be meant to be filled in by hand. */
function headerNotes(upstream: string, { headers }: Record<string, unknown>): string[] {
  return Object.entries(texts(headers)).flatMap(([header, value]) => {
    const what = emptyHeader(header, value)
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

/** How we are known to others. */
interface OwnFace {
  /** Where our own server listens, if it does. */
  readonly url?: string | undefined
  /** Names by which it is reached from elsewhere: `box.lan`, or `box.lan:8443` for that port alone. */
  readonly hosts?: readonly string[] | undefined
}

/** The port that `up` takes unless told otherwise. */
const USUAL_PORT = '7420'

/** Whether a foreign entry leads back to us: mounting it would be a circle. */
function isOurselves(entry: Entry, face: OwnFace): boolean {
  return isOurProgram(entry) || leadsToUs(entry, face)
}

/** An entry as it was written. */
type Entry = Readonly<Record<string, unknown>>

/** Whether an entry has our address, or a program is given it, as bridges such as mcp-remote are: by itself or behind `--url=`. */
export function leadsToUs({ command, args, url }: Entry, face: OwnFace): boolean {
  if (typeof url === 'string') return isOwnAddress(url, face)
  const words = linesOf({ command, args }).flatMap(line => line.words)
  return words.some(word => isOwnAddress(word.replace(/^-[^=]*=/, ''), face))
}

/** Whether the program of an entry is our own bridge, also by way of a shell. */
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

/** The words that say what is run: the program, and the package or the script that is given to it. Others may name our folder. */
function runPlaces(line: ProgramLine): number[] {
  const { words } = line
  const run = packageRunIn(line)
  if (run) return [0, ...run.packages]
  const script = firstOperand(words, 1, SCRIPT_OPTIONS) ?? 0
  return words[script] === 'run' ? [0, script, script + 1] : [0, script]
}

const SCRIPT_OPTIONS: ReadonlySet<string> = new Set(['-r', '--require', '--import', '--loader', '-C', '--conditions'])

/** Whether an address is where our own server listens, or where none runs, would listen unless told otherwise. */
function isOwnAddress(text: string, { url: own, hosts = [] }: OwnFace): boolean {
  const ours = own !== undefined && URL.canParse(own) ? new URL(own) : new URL(`http://127.0.0.1:${USUAL_PORT}`)
  if (!URL.canParse(text)) return false
  const { host, hostname, port, pathname } = new URL(text)
  const isHere = port === ours.port && (LOCAL_HOSTS.has(hostname) || hostname === ours.hostname)
  // Without a port it is that of a proxy before us; on another one there may be another server.
  const isNamed = hosts.some(name => name.toLowerCase() === (port === ours.port ? hostname : host))
  return (isHere || isNamed) && decoded(pathname).replace(/\/+$/, '') === '/mcp'
}

/** Names of this machine as they stand in an address that was read: those that stand for all of its addresses lead here too. */
const LOCAL_HOSTS: ReadonlySet<string> = new Set([
  ...['localhost', 'localhost.', '127.0.0.1', '[::1]', '[::ffff:7f00:1]'],
  ...['0.0.0.0', '[::]', '[::ffff:0:0]'],
])

/** As our own server reads it: `/%6dcp` is `/mcp`. */
function decoded(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    // Half a character is in no path of ours.
    return path
  }
}
