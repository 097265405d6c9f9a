import { inTurns, type Steps } from '../../../core/kernel/index.ts'
import { LISTING_LIMITS, type Listing } from '../../../core/upstreams/index.ts'
import { isRecord } from '../../mcp-wire/index.ts'
import { RpcError } from './channel.ts'
import { EVENT_LOOP } from './incoming-message.ts'
import type { ListKind, Session } from './session.ts'

/** Listings are cut off beyond this; far less is used. */
export const FETCH_LIMITS = { items: 5_000, pages: 500, characters: LISTING_LIMITS.characters }

/** Called for a kind that a server announces and does not list, with the reason. */
type OnRefused = (kind: ListKind, why: RpcError) => void

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

/** A listing without any list. */
export function unlistedBy({ facts: { server, instructions } }: Session): Listing {
  return { server: { ...server, instructions } }
}

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
  readonly isCut: boolean
}

const NONE: Fetched = { items: [], isCut: false }

/** Ends at a repeated cursor, which would loop for ever. */
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
      // A page may be as large as a message, and so may its cursor.
      characters += next.length + (await inTurns(lengthOf(Array.isArray(listed) ? listed : []), EVENT_LOOP))
      if (places.has(next) || characters >= FETCH_LIMITS.characters) break
      places.add(next)
      cursor = next
    }
    return { items, isCut: true }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    // Known definitions of the kind stay, unused until the server lists them.
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
