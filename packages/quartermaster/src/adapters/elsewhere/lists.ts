import { createHash } from 'node:crypto'
import { AppError } from '../../contracts/index.ts'
import { isRecord } from '../mcp-wire/index.ts'
import type { Directory } from './directory.ts'
import type { Workspace } from './workspace.ts'

/** A definition in a list of a server: of a tool, a prompt, a resource. */
export type Item = Readonly<Record<string, unknown>>

/** What a server calls something, and whose it is. */
export interface Target {
  readonly workspace: Workspace
  readonly name: string
}

/** One list of all workspaces as the client sees it. */
export interface MergedList {
  readonly items: readonly Item[]
  /** Targets by the names that the client sees. */
  readonly targets: ReadonlyMap<string, Target>
}

/** More are of no use to a client, and a server may send any number. */
export const MOST_ITEMS = 2_000
/** Clients put their own words before it, and some have 64 characters for both. */
const LONGEST_NAME = 48

interface MergeOptions {
  readonly directory: Directory
  /** The field by which it is asked for. */
  readonly key: 'name' | 'uri' | 'uriTemplate'
  /** Left out: these are merged in another way. */
  isOwn?(name: string): boolean
}

/**
 * The lists of all workspaces as one. What has the same name in two of them gets the name of its workspace in front in both, so
 * that no server can take a name from another.
 */
export function mergeLists(lists: ReadonlyMap<Workspace, readonly Item[]>, options: MergeOptions): MergedList {
  const { directory, key, isOwn = () => false } = options
  const found = [...lists].flatMap(([workspace, items]) =>
    items.flatMap(item => {
      const name = item[key]
      return typeof name === 'string' && !isOwn(name) ? [{ workspace, item, name }] : []
    }),
  )
  const counts = new Map<string, number>()
  for (const { name } of found) counts.set(name, (counts.get(name) ?? 0) + 1)
  const slugs = directory.all.map(workspace => `${directory.slugOf(workspace)}${key === 'name' ? '_' : '+'}`)
  // A name that looks as if it had a workspace in front gets one, so that it is never taken for what another has.
  const isPlain = (name: string) => counts.get(name) === 1 && !slugs.some(slug => name.startsWith(slug))
  const targets = new Map<string, Target>()
  const items = found.flatMap(({ workspace, item, name }) => {
    const shown = isPlain(name) ? name : prefixed(name, { key, slug: directory.slugOf(workspace) })
    // A server lists something twice.
    if (targets.has(shown)) return []
    targets.set(shown, { workspace, name })
    return [shown === name ? item : renamed(item, { key, shown, of: directory.nameOf(workspace) })]
  })
  return { items, targets }
}

function prefixed(name: string, { key, slug }: { key: MergeOptions['key']; slug: string }): string {
  if (key !== 'name') return `${slug}+${name}`
  const full = `${slug}_${name}`
  if (full.length <= LONGEST_NAME) return full
  // The hash distinguishes names that begin alike.
  return `${full.slice(0, LONGEST_NAME - 7)}_${createHash('sha256').update(full).digest('hex').slice(0, 6)}`
}

function renamed(item: Item, { key, shown, of }: { key: string; shown: string; of: string }): Item {
  const description =
    `In your workspace "${of}". ${typeof item.description === 'string' ? item.description : ''}`.trim()
  return { ...item, [key]: shown, description }
}

/** The workspace and the address there, of an address with the name of a workspace in front. */
export function parsePrefixed(uri: string, directory: Directory): Target | undefined {
  const [, slug, name = ''] = /^([a-z][a-z0-9-]*)\+(.+)$/s.exec(uri) ?? []
  const workspace = directory.all.find(one => directory.slugOf(one) === slug)
  return workspace && { workspace, name }
}

/** A tool with one more optional parameter. */
export function withParameter(tool: Item, name: string, description: string): Item {
  const schema = isRecord(tool.inputSchema) ? tool.inputSchema : { type: 'object' }
  const properties = isRecord(schema.properties) ? schema.properties : {}
  return { ...tool, inputSchema: { ...schema, properties: { ...properties, [name]: { type: 'string', description } } } }
}

/** The target of a name, or an error that says where to look. */
export function targetOf(list: MergedList, what: string, name: string): Target {
  const target = list.targets.get(name)
  if (target) return target
  const same = [...list.targets].filter(([, one]) => one.name === name).map(([shown]) => `"${shown}"`)
  const hint = same.length > 0 ? ` Here it is ${same.join(' or ')}.` : ''
  throw new AppError('INPUT_INVALID', `There is no ${what} ${JSON.stringify(name.slice(0, 200))}.${hint}`)
}
