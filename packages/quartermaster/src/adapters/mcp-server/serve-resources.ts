import {
  type Resource as McpResource,
  type ReadResourceResult,
  ResourceNotFoundError,
  type ResourceTemplateType,
  type Server,
} from '@modelcontextprotocol/server'
import { isAppError, VIEW_TOOLS_URI, VIEW_URI } from '../../contracts/index.ts'
import { agentViewOf, type Grant, type ResourceGrant } from '../../core/agents/index.ts'
import { callerKey } from '../../core/kernel/index.ts'
import { toolPage } from '../../core/knowledge/index.ts'
import type { KeptResults, Readings, ReadResult } from '../../core/operations/index.ts'
import { OPERATIONS_URI, parseOperationUri } from './end-news.ts'
import { orProtocolError, readingError, toProtocolError } from './errors.ts'
import { askWhileOpen } from './legacy-questions.ts'
import { hasGone, type McpRequest, requestOf } from './mcp-request.ts'
import { pageOf } from './page.ts'
import { parseResultUri, parseToolUri, resultUri, toolUri } from './render.ts'
import { ownerOf, type RoundWork, takeRound } from './rounds.ts'
import type { ServerParts } from './server-parts.ts'
import { find, findResource, listed, notOnShelf, resourcesOn, type Shelf, versionsOf } from './shelf.ts'

/**
 * What can be read on a shelf: the resources of its capabilities, the pages of its tools, the rest of results that were too
 * large to hand over at once, and how operations stand.
 */
export function serveResources(server: Server, shelf: Shelf, parts: ServerParts): void {
  server.setRequestHandler('resources/list', async request => {
    if (request.params?.cursor === undefined) await parts.beforeList?.(shelf.seat)
    const all = [...listed(shelf), ...resourcesOn(shelf).filter(({ resource }) => resource.uri !== undefined)]
    const page = () => pageOf(all, versionsOf(shelf).resources, request.params?.cursor)
    const { items, nextCursor } = orProtocolError(page)
    const resources = items.map(toMcpResource)
    return nextCursor === undefined ? { resources } : { resources, nextCursor }
  })
  server.setRequestHandler('resources/templates/list', async request => {
    if (request.params?.cursor === undefined) await parts.beforeList?.(shelf.seat)
    const page = () => pageOf(templatesOn(shelf), versionsOf(shelf).resources, request.params?.cursor)
    const { items, nextCursor } = orProtocolError(page)
    return nextCursor === undefined ? { resourceTemplates: [...items] } : { resourceTemplates: [...items], nextCursor }
  })
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    const request = requestOf(server, context, parts.states)
    const own = (await readOwn(uri, shelf, parts.results)) ?? (await readOperation(uri, { shelf, request, ...parts }))
    if (own) return own
    if (!findResource(shelf, uri)) throw new ResourceNotFoundError(uri)
    const read = async (round: McpRequest) => {
      const end = await takeRound(parts.exchanges, readWork(shelf, uri, parts.readings), round)
      return 'answer' in end ? ({ ...end.answer } as ReadResourceResult) : end.required
    }
    try {
      return await askWhileOpen(await read(request), { context, request, again: read }, parts)
    } catch (error) {
      throw readingError(error, request)
    }
  })
}

function templatesOn(shelf: Shelf): ResourceTemplateType[] {
  const own = [
    {
      uriTemplate: 'quartermaster://tools/{name}',
      name: 'tool',
      title: 'How to use a tool',
      mimeType: 'text/markdown',
    },
    { uriTemplate: 'quartermaster://results/{resultId}{?offset}', name: 'result', mimeType: 'text/plain' },
    {
      uriTemplate: 'quartermaster://operations/{operationId}',
      name: 'operation',
      title: 'How a call stands',
      mimeType: 'application/json',
    },
  ]
  const defined = resourcesOn(shelf).flatMap(({ resource }) =>
    resource.uriTemplate === undefined ? [] : [{ ...factsOf(resource), uriTemplate: resource.uriTemplate }],
  )
  return [...own, ...defined]
}

function readWork({ seat, client: only }: Shelf, uri: string, readings: Readings): RoundWork<ReadResult> {
  return {
    owner: () => ownerOf(callerKey(seat.caller), `resource:${uri}`),
    begin: ({ signal, ask, canAnswer, onLog, client = only }) =>
      readings.readResource({ seat, uri, signal, ask, canAnswer, client, onLog }),
  }
}

/** What we have to read ourselves. Every granted tool has its page, also one that the gateway view does not list. */
async function readOwn(uri: string, shelf: Shelf, results: KeptResults): Promise<ReadResourceResult | undefined> {
  const name = parseToolUri(uri)
  const grant = name === undefined ? undefined : find(shelf, name)
  if (grant) return { contents: [{ uri, mimeType: 'text/markdown', text: toolPage(grant.tool) }] }
  const told = readView(uri, shelf)
  if (told) return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(told) }] }
  const place = parseResultUri(uri)
  if (!place) return undefined
  const page = await results.page(shelf.seat.caller, place.resultId, place.offset).catch(error => {
    throw isAppError(error) ? toProtocolError(error) : error
  })
  const next =
    page.nextOffset === undefined ? {} : { _meta: { 'quartermaster/next': resultUri(place.resultId, page.nextOffset) } }
  return { contents: [{ uri, mimeType: 'text/plain', text: page.text, ...next }] }
}

/** What programs that explain an agent's tools, or make commands of them, ask for. */
function readView(uri: string, shelf: Shelf): object | undefined {
  // A server of one capability has no word on the others.
  if (shelf.capability !== undefined) return undefined
  const { seat } = shelf
  if (uri === VIEW_URI) return agentViewOf(seat)
  if (uri === VIEW_TOOLS_URI) return seat.view().list()
  if (!uri.startsWith(`${VIEW_TOOLS_URI}/`)) return undefined
  const name = uri.slice(VIEW_TOOLS_URI.length + 1)
  const grant = find(shelf, name)
  if (!grant) throw toProtocolError(notOnShelf(shelf, name))
  return seat.view().detail(grant.tool)
}

/** As many as an agent can take in at once. */
const MOST_OPERATIONS = 50

/** An operation of the agent's own, or the newest of them. Anybody else's is not there. */
async function readOperation(
  uri: string,
  { shelf, request, operations }: Pick<ServerParts, 'operations'> & { shelf: Shelf; request: McpRequest },
): Promise<ReadResourceResult | undefined> {
  const { caller } = shelf.seat
  if (uri === OPERATIONS_URI) {
    const page = await operations.list({
      organisation: caller.organisation,
      agent: caller.workspace,
      limit: MOST_OPERATIONS,
    })
    return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(page.operations) }] }
  }
  const id = parseOperationUri(uri)
  const facts = id === undefined ? undefined : await operations.show(caller, id, () => !hasGone(request))
  return facts && { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(facts) }] }
}

function toMcpResource(grant: Grant | ResourceGrant): McpResource {
  if ('resource' in grant) return { ...factsOf(grant.resource), uri: grant.resource.uri ?? grant.resource.key }
  const { name, title } = grant.tool
  return { uri: toolUri(name), name, title, description: `How to use ${name}.`, mimeType: 'text/markdown' }
}

function factsOf({ name, title, short, mimeType, icon, mcp }: ResourceGrant['resource']) {
  return {
    name,
    title,
    ...(short === '' ? {} : { description: short }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(icon === undefined ? {} : { icons: [{ src: icon }] }),
    ...mcp,
  } as Omit<McpResource, 'uri'>
}
