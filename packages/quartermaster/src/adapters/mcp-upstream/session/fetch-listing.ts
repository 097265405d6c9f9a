import { inTurns, type Steps } from '../../../core/kernel/index.ts'
import { LISTING_LIMITS, type Listing } from '../../../core/upstreams/index.ts'
import { isRecord } from '../../mcp-wire/index.ts'
import { EVENT_LOOP } from '../event-loop.ts'
import { RpcError } from './rpc-error.ts'
import type { ListKind, Session } from './session.ts'

/** A server that lists more of one kind than this is cut short: what is used of it is less. */
export const FETCH_LIMITS = { items: 5_000, pages: 500, characters: LISTING_LIMITS.characters }

/** Told of what a server says that it has and then does not list, with why. */
export type OnRefused = (kind: ListKind, why: RpcError) => void

/** Everything a server says it has. */
export async function fetchListing(
  session: Session,
  signal: AbortSignal,
  onRefused: OnRefused = () => {},
): Promise<Listing> {
  const { server, instructions, capabilities } = session.facts
  const list = async (kind: ListKind, capability: string) =>
    isRecord(capabilities[capability]) ? fetchAll(session, kind, { signal, onRefused }) : NONE
  const [tools, prompts, resources, templates] = await Promise.all([
    list('tools', 'tools'),
    list('prompts', 'prompts'),
    list('resources', 'resources'),
    list('templates', 'resources'),
  ])
  const lists = { tools, prompts, resources, templates }
  const cut = KINDS.filter(kind => lists[kind]?.isCut)
  return {
    server: { ...server, instructions },
    ...Object.fromEntries(KINDS.map(kind => [kind, lists[kind]?.items])),
    ...(cut.length > 0 ? { cut } : {}),
  }
}

/** What is known of a server that does not list what it has. */
export function unlistedBy({ facts: { server, instructions } }: Session): Listing {
  return { server: { ...server, instructions } }
}

/** The kinds of which there is a list. */
export function listedKinds(listing: Listing): ListKind[] {
  return KINDS.filter(kind => listing[kind] !== undefined)
}

const KINDS = ['tools', 'prompts', 'resources', 'templates'] as const satisfies readonly ListKind[]

const FIELDS: Readonly<Record<ListKind, string>> = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources',
  templates: 'resourceTemplates',
}

interface Fetched {
  readonly items: readonly unknown[]
  /** There would have been more. */
  readonly isCut: boolean
}

const NONE: Fetched = { items: [], isCut: false }

/** Page by page; a place that comes again would go round for ever. */
async function fetchAll(
  session: Session,
  kind: ListKind,
  { signal, onRefused }: { signal: AbortSignal; onRefused: OnRefused },
): Promise<Fetched | undefined> {
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
      if (typeof next !== 'string') return { items, isCut: false }
      // A page may be as large as a message, and so may be the name of its successor.
      characters += next.length + (await inTurns(lengthOf(Array.isArray(listed) ? listed : []), EVENT_LOOP))
      if (places.has(next) || characters >= FETCH_LIMITS.characters) break
      places.add(next)
      cursor = next
    }
    return { items, isCut: true }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    // What is known of them stays, and is not used until it lists them.
    onRefused(kind, error)
    return undefined
  }
}

function* lengthOf(items: readonly unknown[]): Steps<number> {
  let characters = 0
  for (const item of items) {
    characters += (JSON.stringify(item) ?? '').length
    if (characters >= FETCH_LIMITS.characters) break
    yield
  }
  return characters
}
