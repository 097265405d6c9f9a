import { LISTING_LIMITS, type Listing } from '../../../core/upstreams/index.ts'
import { isRecord } from '../../mcp-wire/index.ts'
import { RpcError } from './rpc-error.ts'
import type { ListKind, Session } from './session.ts'

/** A server that lists more of one kind than this is cut short: what is used of it is less. */
export const FETCH_LIMITS = { items: 5_000, pages: 500, characters: LISTING_LIMITS.characters }

/** Everything a server says it has. */
export async function fetchListing(session: Session, signal: AbortSignal): Promise<Listing> {
  const { server, instructions, capabilities } = session.facts
  const list = async (kind: ListKind, capability: string) =>
    isRecord(capabilities[capability]) ? fetchAll(session, kind, signal) : []
  const [tools, prompts, resources, templates] = await Promise.all([
    list('tools', 'tools'),
    list('prompts', 'prompts'),
    list('resources', 'resources'),
    list('templates', 'resources'),
  ])
  return { server: { ...server, instructions }, tools, prompts, resources, templates }
}

const FIELDS: Readonly<Record<ListKind, string>> = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources',
  templates: 'resourceTemplates',
}

/** Page by page; a place that comes again would go round for ever. */
async function fetchAll(session: Session, kind: ListKind, signal: AbortSignal): Promise<unknown[] | undefined> {
  const items: unknown[] = []
  const places = new Set<string>()
  let cursor: string | undefined
  let characters = 0
  try {
    for (let pages = 0; pages < FETCH_LIMITS.pages && items.length < FETCH_LIMITS.items; pages++) {
      const page = await session.page(kind, cursor, signal)
      const listed = page[FIELDS[kind]]
      if (Array.isArray(listed)) for (const item of listed) items.push(item)
      const next = page.nextCursor
      if (typeof next !== 'string' || places.has(next)) return items
      // A page may be as large as a message, and so may be the name of its successor.
      characters += JSON.stringify(listed ?? null).length + next.length
      if (characters >= FETCH_LIMITS.characters) return items
      places.add(next)
      cursor = next
    }
    return items
  } catch (error) {
    // It says that it has such things and then does not list them: what is known of them stays.
    if (error instanceof RpcError) return undefined
    throw error
  }
}
