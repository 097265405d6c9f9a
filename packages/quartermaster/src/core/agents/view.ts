import {
  type AgentView,
  type MissingDependency,
  type ResolutionEntry,
  type ToolDetail,
  type ToolSummary,
  type ViewedTool,
  type ViewKind,
} from '../../contracts/index.ts'
import { type Generation, isDeprecated, NAME_TAKEN, removedTools, type Tool, titleFrom } from '../catalogue/index.ts'
import { type Health, missingInWords } from '../health/index.ts'
import { commandUsage, type Digest, fieldsOf, line } from '../kernel/index.ts'
import { type Skill } from '../knowledge/index.ts'
import { type Grant, type PromptGrant, type Resolution, type ResourceGrant } from './resolve-capabilities.ts'
import { listTools, toolDetail } from './tool-report.ts'

export interface View extends ReadingsView {
  /** Changes whenever clients should list the tools again. */
  readonly version: string
  readonly kind: ViewKind
  /** The tools listed to clients: the agent's own, or the gateway tools that replace them. */
  readonly presented: readonly Grant[]
  /** Granted and callable tools, in order of definition, deprecated ones last; includes recovering ones. */
  readonly tools: readonly Grant[]
  /** Granted but unavailable tools. */
  readonly unavailable: readonly { readonly grant: Grant; readonly missing: readonly MissingDependency[] }[]
  /** Wrong capabilities and tools in the agent's file, with the reason. */
  readonly refused: Resolution['refused']
  /** Every requested tool and its state. */
  report(): ResolutionEntry[]
  /** The whole view, to explain to the agent what it has. */
  facts(): Omit<AgentView, 'agent'>
  /** Granted tools, available or not, then injected ones, each with its state. */
  list(): ToolSummary[]
  detail(tool: Tool): ToolDetail
}

interface ViewParts {
  readonly resolution: Resolution
  readonly generation: Generation
  readonly gateway: ReadonlyMap<string, Grant> | undefined
  readonly beside: ReadonlyMap<string, Grant> | undefined
  readonly health: Pick<Health, 'availability' | 'missing'>
  readonly digest: Digest
  readonly allowed: readonly string[]
}

/** Combines a resolution with the present health. */
export function renderView({ resolution, generation, gateway, beside, health, digest, allowed }: ViewParts): View {
  const { active: tools, disabled: unavailable } = splitByHealth(resolution.grants.values(), health)
  const added = companions(beside, resolution)
  const direct = added.length > 0 ? [...tools, ...added] : tools
  const presented = gateway ? splitByHealth(gateway.values(), health).active : direct
  const kind = gateway ? 'gateway' : 'direct'
  return {
    // Tools behind the gateway may come and go without clients listing the gateway tools again.
    version: versionOf(presented, gateway ? [] : unavailable, digest),
    kind,
    presented,
    tools,
    refused: resolution.refused,
    ...renderReadings(resolution, { health, digest }),
    // Reasons are computed on demand: most readers only list and call.
    get unavailable() {
      return unavailable.map(grant => ({ grant, missing: health.missing(grant.tool) }))
    },
    report() {
      const granted = tools.map(grant => grantedEntry(grant, allowed))
      const missing = unavailable.map(grant => unavailableEntry(grant, health.missing(grant.tool)))
      return [...granted, ...missing, ...resolution.withheld, ...resolution.refused]
    },
    facts: () => viewFacts({ kind, presented, ...resolution, generation, health, allowed }),
    list() {
      const along = presented.filter(({ tool }) => !resolution.grants.has(tool.name))
      return [
        ...listTools(toolsOf([...tools, ...unavailable]), health),
        ...listTools(toolsOf(along), health).map(one => ({ ...one, comesAlong: true as const })),
      ]
    },
    detail: tool => toolDetail(tool, health),
  }
}

function toolsOf(grants: readonly Grant[]): Tool[] {
  return grants.map(({ tool }) => tool)
}

/** An agent's own tool wins over a companion of the same name. */
function companions(beside: ViewParts['beside'], { grants }: Resolution): Grant[] {
  return [...(beside?.values() ?? [])].filter(({ tool }) => !grants.has(tool.name))
}

