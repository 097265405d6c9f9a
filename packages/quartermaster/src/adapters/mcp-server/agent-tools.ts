import { AppError } from '../../contracts/index.ts'
import {
  type AgentSession,
  type Grant,
  type PromptGrant,
  type ResourceGrant,
  suggestTool,
  type View,
} from '../../core/agents/index.ts'
import { toolDisabled } from '../../core/catalogue/index.ts'

/** What one MCP server offers: all that an agent is shown, or the tools of one capability. */
export interface AgentTools {
  readonly name: string
  readonly session: AgentSession
  /** Limits the server to this capability. */
  readonly capability?: string
  /** The client, for a server that has only one. */
  readonly client?: string
}

export function listTools({ session, capability }: AgentTools): View['tools'] {
  const { presented } = session.view()
  return capability === undefined ? presented : presented.filter(grant => grant.capability === capability)
}

/** The grant of this name, including a tool that is disabled now. */
export function findTool({ session, capability }: AgentTools, name: string): Grant | undefined {
  return own(session.grant(name), capability)
}

/** Why a tool cannot be called: the server does not have it, or withholds it now. */
export function toolNotFound(agentTools: AgentTools, name: string): AppError {
  const { session, capability } = agentTools
  const why = own(session.withheld(name), capability)?.reason
  if (why !== undefined) return toolDisabled(name, why)
  const { tools, unavailable } = session.view()
  const granted = capability === undefined ? [...tools, ...unavailable.map(({ grant }) => grant)] : []
  const names = [...granted, ...listTools(agentTools)].map(({ tool }) => tool.name)
  const hint = suggestTool(name, { names, isOffered: tool => findTool(agentTools, tool) !== undefined })
  return new AppError('TOOL_NOT_FOUND', `"${agentTools.name}" has no tool "${name}".${hint}`)
}

export function listPrompts({ session, capability }: AgentTools): readonly PromptGrant[] {
  const { prompts } = session.view()
  return capability === undefined ? prompts : prompts.filter(grant => grant.capability === capability)
}

export function findPrompt({ session, capability }: AgentTools, name: string): PromptGrant | undefined {
  return own(session.prompt(name), capability)
}

/** The resources the server lists now, templates included. */
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

/** The skills the server lists now. Skills belong to an agent, not to a capability. */
export function listSkills({ session, capability }: AgentTools): View['skills'] {
  return capability === undefined ? session.view().skills : []
}

/** Versions of the lists: each changes exactly when a client should list again. */
export interface AgentToolsVersions {
  readonly tools: string
  readonly prompts: string
  readonly resources: string
}

/** Every tool also has a page among the resources, so their version has two parts. */
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

/** Most agents have fewer; more in one answer is hard on clients. */
const PAGE_SIZE = 200

/** How long a client may cache a list; changes are announced anyway. */
export const LIST_HINT = { ttlMs: 60_000, cacheScope: 'private' } as const

/** One page of a list. The cursor carries the list's version, so that pages of two versions are never mixed. */
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
