import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { getNodeValue, type JSONPath, type ParseError, parseTree, printParseErrorCode, visit } from 'jsonc-parser'
import { messageOf } from '../../contracts/index.ts'
import { jsonFault } from '../../core/kernel/index.ts'
import type { ClientPlace, ClientSurroundings } from './places.ts'

/** A server as it is written in a client's file. */
export interface WrittenServer {
  readonly name: string
  readonly entry: unknown
  /** The keys that lead to it. */
  readonly keys: readonly string[]
  /** The values that the client asks a person for, by id. */
  readonly inputs: ReadonlyMap<string, WrittenInput>
  /** The folder, where the server is for one folder alone. */
  readonly folder?: string | undefined
  /** It is under `servers`, as only VS Code writes it. */
  readonly isOfVscode?: boolean
  readonly notes: readonly string[]
}

/** Servers that a person has refused in Claude Code. */
export interface Refusal {
  /** The folder; all folders when absent. */
  readonly folder?: string | undefined
  /** Servers that are refused wherever they are configured. */
  readonly any: readonly string[]
  /** Servers of the folder's `.mcp.json` that are refused. */
  readonly shared: readonly string[]
}

interface ForeignFile {
  readonly servers: WrittenServer[]
  readonly refusals: Refusal[]
}

export interface WrittenInput {
  readonly type: string
  readonly description?: string | undefined
  readonly isPassword: boolean
  readonly fallback?: string | undefined
}

/** The servers in a text, in any of the known formats, or why they cannot be read. */
export function serversIn(text: string): ForeignFile | { problem: string } {
  const parsed = parseLoosely(text)
  if ('problem' in parsed) return parsed
  const root = parsed.value
  if (!isRecord(root)) return { problem: 'It is no JSON object.' }
  const [vscode, ofVscode] = isRecord(root['mcp']) ? [root['mcp'], ['mcp']] : [root, []]
  const wrong = Object.entries({ mcpServers: root['mcpServers'], servers: vscode['servers'] }).find(
    ([, value]) => typeof value === 'string' || Array.isArray(value),
  )
  if (wrong) return { problem: `Its "${wrong[0]}" is no object of names and servers: { "NAME": { "command": … } }.` }
  const inputs = inputsOf(vscode['inputs'])
  const groups = [
    listOf(root['mcpServers'], { path: ['mcpServers'] }),
    listOf(vscode['servers'], { path: [...ofVscode, 'servers'], inputs }).map(one => ({ ...one, isOfVscode: true })),
    ...projectsOf(root['projects']),
    ...(isPlainList(root) ? [listOf(root, { path: [] })] : []),
  ]
  return { servers: withNotes(groups.flat(), text), refusals: refusalsIn(root) }
}

/** Adds notes about repeated keys, of which JSON readers silently take the last. */
function withNotes(found: readonly FoundServer[], text: string): WrittenServer[] {
  const repeated = found.length > 0 && !isTooDeep(text) ? repeatedKeys(text) : []
  return found.map(server => ({ ...server, notes: repeatNotes([...server.keys], repeated) }))
}

type FoundServer = Omit<WrittenServer, 'notes'>

/** Deeper nesting would exhaust the parser. */
const MAX_DEPTH = 200

function parseLoosely(json: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(json) as unknown }
  } catch {
    // It may have comments, which some clients allow.
  }
  if (isTooDeep(json)) return { problem: 'It is nested too deep.' }
  try {
    const errors: ParseError[] = []
    const tree = parseTree(json, errors, { allowTrailingComma: true })
    const [first] = errors
    // From the tree, because the direct parser loses a key named `__proto__`.
    if (!first) return { value: tree && (getNodeValue(tree) as unknown) }
    const line = json.slice(0, first.offset).split('\n').length
    return { problem: `It is not JSON. In line ${line}: ${jsonFault(printParseErrorCode(first.error))}` }
  } catch (error) {
    return { problem: `It cannot be read: ${messageOf(error)}` }
  }
}

function isTooDeep(text: string): boolean {
  let depth = 0
  for (const character of text) {
    if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    if (depth > MAX_DEPTH) return true
  }
  return false
}

/** `path` leads to the object that contains the servers. */
type Found = Pick<FoundServer, 'folder'> & Partial<Pick<FoundServer, 'inputs'>> & { readonly path: readonly string[] }

function listOf(value: unknown, { inputs = new Map(), path, ...place }: Found): FoundServer[] {
  if (!isRecord(value)) return []
  return Object.entries(value).map(([name, entry]) => ({ name, entry, keys: [...path, name], inputs, ...place }))
}

/** `~/.claude.json` has the servers of single folders under their paths. */
function projectsOf(value: unknown): FoundServer[][] {
  if (!isRecord(value)) return []
  return Object.entries(value).map(([folder, project]) =>
    listOf(isRecord(project) ? project['mcpServers'] : undefined, { path: ['projects', folder, 'mcpServers'], folder }),
  )
}

/** Refusals are beside the servers of each folder in `~/.claude.json`, and at the top of settings files. */
function refusalsIn(root: Record<string, unknown>): Refusal[] {
  const projects = isRecord(root['projects']) ? Object.entries(root['projects']) : []
  const refusals = [
    { any: [], shared: namesIn(root['disabledMcpjsonServers']) },
    ...projects.map(([folder, project]) => {
      const { disabledMcpServers, disabledMcpjsonServers } = isRecord(project) ? project : {}
      return { folder, any: namesIn(disabledMcpServers), shared: namesIn(disabledMcpjsonServers) }
    }),
  ]
  return refusals.filter(({ any, shared }) => any.length + shared.length > 0)
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(name => typeof name === 'string') : []
}

