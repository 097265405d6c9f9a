import type { ParseError } from 'jsonc-parser'
import { AppError, type Issue, isAppError } from '../../contracts/index.ts'
import { isLoopback } from '../../core/kernel/index.ts'

/** Where a workspace is, and how its token is read. */
export interface WorkspaceAddress {
  /** Where it was named, for messages: `QUARTERMASTER_WORKSPACES[1]`. */
  readonly source: string
  /** The server, without a slash at the end. */
  readonly url: string
  readonly name?: string | undefined
  /** The id that the token's workspace must have. */
  readonly id?: string | undefined
  /** The token at present: one that comes from a file is read again. */
  token(): Promise<string>
}

/** What a person gave to name workspaces that are elsewhere. */
export interface AddressSources {
  readonly env: Readonly<Record<string, string | undefined>>
  /** From `--url`. */
  readonly url?: string | undefined
  /** Plain HTTP is allowed to any host. */
  readonly isInsecure?: boolean | undefined
  readFile(path: string): Promise<string>
}

/** A field of an entry as it was read. */
type Entry = Readonly<Record<string, unknown>>

const ONE = 'QUARTERMASTER_URL'
const TOKEN = 'QUARTERMASTER_TOKEN'
const TOKEN_FILE = 'QUARTERMASTER_TOKEN_FILE'
const SEVERAL = 'QUARTERMASTER_WORKSPACES'
const SEVERAL_FILE = 'QUARTERMASTER_WORKSPACES_FILE'

/** The workspaces that are named. Throws `INPUT_INVALID` with everything that is wrong. */
export async function readAddresses(sources: AddressSources): Promise<readonly WorkspaceAddress[]> {
  const { env, url = env[ONE] } = sources
  const several = [SEVERAL, SEVERAL_FILE].filter(name => env[name] !== undefined)
  const one = sources.url === undefined ? ONE : '--url'
  if (several.length === 2) throw refused([issue(several.join(' and '), 'are both set. Unset one of them.')])
  const [named] = several
  if (named !== undefined && url !== undefined)
    throw refused([issue(`${one} and ${named}`, 'are both there, and each says where to connect. Take one of them.')])
  return named === undefined ? [await soleAddress(one, url, sources)] : severalAddresses(named, sources)
}

/** The address of a server, as a person wrote it. Throws `INPUT_INVALID`. */
export function serverAddress(value: string, { isInsecure }: Pick<AddressSources, 'isInsecure'>): string {
  const issues: Issue[] = []
  const url = baseUrl(value, { source: 'The address', isInsecure, issues })
  if (issues.length > 0) throw refused(issues)
  return url
}

async function soleAddress(
  source: string,
  url: string | undefined,
  sources: AddressSources,
): Promise<WorkspaceAddress> {
  const { env, isInsecure } = sources
  const issues: Issue[] = []
  const base = baseUrl(url, { source, isInsecure, issues })
  if (env[TOKEN] !== undefined && env[TOKEN_FILE] !== undefined)
    issues.push(issue(`${TOKEN} and ${TOKEN_FILE}`, 'are both set. Unset one of them.'))
  else if (env[TOKEN] === undefined && env[TOKEN_FILE] === undefined)
    issues.push(issue(source, `needs the token of a workspace in ${TOKEN}, or a file with it in ${TOKEN_FILE}.`))
  const token = async () => tokenText(await sole(sources), env[TOKEN] === undefined ? TOKEN_FILE : TOKEN)
  if (issues.length === 0) await token().catch(error => issues.push(...issuesOf(error)))
  if (issues.length > 0) throw refused(issues)
  return { source, url: base, token }
}

async function sole({ env, readFile }: AddressSources): Promise<string> {
  return env[TOKEN] ?? (await fileText(env[TOKEN_FILE] ?? '', { name: TOKEN_FILE, readFile })).trim()
}

function tokenText(text: string, source: string): string {
  const token = text.trim()
  if (/^[\x21-\x7e]{1,512}$/.test(token)) return token
  throw refused([
    issue(source, token === '' ? 'is empty. Put a token into it.' : 'is no token: it is one line of text.'),
  ])
}

async function severalAddresses(name: string, sources: AddressSources): Promise<readonly WorkspaceAddress[]> {
  const entries = await readEntries(name, sources)
  const issues: Issue[] = []
  const addresses = entries.map((entry, index) => toAddress(entry, { name, index, sources, issues }))
  issues.push(...duplicates(entries, name))
  if (issues.length > 0) throw refused(issues)
  return addresses
}

/** The entries of the value, as it is at present. */
async function readEntries(name: string, { env, readFile }: AddressSources): Promise<readonly unknown[]> {
  const text = name === SEVERAL ? (env[name] ?? '') : await fileText(env[name] ?? '', { name, readFile })
  const value = await parsed(text, name)
  if (!Array.isArray(value)) throw refused([issue(name, 'must be an array: [{"url": "…", "token": "…"}, …].')])
  if (value.length === 0) throw refused([issue(name, 'is an empty array. Name at least one workspace.')])
  return value
}

async function fileText(
  path: string,
  { name, readFile }: { name: string } & Pick<AddressSources, 'readFile'>,
): Promise<string> {
  try {
    return await readFile(path)
  } catch (error) {
    const { code = 'an error' } = error as NodeJS.ErrnoException
    throw refused([issue(name, `names "${path}", which cannot be read (${code}).`)])
  }
}

