import { AppError } from '../../contracts/index.ts'
import {
  type Grant,
  type PromptGrant,
  type ResourceGrant,
  type Seat,
  suggestTool,
  type View,
} from '../../core/agents/index.ts'
import { notOffered } from '../../core/catalogue/index.ts'

/** What one server holds: what a seat is shown, or what one capability gives it. */
export interface Shelf {
  /** The server's name. */
  readonly name: string
  readonly seat: Seat
  /** Only this capability's, when given. */
  readonly capability?: string
  /** Who is served by it, where that is one client alone. */
  readonly client?: string
}

/** The tools the server lists now. */
export function listed({ seat, capability }: Shelf): View['tools'] {
  const { presented } = seat.view()
  return capability === undefined ? presented : presented.filter(grant => grant.capability === capability)
}

/** The grant by this name, if it is on the shelf; also one that is not working just now. */
export function find({ seat, capability }: Shelf, name: string): Grant | undefined {
  return own(seat.grant(name), capability)
}

/** Why a tool cannot be called from the shelf: it does not belong there, or it does and is held back now. */
export function notOnShelf(shelf: Shelf, name: string): AppError {
  const { seat, capability } = shelf
  const why = own(seat.withheld(name), capability)?.reason
  if (why !== undefined) return notOffered(name, why)
  const { tools, unavailable } = seat.view()
  const granted = capability === undefined ? [...tools, ...unavailable.map(({ grant }) => grant)] : []
  const names = [...granted, ...listed(shelf)].map(({ tool }) => tool.name)
  const hint = suggestTool(name, { names, isOffered: tool => find(shelf, tool) !== undefined })
  return new AppError('TOOL_NOT_FOUND', `"${shelf.name}" has no tool "${name}".${hint}`)
}

/** The prompts the server lists now. */
export function promptsOn({ seat, capability }: Shelf): readonly PromptGrant[] {
  const { prompts } = seat.view()
  return capability === undefined ? prompts : prompts.filter(grant => grant.capability === capability)
}

export function findPrompt({ seat, capability }: Shelf, name: string): PromptGrant | undefined {
  return own(seat.prompt(name), capability)
}

/** The resources the server lists now, those of a template among them. */
export function resourcesOn({ seat, capability }: Shelf): readonly ResourceGrant[] {
  const { resources } = seat.view()
  return capability === undefined ? resources : resources.filter(grant => grant.capability === capability)
}

export function findResource({ seat, capability }: Shelf, uri: string): ResourceGrant | undefined {
  return own(seat.resource(uri)?.grant, capability)
}

function own<G extends { readonly capability: string }>(grant: G | undefined, capability: string | undefined) {
  return capability === undefined || grant?.capability === capability ? grant : undefined
}

/** The skills the server lists now: directions belong to an agent, not to one of its capabilities. */
export function skillsOn({ seat, capability }: Shelf): View['skills'] {
  return capability === undefined ? seat.view().skills : []
}

/** What changes exactly when a client that listed should list again. */
export interface ShelfVersions {
  readonly tools: string
  readonly prompts: string
  readonly resources: string
}

/** The versions of the lists. Every tool has its page among the resources, so their version has two parts. */
export function versionsOf(shelf: Shelf): ShelfVersions {
  if (shelf.capability === undefined) {
    const { version, promptsVersion, resourcesVersion } = shelf.seat.view()
    return { tools: version, prompts: promptsVersion, resources: `${version}-${resourcesVersion}` }
  }
  const tools = listed(shelf).map(({ tool }) => tool.hash)
  const prompts = promptsOn(shelf).map(({ prompt }) => prompt.hash)
  const resources = [...tools, ...resourcesOn(shelf).map(({ resource }) => resource.hash)]
  return { tools: tools.join(), prompts: prompts.join(), resources: resources.join() }
}
