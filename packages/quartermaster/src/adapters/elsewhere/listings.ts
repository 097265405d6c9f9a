import { toAppError } from '../../contracts/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import { isRecord, type Params, type Request, type Response } from '../mcp-wire/index.ts'
import { INBOX_URI } from './arrivals.ts'
import type { Directory } from './directory.ts'
import { type Item, type MergedList, MOST_ITEMS, mergeLists, type Target, targetOf } from './lists.ts'
import type { MergedTools } from './merged-tools.ts'
import type { Workspace } from './workspace.ts'

/** The lists that servers have: under which field an answer holds them, and by which its items are asked for. */
export const LISTS = {
  'tools/list': { field: 'tools', key: 'name', what: 'tool' },
  'prompts/list': { field: 'prompts', key: 'name', what: 'prompt' },
  'resources/list': { field: 'resources', key: 'uri', what: 'resource' },
  'resources/templates/list': { field: 'resourceTemplates', key: 'uriTemplate', what: 'resource' },
  'skills/list': { field: 'skills', key: 'name', what: 'skill' },
} as const

type ListMethod = keyof typeof LISTS

/** The client's request for which something is asked. */
export interface Asking {
  readonly like: Request
  readonly signal: AbortSignal
}

/** The lists of all workspaces, as one server has them. */
export interface Listings {
  list(method: string, asking: Asking): Promise<object>
  /** What a name stands for. Throws when it stands for nothing. */
  target(method: ListMethod, name: string, asking: Asking): Promise<Target>
  /** Whether a workspace has listed a tool of this name. */
  hasTool(workspace: Workspace, name: string): boolean
  /** The target that is known without asking. */
  knownResource(uri: string): Target | undefined
  /** The address by which the client knows a resource of a workspace. */
  shownUri(workspace: Workspace, uri: string): string
  /** The client uses this address for it. */
  showAs(target: Target, uri: string): void
  /** Lists may have changed. */
  changed(): void
}

interface ListingsDeps {
  readonly clock: Clock
  readonly directory: Directory
  readonly merged: MergedTools
  ready(): readonly Workspace[]
  ask(workspace: Workspace, method: string, params: Params, asking: Asking): Promise<Response>
}

const MOST_PAGES = 50
/** A slow server is left out after that; what was last heard of it stays. */
const LIST_MS = 5_000
const SLOW_MS = 60_000

export function createListings({ clock, directory, merged, ready, ask }: ListingsDeps): Listings {
  const last = new Map<string, Item[]>()
  const known = new Map<string, MergedList>()
  const shown = new Map<string, string>()
  /** Lists that a server did not give in time are not asked for again at once. */
  const slowUntil = new Map<string, number>()

  async function itemsOf(workspace: Workspace, method: ListMethod, { like, signal }: Asking): Promise<Item[]> {
    const until = AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)])
    const items: Item[] = []
    let cursor: unknown
    for (let page = 0; page < MOST_PAGES && items.length < MOST_ITEMS; page++) {
      const { result } = await ask(workspace, method, cursor === undefined ? {} : { cursor }, { like, signal: until })
      const list = isRecord(result) ? result[LISTS[method].field] : undefined
      if (Array.isArray(list)) items.push(...list.filter(isRecord))
      cursor = isRecord(result) ? result.nextCursor : undefined
      if (typeof cursor !== 'string') break
    }
    return items.slice(0, MOST_ITEMS)
  }

  async function refresh(method: ListMethod, asking: Asking): Promise<readonly Item[]> {
    const there = ready()
    const lists = new Map<Workspace, readonly Item[]>()
    await Promise.all(
      directory.all.map(async workspace => {
        const key = `${workspace.index} ${method}`
        const state = workspace.state()
        // A server that is started again has hardly changed; one that refuses the token has nothing for this client.
        if (state.kind === 'failed' && state.isFinal) return void last.delete(key)
        if (!there.includes(workspace) || (slowUntil.get(key) ?? 0) > clock.now()) return
        await itemsOf(workspace, method, asking).then(
          items => last.set(key, items),
          error => {
            if (asking.signal.aborted) throw toAppError(error)
            slowUntil.set(key, clock.now() + SLOW_MS)
          },
        )
      }),
    )
    for (const workspace of directory.all) lists.set(workspace, last.get(`${workspace.index} ${method}`) ?? [])
    const { key } = LISTS[method]
    const isOwn = method === 'tools/list' ? merged.isMerged : undefined
    const list = mergeLists(lists, { directory, key, ...(isOwn && { isOwn }) })
    known.set(method, list)
    if (method === 'resources/list') return [INBOX, ...list.items]
    return method === 'tools/list' ? [...mergedTools(lists), ...list.items] : list.items
  }

  /** The tools that all workspaces have together, each as the first workspace defines it. */
  function mergedTools(lists: ReadonlyMap<Workspace, readonly Item[]>): Item[] {
    const found = new Map<string, Item>()
    for (const items of lists.values())
      for (const tool of items) {
        const name = String(tool.name)
        if (merged.isMerged(name) && !found.has(name)) found.set(name, tool)
      }
    if (!found.has(STATUS.name)) found.set(STATUS.name, STATUS)
    return [...found.values()].map(merged.define)
  }

  return {
    async list(method, asking) {
      const name = method as ListMethod
      // One page: a cursor of one server means nothing to the others.
      return { [LISTS[name].field]: await refresh(name, asking), ttlMs: 0, cacheScope: 'private' }
    },
    async target(method, name, asking) {
      if (!known.get(method)?.targets.has(name)) await refresh(method, asking)
      return targetOf(known.get(method) ?? NOTHING, LISTS[method].what, name)
    },
    hasTool: ({ index }, name) => last.get(`${index} tools/list`)?.some(tool => tool.name === name) ?? false,
    knownResource: uri => known.get('resources/list')?.targets.get(uri),
    shownUri(workspace, uri) {
      const own = shown.get(`${workspace.index} ${uri}`)
      if (own !== undefined) return own
      const targets = known.get('resources/list')?.targets ?? []
      for (const [name, target] of targets) if (target.workspace === workspace && target.name === uri) return name
      return uri
    },
    showAs: ({ workspace, name }, uri) => void shown.set(`${workspace.index} ${name}`, uri),
    changed: () => known.clear(),
  }
}

const NOTHING: MergedList = { items: [], targets: new Map() }

const INBOX: Item = {
  uri: INBOX_URI,
  name: 'inbox',
  title: 'Messages that wait',
  description: 'The messages that wait in all of your workspaces. Subscribers hear of each that arrives.',
  mimeType: 'application/json',
}

/** For workspaces that have none. */
const STATUS = {
  name: 'get_status',
  title: 'Status',
  description: 'Shows which of your workspaces are reached, and what to do about the others.',
  inputSchema: { type: 'object', properties: {} },
  annotations: { readOnlyHint: true },
}
