import { basename, isAbsolute, relative, resolve, sep } from 'node:path'
import type { ForeignRemoval, ForeignServer, ForeignServers } from '../../contracts/index.ts'
import { canonicalJson } from '../../core/kernel/index.ts'
import {
  fittingName,
  isRecord,
  isRefused,
  type Refusal,
  readBounded,
  refusedInSettings,
  serversIn,
  type WrittenServer,
} from './foreign-file.ts'
import { type ClientPlace, type ClientSurroundings, placesOf } from './places.ts'
import { translateEntry } from './translate-entry.ts'
import { type EnvFile, readEnvFile } from './variables.ts'

interface ReadOptions extends ClientSurroundings {
  /** `claude`, `cursor`, `vscode` or a file; every known place when absent. */
  readonly source?: string | undefined
  /** Where our own server listens, if it does. */
  readonly ownUrl?: string | undefined
  /** Names that are taken by our own capabilities. */
  readonly reserved?: readonly string[]
}

/** Reads the servers of other clients and translates them into our configuration. Their files are never written. */
export async function readClientConfigs(options: ReadOptions): Promise<ForeignServers> {
  const reads = await Promise.all(placesOf(options.source, options).map(readPlace))
  const found = reads.flatMap(({ place, servers }) => servers.map(server => ({ place, server })))
  const written = await Promise.all(found.map(one => withEnvFile(one, options)))
  // Servers for this folder or for all folders go before those for another one.
  const ordered = [
    ...written.filter(one => !isElsewhere(one, options)),
    ...written.filter(one => isElsewhere(one, options)),
  ]
  const refusals = [...reads.flatMap(read => read.refusals), ...(await refusedInSettings(reads, options))]
  return {
    places: reads.map(({ place: { client, file }, found, problem }) => ({ client, file, found, problem })),
    servers: named(ordered, { ...options, refusals }),
  }
}

interface PlaceRead {
  readonly place: ClientPlace
  readonly found: boolean
  readonly servers: readonly WrittenServer[]
  readonly refusals: readonly Refusal[]
  readonly problem?: string | undefined
}

/** Claude Code keeps its whole state in one of these files. */
const MAX_BYTES = 64 * 1024 * 1024

async function readPlace(place: ClientPlace): Promise<PlaceRead> {
  const read = await readBounded(place.file, MAX_BYTES)
  const none = { place, servers: [], refusals: [] }
  return 'found' in read ? { ...none, ...read } : { ...none, found: true, ...serversIn(read.text) }
}

interface Placed {
  readonly place: ClientPlace
  readonly server: WrittenServer
  readonly envFile?: EnvFile | undefined
}

async function withEnvFile({ place, server }: Placed, options: ReadOptions): Promise<Placed> {
  const named = isRecord(server.entry) && 'command' in server.entry ? server.entry['envFile'] : undefined
  if (typeof named !== 'string' || named === '') return { place, server }
  const workspace = server.folder ?? place.workspace
  return { place, server, envFile: await readEnvFile(named, { workspace, file: place.file }, options) }
}

function isElsewhere({ server: { folder } }: Placed, { dir }: ClientSurroundings): boolean {
  return folder !== undefined && !isInside(folder, dir)
}

/** Compares whole names, because a folder may be called "..drafts". */
export function isInside(folder: string, path: string): boolean {
  const steps = relative(resolve(folder), resolve(path))
  return steps !== '..' && !steps.startsWith(`..${sep}`) && !isAbsolute(steps)
}

interface NamingOptions extends ReadOptions {
  readonly refusals: readonly Refusal[]
}

/** Gives every server a unique name. Equal entries in two files are one server; a different one of the same name is skipped. */
function named(placed: readonly Placed[], options: NamingOptions): ForeignServer[] {
  const reserved = new Set(options.reserved)
  const taken = new Map<string, { readonly name: string; readonly text: string; readonly file: string }>()
  return placed.flatMap(one => {
    const { place, server } = one
    const wanted = reserved.has(server.name) ? `${server.name}-server` : server.name
    const as = fittingName(
      wanted,
      name => !reserved.has(name) && (taken.get(name)?.name ?? server.name) === server.name,
    )
    const text = canonicalJson(JSON.parse(JSON.stringify(server.entry ?? null)))
    const first = taken.get(as)
    if (first?.text === text) return []
    taken.set(as, first ?? { name: server.name, text, file: place.file })
    return [toServer(one, { as, rival: first?.file }, options)]
  })
}

function toServer(
  { place, server, envFile }: Placed,
  { as, rival }: { as: string; rival: string | undefined },
  options: NamingOptions,
): ForeignServer {
  const elsewhere = isElsewhere({ place, server }, options) ? server.folder : undefined
  const removal = removalOf(place, server)
  const about = { name: server.name, as, client: place.client, file: place.file, removal, elsewhere }
  const none = { ...about, secrets: {}, asks: [], notes: server.notes }
  if (rival !== undefined)
    return { ...none, skipped: `"${server.name}" is another one in ${rival}, which counts first.` }
  const workspace = server.folder ?? place.workspace
  const cwd = resolve(workspace) === resolve(options.projectDir) ? undefined : workspace
  const { home, ownUrl: url } = options
  const dialect = place.dialect === 'file' && server.isOfVscode ? 'vscode' : place.dialect
  const isEditor = dialect === 'vscode'
  // An unknown file may be one of Claude Code, which reports unset variables; so do we.
  const isPlainFilledIn = dialect === 'claude-code' || dialect === 'file'
  const isOff = isRefused({ place, server }, options.refusals)
  const meant = { isPlainFilledIn, isEditor, isRefused: isOff }
  const translated = translateEntry(as, server, { workspace, home, url, cwd, envFile, ...meant })
  if ('skipped' in translated) return { ...none, skipped: translated.skipped }
  const { holdsSecrets, notes, ...taken } = translated
  const isLeftInClear = holdsSecrets && isInside(options.projectDir, place.file)
  return { ...about, ...taken, notes: [...server.notes, ...notes], ...(isLeftInClear && { isLeftInClear }) }
}

/** Claude Code has a command to remove a server; in files of other clients a person removes the keys. */
function removalOf({ client, file, workspace }: ClientPlace, { name, keys, folder }: WrittenServer): ForeignRemoval {
  const isShared = basename(file) === '.mcp.json' && keys.length === 2 && keys[0] === 'mcpServers'
  if (client !== 'claude-code' && !isShared) return { file, keys }
  const scope = isShared ? 'project' : folder === undefined ? 'user' : 'local'
  // Without `--` the name could be read as an option.
  const last = name.startsWith('-') ? ['--', name] : [name]
  const command = ['claude', 'mcp', 'remove', '--scope', scope, ...last]
  return scope === 'user' ? { command } : { command, folder: folder ?? workspace }
}