function splitByHealth(grants: Iterable<Grant>, health: ViewParts['health']): { active: Grant[]; disabled: Grant[] } {
  const active: Grant[] = []
  const disabled: Grant[] = []
  for (const grant of grants) {
    if (health.availability(grant.tool).active) active.push(grant)
    else disabled.push(grant)
  }
  return { active: active.sort((a, b) => Number(isDeprecated(a.tool)) - Number(isDeprecated(b.tool))), disabled }
}

function versionOf(presented: readonly Grant[], unavailable: readonly Grant[], digest: Digest): string {
  const names = unavailable.map(({ tool }) => tool.name)
  return digest([...presented.map(({ tool }) => tool.hash), '', ...names].join('\n')).slice(0, 16)
}

function grantedEntry({ tool, capability }: Grant, allowed: readonly string[]): ResolutionEntry {
  const entry = { capability, ...namesOf(tool), state: 'granted' as const }
  const asks = tool.consent.filter(name => !allowed.includes(name))
  return asks.length === 0 ? entry : { ...entry, reason: `A person is asked first: ${asks.join(', ')}.` }
}

function unavailableEntry({ tool, capability }: Grant, missing: readonly MissingDependency[]): ResolutionEntry {
  return { capability, ...namesOf(tool), state: 'unavailable', reason: missingInWords(missing) }
}

/** Reports are compared with allowlists, so they use the same names. */
function namesOf({ name, ownName }: Grant['tool']): Pick<ResolutionEntry, 'tool' | 'calledAs'> {
  return ownName === name ? { tool: name } : { tool: ownName, calledAs: name }
}

interface ViewFactsParts extends Pick<ViewParts, 'generation' | 'health' | 'allowed'> {
  readonly kind: ViewKind
  readonly presented: readonly Grant[]
  readonly grants: Resolution['grants']
  readonly withheld: Resolution['withheld']
  readonly refused: Resolution['refused']
}

/** Describes what an agent has, gateway tools first. */
function viewFacts(parts: ViewFactsParts): Omit<AgentView, 'agent'> {
  const { kind, presented, grants, generation } = parts
  const added = presented.filter(({ tool }) => !grants.has(tool.name))
  const all = kind === 'gateway' ? [...added, ...grants.values()] : [...grants.values(), ...added]
  const keys = new Set(all.map(({ capability }) => capability))
  const sections = new Set(all.map(({ tool }) => tool.section))
  const listed = new Set(presented.map(({ tool }) => tool.name))
  const unseen = unseenCapabilities(parts)
  const withheld = withheldTools(parts)
  return {
    view: kind,
    capabilities: [...keys].map(key => capabilityFacts(key, generation)),
    sections: [...sections].map(key => ({ key, title: sectionTitle(key, all, generation) })),
    tools: all.map(grant => toolFacts(grant, listed.has(grant.tool.name), parts)),
    ...(unseen.length > 0 ? { unseen } : {}),
    ...(withheld.length > 0 ? { withheld } : {}),
  }
}

/** A capability's section has its title; an injected section has that of its injection. */
function sectionTitle(section: string, grants: readonly Grant[], { capabilities, injections }: Generation): string {
  const known = capabilities.get(section)
  if (known) return known.title
  const from = new Set(grants.filter(({ tool }) => tool.section === section).map(({ capability }) => capability))
  const keys = new Set(injections.map(({ injection }) => injection.key))
  const areInjected = !from.has(section) && [...from].every(key => keys.has(key))
  return areInjected ? [...from].map(titleFrom).join(' and ') : titleFrom(section)
}

function capabilityFacts(key: string, { capabilities, injections }: Generation): AgentView['capabilities'][number] {
  const { title, short } = capabilities.get(key) ?? { title: titleFrom(key), short: '' }
  const injected = injections.find(({ injection }) => injection.key === key)
  return { key, title, short: injected?.injection.short ?? short }
}