/** Only servers by name, as documentation often shows them. */
function isPlainList(root: Record<string, unknown>): boolean {
  const values = Object.values(root)
  return values.length > 0 && values.every(value => isRecord(value) && ('command' in value || 'url' in value))
}

function inputsOf(value: unknown): ReadonlyMap<string, WrittenInput> {
  const found = Array.isArray(value) ? value.filter(isRecord) : []
  return new Map(found.flatMap(input => (typeof input['id'] === 'string' ? [[input['id'], toInput(input)]] : [])))
}

function toInput({ type, description, password, default: fallback }: Record<string, unknown>): WrittenInput {
  return {
    type: typeof type === 'string' ? type : 'promptString',
    isPassword: password === true,
    ...(typeof description === 'string' && { description }),
    ...(typeof fallback === 'string' && { fallback }),
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** No settings file is larger. */
const MAX_BYTES = 1024 * 1024

/** Refusals in the settings of Claude Code, if its servers are read. Unreadable settings refuse nothing. */
export async function refusedInSettings(
  looked: readonly { readonly place: ClientPlace }[],
  { home, dir }: ClientSurroundings,
): Promise<Refusal[]> {
  if (!looked.some(({ place }) => place.client === 'claude-code')) return []
  const files = [
    join(dir, '.claude', 'settings.json'),
    join(dir, '.claude', 'settings.local.json'),
    join(home, '.claude', 'settings.json'),
  ]
  const reads = await Promise.all(files.map(file => readBounded(file, MAX_BYTES)))
  return reads.flatMap(read => {
    const parsed = 'text' in read ? serversIn(read.text) : undefined
    return parsed && 'refusals' in parsed ? parsed.refusals : []
  })
}

/** Whether a person has refused a server in its folder. A refusal does not apply to folders inside that one. */
export function isRefused(
  { place, server }: { readonly place: ClientPlace; readonly server: WrittenServer },
  refusals: readonly Refusal[],
): boolean {
  if (place.dialect !== 'claude-code') return false
  const here = resolve(server.folder ?? place.workspace)
  const isShared = basename(place.file) === '.mcp.json'
  return refusals.some(
    ({ folder, any, shared }) =>
      (folder === undefined || resolve(folder) === here) &&
      (any.includes(server.name) || (isShared && shared.includes(server.name))),
  )
}

/** The text of a regular file up to a size, or why it cannot be read. */
export async function readBounded(
  file: string,
  maxBytes: number,
): Promise<{ text: string } | { found: false } | { found: true; problem: string }> {
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer. Windows has neither.
    const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      const stats = await handle.stat()
      if (!stats.isFile()) return { found: true, problem: 'It is not a regular file.' }
      if (stats.size > maxBytes) return { found: true, problem: 'It is too large.' }
      return decoded(await handle.readFile())
    } finally {
      await handle.close()
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return { found: false }
    return { found: true, problem: `It cannot be read: ${messageOf(error)}` }
  }
}

function decoded(bytes: Uint8Array): { text: string } | { found: true; problem: string } {
  try {
    return { text: new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes) }
  } catch {
    return { found: true, problem: 'It is not UTF-8 text. Save it as UTF-8.' }
  }
}

/** Windows PowerShell writes UTF-16 with a byte order mark. */
function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
}

/** The paths of keys that occur more than once in their object. */
function repeatedKeys(text: string): JSONPath[] {
  const repeated: JSONPath[] = []
  const open: Set<string>[] = []
  visit(text, {
    onObjectBegin: () => void open.push(new Set()),
    onObjectEnd: () => void open.pop(),
    onObjectProperty(key, _offset, _length, _line, _character, path) {
      const keys = open.at(-1)
      if (keys?.has(key)) repeated.push([...path(), key])
      keys?.add(key)
    },
  })
  return repeated
}

/** Notes about repeated keys inside an entry, or on the path to it. */
function repeatNotes(path: JSONPath, repeated: readonly JSONPath[]): string[] {
  const notes = repeated.flatMap(one => {
    const shared = Math.min(one.length, path.length)
    if (path.slice(0, shared).some((key, i) => key !== one[i])) return []
    const isInside = one.length > path.length
    const key = isInside ? one.slice(path.length).join('.') : one.at(-1)
    return [`"${key}" stands more than once in its ${isInside ? 'entry' : 'file'}: only the last one is taken over.`]
  })
  return [...new Set(notes)]
}

const LONGEST = 32

/** Names that an object cannot have as ordinary keys. */
const RESERVED: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** A valid and free name for an upstream, as close to the written one as possible. */
export function fittingName(written: string, isFree: (name: string) => boolean): string {
  const plain = written
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    // NFKD has split `ü` into `u` and a mark.
    .replace(/\p{M}+/gu, '')
    .replace(/[^\w-]+/g, '-')
    .replace(/^-+|-+$/g, '')
  const usual = RESERVED.has(plain) ? plain.replaceAll('_', '') : plain
  const name = (usual || 'server').slice(0, LONGEST).replace(/-+$/, '')
  if (isFree(name) && !RESERVED.has(name)) return name
  for (let number = 2; ; number++) {
    const ending = `-${number}`
    const numbered = `${name.slice(0, LONGEST - ending.length)}${ending}`
    if (isFree(numbered)) return numbered
  }
}
