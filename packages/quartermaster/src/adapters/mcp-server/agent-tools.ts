import { AppError } from '../../contracts/index.ts'
import {
  type AgentSession,
  type Grant,
  type PromptGrant,
  type ResourceGrant,
  suggestTool,
  type View,
} from '../../core/agents/index.ts'
import { notOffered } from '../../core/catalogue/index.ts'

/** What one server offers: what an agent is shown, or what one capability gives it. */
export interface AgentTools {
  /** The server's name. */
  readonly name: string
  readonly session: AgentSession
  /** Only this capability's, when given. */
  readonly capability?: string
  /** Who is served by it, where that is one client alone. */
  readonly client?: string
}

/** The tools the server lists now. */
export function listTools({ session, capability }: AgentTools): View['tools'] {
  const { presented } = session.view()
  return capability === undefined ? presented : presented.filter(grant => grant.capability === capability)
}

/** The grant by this name, if the server has it; also one that is not working just now. */
export function findTool({ session, capability }: AgentTools, name: string): Grant | undefined {
  return own(session.grant(name), capability)
}

/** Why a tool cannot be called: the server does not have it, or it is held back now. */
export function toolNotFound(agentTools: AgentTools, name: string): AppError {
  const { session, capability } = agentTools
  const why = own(session.withheld(name), capability)?.reason
  if (why !== undefined) return notOffered(name, why)
  const { tools, unavailable } = session.view()
  const granted = capability === undefined ? [...tools, ...unavailable.map(({ grant }) => grant)] : []
  const names = [...granted, ...listTools(agentTools)].map(({ tool }) => tool.name)
  const hint = suggestTool(name, { names, isOffered: tool => findTool(agentTools, tool) !== undefined })
  return new AppError('TOOL_NOT_FOUND', `"${agentTools.name}" has no tool "${name}".${hint}`)
}

/** The prompts the server lists now. */
export function listPrompts({ session, capability }: AgentTools): readonly PromptGrant[] {
  const { prompts } = session.view()
  return capability === undefined ? prompts : prompts.filter(grant => grant.capability === capability)
}

export function findPrompt({ session, capability }: AgentTools, name: string): PromptGrant | undefined {
  return own(session.prompt(name), capability)
}

/** The resources the server lists now, those of a template among them. */
export function listResources({ session, capability }: AgentTools): readonly ResourceGrant[] {
  const { resources } = session.view()
  return capability === undefined ? resources : resources.filter(grant => grant.capability === capability)
}

export function findResource({ session, capability }: AgentTools, uri: string): ResourceGrant | undefined {
  return own(session.resource(uri)?.grant, capability)
}

function own<G extends { readonly capability: string }>(grant: G | undefined, capability: string | undefined) {
  return capability === undefined || grant?.capability === capability ? grant : undefined
}

/** The skills the server lists now: directions belong to an agent, not to one of its capabilities. */
export function listSkills({ session, capability }: AgentTools): View['skills'] {
  return capability === undefined ? session.view().skills : []
}

/** What changes exactly when a client that listed should list again. */
export interface AgentToolsVersions {
  readonly tools: string
  readonly prompts: string
  readonly resources: string
}

/** The versions of the lists. Every tool has its page among the resources, so their version has two parts. */
export function versionsOf(agentTools: AgentTools): AgentToolsVersions {
  if (agentTools.capability === undefined) {
    const { version, promptsVersion, resourcesVersion } = agentTools.session.view()
    return { tools: version, prompts: promptsVersion, resources: `${version}-${resourcesVersion}` }
  }
  const tools = listTools(agentTools).map(({ tool }) => tool.hash)
  const prompts = listPrompts(agentTools).map(({ prompt }) => prompt.hash)
  const resources = [...tools, ...listResources(agentTools).map(({ resource }) => resource.hash)]
  return { tools: tools.join(), prompts: prompts.join(), resources: resources.join() }
}

/** As many as a client can take in at once without harm; most agents have fewer. */
const PAGE_SIZE = 200

/** How long a listing may be used without asking again; a change is announced anyway. */
export const LIST_HINT = { ttlMs: 60_000, cacheScope: 'private' } as const

/**
 * One page of a list. The cursor carries the version of the list it was cut from: pages of two versions put together
 * would be a list that never was.
 */
export function pageOf<T>(
  items: readonly T[],
  version: string,
  cursor: string | undefined,
): { items: readonly T[]; nextCursor?: string } {
  const start = cursor === undefined ? 0 : startOf(cursor, version)
  const end = start + PAGE_SIZE
  const page = items.slice(start, end)
  return end < items.length ? { items: page, nextCursor: `${version}.${end}` } : { items: page }
}

function startOf(cursor: string, version: string): number {
  const match = /^(.+)\.(\d{1,9})$/.exec(cursor)
  if (match?.[1] === version) return Number(match[2])
  throw new AppError('CURSOR_GONE', 'The list has changed since this cursor was given. List from the beginning.')
}