function toolFacts({ tool, capability }: Grant, listed: boolean, parts: ViewFactsParts): ViewedTool {
  const { name, title, short, whenToUse, section, command, mutates } = tool
  const { active } = parts.health.availability(tool)
  return {
    name,
    title,
    short,
    whenToUse,
    section,
    capability,
    ...(active ? { state: 'active' } : { state: 'disabled', reason: missingInWords(parts.health.missing(tool)) }),
    listed,
    mutates,
    mayWait: tool.retry !== 'manual' || tool.consent.some(operation => !parts.allowed.includes(operation)),
    tellsOfWaiting: tellsOfWaiting(capability, parts.generation),
    leadsToOthers: leadsToOthers(capability, parts.generation),
    shell: shellLine(tool),
    ...('none' in command ? { noCommand: command.none } : {}),
  }
}

/** Tools injected for waiting calls report their status. */
function tellsOfWaiting(capability: string, { injections }: Generation): boolean {
  return injections.some(({ injection: { key, modes } }) => key === capability && modes.includes('waiting'))
}

/** Tools of the gateway view only exist because the others are not listed. */
function leadsToOthers(capability: string, { injections }: Generation): boolean {
  return injections.some(
    ({ injection: { key, modes } }) => key === capability && modes.every(mode => mode === 'gateway'),
  )
}

/** How a tool is called from a shell: by its command, or by name. */
function shellLine(tool: Tool): string {
  const usage = commandUsage(tool)
  if (usage) return `do ${usage.words}`
  const { inputSchema: schema } = tool
  const pairs = fieldsOf(schema, schema).map(({ key, isRequired }) => (isRequired ? `${key}=…` : `[${key}=…]`))
  return line(['call', tool.name, ...pairs].join(' '))
}

interface ReadingsView {
  /** Granted and available prompts, in order of definition. */
  readonly prompts: readonly PromptGrant[]
  /** Changes whenever clients should list the prompts again. */
  readonly promptsVersion: string
  /** Resources and resource templates. */
  readonly resources: readonly ResourceGrant[]
  /** Changes whenever clients should list the resources again. */
  readonly resourcesVersion: string
  readonly skills: readonly Skill[]
}

function renderReadings(
  resolution: Pick<Resolution, 'prompts' | 'resources' | 'skills'>,
  { health, digest }: { health: Pick<Health, 'availability'>; digest: Digest },
): ReadingsView {
  const prompts = [...resolution.prompts.values()].filter(({ prompt }) => health.availability(prompt).active)
  const resources = [...resolution.resources.values()].filter(({ resource }) => health.availability(resource).active)
  const digestOf = (hashes: readonly string[]) => digest(hashes.join('\n')).slice(0, 16)
  return {
    prompts,
    promptsVersion: digestOf(prompts.map(({ prompt }) => prompt.hash)),
    resources,
    resourcesVersion: digestOf(resources.map(({ resource }) => resource.hash)),
    skills: resolution.skills,
  }
}

/** The resource at this URI: an exact match, else the first matching template. */
export function findResource(
  resources: Resolution['resources'],
  uri: string,
): { grant: ResourceGrant; params: Readonly<Record<string, string>> } | undefined {
  const exact = resources.get(uri)
  if (exact?.resource.uri === uri) return { grant: exact, params: {} }
  for (const grant of resources.values()) {
    const params = grant.resource.uriTemplate === undefined ? undefined : grant.resource.match(uri)
    if (params) return { grant, params }
  }
  return undefined
}

interface SeenParts {
  readonly withheld: readonly ResolutionEntry[]
  readonly refused: readonly ResolutionEntry[]
  readonly generation: Generation
  readonly health: Pick<Health, 'missing'>
}

interface WithheldParts extends SeenParts {
  readonly absent: readonly ResolutionEntry[]
}

/** A granted tool that cannot be called now by this name, with the reason. Computed only when it is called. */
export function withheldTool(tool: string, parts: WithheldParts): ResolutionEntry | undefined {
  const { withheld, absent, generation } = parts
  const isCalled = ({ tool: own, calledAs = own }: ResolutionEntry) => calledAs === tool
  const known = withheld.filter(entry => isCalled(entry) && entry.reason !== undefined)
  // A call means the owner of the name, even while no tool is offered under it.
  const owner = generation.owners.get(`tool:${tool}`)?.unit
  const isOwners = ({ capability }: ResolutionEntry) => generation.capabilities.get(capability)?.unit === owner
  const owned = owner === undefined ? undefined : known.find(isOwners)
  const held = owned ?? known.find(({ reason }) => reason !== NAME_TAKEN) ?? known[0]
  return held ?? absent.find(isCalled) ?? refusedTool(tool, parts) ?? unlistedTool(tool, parts)
}

