import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { getNodeValue, type JSONPath, type ParseError, parseTree, printParseErrorCode, visit } from 'jsonc-parser'
import { messageOf } from '../../contracts/index.ts'
import { jsonFault } from '../../core/kernel/index.ts'
import type { ClientPlace, ClientSurroundings } from './places.ts'

/** A server as a client has written it down. */
export interface WrittenServer {
  readonly name: string
  readonly entry: unknown
  /** The keys that lead to it. */
  readonly keys: readonly string[]
  /** What the client asks a person for, by id. */
  readonly inputs: ReadonlyMap<string, WrittenInput>
  /** The folder it is for, where it is for one alone. */
  readonly folder?: string | undefined
  /** It stands under `servers`, as only VS Code has it. */
  readonly isOfVscode?: boolean
  /** What to know about how it is written. */
  readonly notes: readonly string[]
}

/** Servers that a person has refused in Claude Code. */
export interface Refusal {
  /** The folder that it is about; all of them when absent. */
  readonly folder?: string | undefined
  /** Names of the servers that are refused there. */
  readonly any: readonly string[]
  /** Those of the `.mcp.json` that comes with the folder. */
  readonly shared: readonly string[]
}

/** What a file says. */
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

/** The servers in a text, in whichever of the known shapes, or why there are none to be read. */
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

/** JSON readers take the last of equal keys, and say nothing. */
function withNotes(found: readonly FoundServer[], text: string): WrittenServer[] {
  const repeated = found.length > 0 && !isTooDeep(text) ? repeatedKeys(text) : []
  return found.map(server => ({ ...server, notes: repeatNotes([...server.keys], repeated) }))
}

type FoundServer = Omit<WrittenServer, 'notes'>

/** Deep enough for everything people write; a file of brackets would exhaust the parser otherwise. */
const MAX_DEPTH = 200

function parseLoosely(json: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(json) as unknown }
  } catch {
    // It may have comments, as some clients allow.
  }
  if (isTooDeep(json)) return { problem: 'It is nested too deep.' }
  try {
    const errors: ParseError[] = []
    const tree = parseTree(json, errors, { allowTrailingComma: true })
    const [first] = errors
    // By the tree: built as it is read, an object loses what is called `__proto__`.
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

/** The object that has servers, by the keys that lead to it. */
type Found = Pick<FoundServer, 'folder'> & Partial<Pick<FoundServer, 'inputs'>> & { readonly path: readonly string[] }

function listOf(value: unknown, { inputs = new Map(), path, ...place }: Found): FoundServer[] {
  if (!isRecord(value)) return []
  return Object.entries(value).map(([name, entry]) => ({ name, entry, keys: [...path, name], inputs, ...place }))
}

/** `~/.claude.json` keeps what belongs to single folders under their paths. */
function projectsOf(value: unknown): FoundServer[][] {
  if (!isRecord(value)) return []
  return Object.entries(value).map(([folder, project]) =>
    listOf(isRecord(project) ? project['mcpServers'] : undefined, { path: ['projects', folder, 'mcpServers'], folder }),
  )
}

/** `~/.claude.json` has what was refused beside the servers of each folder, and the files of settings have it at the top. */
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

/** Nothing but servers by name, as documentation often shows them. */
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

/** Whether it is an object of named values. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Settings by hand; a larger file was meant for something else. */
const MAX_BYTES = 1024 * 1024

/** What the settings of Claude Code refuse, where its servers are looked for. What cannot be read there refuses nothing. */
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

/** Whether a person has refused a server where it would run. What counts for a folder counts for none inside it. */
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

/** The text of a regular file that is not larger than it may be, or why there is none. */
export async function readBounded(
  file: string,
  maxBytes: number,
): Promise<{ text: string } | { found: false } | { found: true; problem: string }> {
  try {
    // Opening a named pipe without this would wait for a writer for ever. Windows has neither.
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

/** What is written by `>` in the shell of Windows begins with a mark that says which of its own it is. */
function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
}

/** The paths of keys that their objects have more than once: of these the last counts, and what stood before is lost. */
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

/** What is to be known of an entry that stands at this path: keys in it, and those that lead to it. */
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

/** What a configuration cannot hold under its own name. */
const NO_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** A name that an upstream may have, as near to the written one as can be, and free. */
export function fittingName(written: string, isFree: (name: string) => boolean): string {
  const plain = written
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    // `ü` is a `u` and a mark by now, and would be cut in two.
    .replace(/\p{M}+/gu, '')
    .replace(/[^\w-]+/g, '-')
    .replace(/^-+|-+$/g, '')
  const usual = NO_NAMES.has(plain) ? plain.replaceAll('_', '') : plain
  const name = (usual || 'server').slice(0, LONGEST).replace(/-+$/, '')
  if (isFree(name) && !NO_NAMES.has(name)) return name
  for (let number = 2; ; number++) {
    const ending = `-${number}`
    const numbered = `${name.slice(0, LONGEST - ending.length)}${ending}`
    if (isFree(numbered)) return numbered
  }
}
