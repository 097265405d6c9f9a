import {
  type CompleteResult,
  type Prompt as McpPrompt,
  type Resource as McpResource,
  type ReadResourceResult,
  ResourceNotFoundError,
  type ResourceTemplateType,
  type Server,
} from '@modelcontextprotocol/server'
import { AppError, isAppError, type PromptResult, VIEW_TOOLS_URI, VIEW_URI } from '../../contracts/index.ts'
import { agentViewOf, type Grant, type ResourceGrant } from '../../core/agents/index.ts'
import type { Prompt } from '../../core/catalogue/index.ts'
import { callerKey, canonicalJson } from '../../core/kernel/index.ts'
import { toolPage } from '../../core/knowledge/index.ts'
import type { KeptResults, Readings, ReadResult } from '../../core/operations/index.ts'
import {
  type AgentTools,
  type AgentToolsVersions,
  findPrompt,
  findResource,
  findTool,
  listPrompts,
  listResources,
  listTools,
  pageOf,
  toolNotFound,
  versionsOf,
} from './agent-tools.ts'
import { readingError, toProtocolError, withProtocolErrors } from './errors.ts'
import { askDuringRequest } from './legacy-questions.ts'
import { clientOf, hasDisconnected, type McpRequest, requestOf } from './mcp-request.ts'
import { ownerHash, type RoundWork, runRound } from './multi-round.ts'
import { parseResultUri, parseToolUri, resultUri, toolUri } from './render.ts'
import type { ServerParts } from './server-parts.ts'
import { OPERATIONS_URI, parseOperationUri } from './subscriptions.ts'

/** Serves prompts, and completes arguments of prompts and resources. */
export function servePrompts(server: Server, agentTools: AgentTools, parts: ServerParts): void {
  const { readings, exchanges, stateSigner } = parts
  server.setRequestHandler('prompts/list', async ({ params }) => {
    const list = { cursor: params?.cursor, version: 'prompts', items: () => listPrompts(agentTools) } as const
    const { items, ...next } = await listPage(agentTools, parts, list)
    return { prompts: items.map(({ prompt }) => toMcpPrompt(prompt)), ...next }
  })
  server.setRequestHandler('prompts/get', async ({ params }, context) => {
    const request = requestOf(server, context, stateSigner)
    const fillIn = async (round: McpRequest) => {
      const end = await runRound(exchanges, promptWork(agentTools, params, readings), round)
      return 'answer' in end ? ({ ...end.answer } as never) : end.required
    }
    try {
      return await askDuringRequest(await fillIn(request), { context, request, continueWith: fillIn }, parts)
    } catch (error) {
      throw readingError(error, request)
    }
  })
  server.setRequestHandler('completion/complete', ({ params }, context) =>
    suggest(agentTools, params, { readings, request: requestOf(server, context, stateSigner) }),
  )
}

/** One page of a list. The first page waits until the agent's upstreams had time to connect. */
export async function listPage<T>(
  agentTools: AgentTools,
  { beforeList }: Pick<ServerParts, 'beforeList'>,
  { cursor, version, items }: { cursor: string | undefined; version: keyof AgentToolsVersions; items(): readonly T[] },
) {
  if (cursor === undefined) await beforeList?.(agentTools.session)
  return withProtocolErrors(() => pageOf(items(), versionsOf(agentTools)[version], cursor))
}

function promptWork(
  agentTools: AgentTools,
  { name, arguments: given }: { name: string; arguments?: Record<string, string> | undefined },
  readings: Readings,
): RoundWork<PromptResult> {
  const { session } = agentTools
  return {
    owner: () => ownerHash(callerKey(session.caller), `prompt:${name}`, canonicalJson(given ?? {})),
    async begin({ signal, ask, canAnswer, onLog, client = agentTools.client }) {
      if (!findPrompt(agentTools, name))
        throw new AppError('PROMPT_NOT_FOUND', `"${agentTools.name}" has no prompt "${name}".`)
      return readings.renderPrompt({ session, name, arguments: given, signal, ask, canAnswer, client, onLog })
    },
  }
}

interface CompleteParams {
  readonly ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string }
  readonly argument: { name: string; value: string }
  readonly context?: { arguments?: Record<string, string> | undefined } | undefined
}

async function suggest(
  { session, client: only }: AgentTools,
  { ref, argument, context }: CompleteParams,
  { readings, request }: { readings: Readings; request: McpRequest },
): Promise<CompleteResult> {
  try {
    const wanted = ref.type === 'ref/prompt' ? { prompt: ref.name } : { resource: ref.uri }
    const asked = { ref: wanted, argument, arguments: context?.arguments }
    const completion = await readings.suggest({
      session,
      ...asked,
      signal: request.signal,
      client: clientOf(request) ?? only,
    })
    return { completion }
  } catch (error) {
    throw toProtocolError(error)
  }
}

const rendered = new WeakMap<Prompt, McpPrompt>()