/** A wrong request in the agent's file: by its name, by the prefixed name of a server's tool, or as part of a capability. */
function refusedTool(tool: string, { refused, generation }: SeenParts): ResolutionEntry | undefined {
  return refused.find(({ capability, tool: own }) => {
    if (own !== '*') return own === tool || `${capability}_${own}` === tool
    const known = generation.capabilities.get(capability)
    return tool.startsWith(`${capability}_`) || known?.tools.some(({ name }) => name === tool)
  })
}

/** The unit that may have a tool of this name and is not listed yet. */
export function unlistedUnit(tool: string, parts: WithheldParts): string | undefined {
  const held = withheldTool(tool, parts)
  if (held && parts.refused.includes(held)) return undefined
  const capability = held && parts.generation.capabilities.get(held.capability)
  return capability?.unseen === undefined ? undefined : capability.unit
}

/** A unit that is not listed yet may have any tool. Names of a server's tools begin with the server's name. */
function unlistedTool(tool: string, parts: SeenParts): ResolutionEntry | undefined {
  const { withheld, generation } = parts
  const mayBe = ({ capability, tool: own, state, reason }: ResolutionEntry) => {
    if (state !== 'unavailable' || reason === undefined) return false
    // While code is still loading it is unknown whether a capability is a server's.
    const prefixes = generation.capabilities.has(capability) ? [`${capability}_`] : [`${capability}_`, '']
    return prefixes.some(prefix => (own === '*' ? tool.startsWith(prefix) : tool === `${prefix}${own}`))
  }
  const found = withheld.find(entry => mayBe(entry) && !isSeen(entry, parts))
  if (!found) return undefined
  const why = [`"${found.capability}" may have it.`, unlistedReason(found, parts), found.reason]
    .filter(Boolean)
    .join(' ')
  return { ...found, tool, reason: why }
}

/** Whether the name a withheld, removed or excluded tool would be called by is known. */
function isSeen({ capability: key, tool }: ResolutionEntry, { generation }: SeenParts): boolean {
  const capability = generation.capabilities.get(key)
  if (!capability) return false
  return [...capability.hidden, ...removedTools(capability)].some(({ name }) => name === tool)
}

/** Granted tools that are withheld, removed, excluded or wrong. */
function withheldTools(parts: SeenParts): { tool: string; capability: string; reason: string }[] {
  const held = parts.withheld.filter(entry => entry.state === 'unavailable' && isSeen(entry, parts))
  return [...held, ...parts.refused].flatMap(({ tool, calledAs = tool, capability, reason }) =>
    tool === '*' || reason === undefined ? [] : [{ tool: calledAs, capability, reason }],
  )
}

/** Granted capabilities whose tools are not known yet, or whose configuration is wrong. */
function unseenCapabilities(parts: SeenParts): { capability: string; reason: string }[] {
  const keys = new Set(parts.withheld.map(({ capability }) => capability))
  const wrong = parts.refused.flatMap(({ capability, tool, reason }) =>
    tool === '*' && reason !== undefined ? [{ capability, reason }] : [],
  )
  const unseenOnes = [...keys].flatMap(capability => {
    const unseen = parts.generation.capabilities.get(capability)?.unseen
    if (unseen === undefined) return []
    return [{ capability, reason: [unlistedReason({ capability }, parts), unseen].filter(Boolean).join(' ') }]
  })
  return [...unseenOnes, ...wrong]
}

/** Why its server was not listed, which changes more often than its offer. */
function unlistedReason(
  { capability }: Pick<ResolutionEntry, 'capability'>,
  { generation, health }: SeenParts,
): string {
  const { unseen, unit: own } = generation.capabilities.get(capability) ?? {}
  if (unseen === undefined) return ''
  const requires = [...generation.dependencies.values()].filter(({ unit }) => unit === own).map(({ name }) => name)
  const missing = health.missing({ requires }, { withRecovering: true })
  return missingInWords(missing.filter(({ reason }) => !unseen.includes(reason)))
}