async function parsed(text: string, name: string): Promise<unknown> {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes the text, and there are tokens in it; nor does it always say where.
    const { parse } = await import('jsonc-parser')
    const errors: ParseError[] = []
    parse(text, errors, { disallowComments: true })
    const at = errors[0]?.offset ?? text.length
    const line = text.slice(0, at).split('\n')
    const place = `line ${line.length}, column ${(line.at(-1)?.length ?? 0) + 1}`
    throw refused([issue(name, `is not JSON: ${at >= text.length ? 'it ends too early, at' : 'wrong at'} ${place}.`)])
  }
}

const FIELDS = ['url', 'token', 'id', 'name']

function toAddress(
  entry: unknown,
  { name, index, sources, issues }: { name: string; index: number; sources: AddressSources; issues: Issue[] },
): WorkspaceAddress {
  const source = `${name}[${index}]`
  if (!isEntry(entry)) {
    issues.push(issue(source, 'must be an object: {"url": "…", "token": "…"}.'))
    return { source, url: '', token: async () => '' }
  }
  for (const field of Object.keys(entry))
    if (!FIELDS.includes(field))
      issues.push(issue(`${source}.${field.slice(0, 40)}`, `is unknown. An entry has ${FIELDS.join(', ')}.`))
  for (const field of ['token', 'id', 'name']) {
    const value = entry[field]
    if (field === 'name' && isAll(value))
      issues.push(issue(`${source}.name`, 'cannot be "all", which means all workspaces.'))
    if (value === undefined && field === 'token') issues.push(issue(`${source}.token`, 'is missing.'))
    else if (value !== undefined && (typeof value !== 'string' || value.trim() === ''))
      issues.push(issue(`${source}.${field}`, 'must be a text that is not empty.'))
  }
  const { isInsecure } = sources
  const url = baseUrl(entry.url, { source: `${source}.url`, isInsecure, issues })
  const own = [url, textIn(entry, 'name'), textIn(entry, 'id')].join('\n')
  // The file may have other entries by now, and their tokens are for other servers.
  const isThis = (other: unknown) =>
    isEntry(other) &&
    [baseUrl(other.url, { source, isInsecure, issues: [] }), textIn(other, 'name'), textIn(other, 'id')].join('\n') ===
      own
  return {
    source,
    url,
    name: textIn(entry, 'name'),
    id: textIn(entry, 'id'),
    async token() {
      // The value of an environment variable cannot change.
      const now = name === SEVERAL ? entry : (await readEntries(name, sources)).find(isThis)
      if (!isEntry(now))
        throw refused([issue(source, `is no longer in the file (${url}). Start the program again.`)], '')
      return tokenText(textIn(now, 'token') ?? '', `${source}.token`)
    },
  }
}

const isAll = (value: unknown) => typeof value === 'string' && value.trim().toLowerCase() === 'all'

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textIn(entry: Entry, field: string): string | undefined {
  const value = entry[field]
  return typeof value === 'string' ? value.trim() : undefined
}

function baseUrl(
  value: unknown,
  { source, isInsecure, issues }: { source: string; isInsecure?: boolean | undefined; issues: Issue[] },
): string {
  const fault = (message: string) => {
    issues.push(issue(source, message))
    return ''
  }
  if (value === undefined) return fault('is missing.')
  if (typeof value !== 'string' || !URL.canParse(value))
    return fault('must be a URL, such as "https://tools.example.com".')
  const url = new URL(value)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return fault('must begin with https:// or http://.')
  if (url.username !== '' || url.password !== '') return fault('must not hold a name or password.')
  if (url.search !== '' || url.hash !== '') return fault('must not have a query or a fragment.')
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !isInsecure)
    return fault('would send the token unencrypted over the network. Use https://, or allow it with --insecure.')
  // The address of the server is meant, and many paste the one of MCP.
  return `${url.origin}${url.pathname.replace(/\/(mcp\/?)?$/, '')}`
}

/** One workspace in two entries would get every message twice. */
function duplicates(entries: readonly unknown[], name: string): Issue[] {
  const seen = new Map<string, number>()
  return entries.flatMap((entry, index) => {
    if (!isEntry(entry)) return []
    const [url, token] = [baseUrl(entry.url, { source: '', isInsecure: true, issues: [] }), textIn(entry, 'token')]
    const keys = [
      ...(url && token ? [['token', `${url} ${token}`]] : []),
      ...(textIn(entry, 'id') ? [['id', String(entry.id)]] : []),
      ...(textIn(entry, 'name') ? [['name', String(entry.name).trim().toLowerCase()]] : []),
    ]
    return keys.flatMap(([field = '', value]) => {
      const before = seen.get(`${field} ${value}`)
      seen.set(`${field} ${value}`, before ?? index)
      return before === undefined ? [] : [issue(`${name}[${index}].${field}`, `is that of ${name}[${before}] as well.`)]
    })
  })
}

const issue = (where: string, message: string): Issue => ({ path: [where], message })

function refused(issues: readonly Issue[], head = 'Nothing was started.\n'): AppError {
  const told = issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('\n')
  return new AppError('INPUT_INVALID', `${head}${told}`, { details: { issues } })
}

function issuesOf(error: unknown): readonly Issue[] {
  if (!isAppError(error)) throw error
  return (error.details?.issues ?? []) as readonly Issue[]
}