function toMcpPrompt(prompt: Prompt): McpPrompt {
  const known = rendered.get(prompt)
  if (known) return known
  const made: McpPrompt = {
    name: prompt.name,
    title: prompt.title,
    description: prompt.short,
    arguments: prompt.arguments.map(({ name, title, short, required }) => ({
      name,
      required,
      ...(title === undefined ? {} : { title }),
      ...(short === undefined ? {} : { description: short }),
    })),
    ...(prompt.icon === undefined ? {} : { icons: [{ src: prompt.icon }] }),
    ...(prompt.mcp as Partial<McpPrompt> | undefined),
  }
  rendered.set(prompt, made)
  return made
}

/** Serves resources: those of the agent's capabilities, tool pages, the rest of truncated results, and operations. */
export function serveResources(server: Server, agentTools: AgentTools, parts: ServerParts): void {
  const untemplated = () => listResources(agentTools).filter(({ resource }) => resource.uri !== undefined)
  const listable = () => [...listTools(agentTools), ...untemplated()]
  server.setRequestHandler('resources/list', async ({ params }) => {
    const list = { cursor: params?.cursor, version: 'resources', items: listable } as const
    const { items, ...next } = await listPage(agentTools, parts, list)
    return { resources: items.map(toMcpResource), ...next }
  })
  server.setRequestHandler('resources/templates/list', async ({ params }) => {
    const list = { cursor: params?.cursor, version: 'resources', items: () => templatesOn(agentTools) } as const
    const { items, ...next } = await listPage(agentTools, parts, list)
    return { resourceTemplates: [...items], ...next }
  })
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    const request = requestOf(server, context, parts.stateSigner)
    const own =
      (await readOwn(uri, agentTools, parts.results)) ?? (await readOperation(uri, { agentTools, request, ...parts }))
    if (own) return own
    if (!findResource(agentTools, uri)) throw new ResourceNotFoundError(uri)
    const read = async (round: McpRequest) => {
      const end = await runRound(parts.exchanges, readWork(agentTools, uri, parts.readings), round)
      return 'answer' in end ? ({ ...end.answer } as ReadResourceResult) : end.required
    }
    try {
      return await askDuringRequest(await read(request), { context, request, continueWith: read }, parts)
    } catch (error) {
      throw readingError(error, request)
    }
  })
}

function templatesOn(agentTools: AgentTools): ResourceTemplateType[] {
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
  const defined = listResources(agentTools).flatMap(({ resource }) =>
    resource.uriTemplate === undefined ? [] : [{ ...factsOf(resource), uriTemplate: resource.uriTemplate }],
  )
  return [...own, ...defined]
}

function readWork({ session, client: only }: AgentTools, uri: string, readings: Readings): RoundWork<ReadResult> {
  return {
    owner: () => ownerHash(callerKey(session.caller), `resource:${uri}`),
    begin: ({ signal, ask, canAnswer, onLog, client = only }) =>
      readings.readResource({ session, uri, signal, ask, canAnswer, client, onLog }),
  }
}

/** Resources of our own. Every granted tool has its page, also one that the gateway view does not list. */
async function readOwn(
  uri: string,
  agentTools: AgentTools,
  results: KeptResults,
): Promise<ReadResourceResult | undefined> {
  const name = parseToolUri(uri)
  const grant = name === undefined ? undefined : findTool(agentTools, name)
  if (grant) return { contents: [{ uri, mimeType: 'text/markdown', text: toolPage(grant.tool) }] }
  const view = readView(uri, agentTools)
  if (view) return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(view) }] }
  const place = parseResultUri(uri)
  if (!place) return undefined
  const page = await results.page(agentTools.session.caller, place.resultId, place.offset).catch(error => {
    throw isAppError(error) ? toProtocolError(error) : error
  })
  const next =
    page.nextOffset === undefined ? {} : { _meta: { 'quartermaster/next': resultUri(place.resultId, page.nextOffset) } }
  return { contents: [{ uri, mimeType: 'text/plain', text: page.text, ...next }] }
}

/** The agent view, for programs that explain an agent's tools or generate commands from them. */
function readView(uri: string, agentTools: AgentTools): object | undefined {
  // A server of one capability does not describe the others.
  if (agentTools.capability !== undefined) return undefined
  const { session } = agentTools
  if (uri === VIEW_URI) return agentViewOf(session)
  if (uri === VIEW_TOOLS_URI) return session.view().list()
  if (!uri.startsWith(`${VIEW_TOOLS_URI}/`)) return undefined
  const name = uri.slice(VIEW_TOOLS_URI.length + 1)
  const grant = findTool(agentTools, name)
  if (!grant) throw toProtocolError(toolNotFound(agentTools, name))
  return session.view().detail(grant.tool)
}

const MOST_OPERATIONS = 50

/** One of the agent's own operations, or the newest of them. Operations of other agents are not found. */
async function readOperation(
  uri: string,
  {
    agentTools,
    request,
    operations,
  }: Pick<ServerParts, 'operations'> & { agentTools: AgentTools; request: McpRequest },
): Promise<ReadResourceResult | undefined> {
  const { caller } = agentTools.session
  if (uri === OPERATIONS_URI) {
    const page = await operations.list({
      organisation: caller.organisation,
      agent: caller.workspace,
      limit: MOST_OPERATIONS,
    })
    return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(page.operations) }] }
  }
  const id = parseOperationUri(uri)
  const facts = id === undefined ? undefined : await operations.show(caller, id, () => !hasDisconnected(request))
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
