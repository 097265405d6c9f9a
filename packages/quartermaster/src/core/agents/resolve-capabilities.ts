import {
  type CapabilityConfig,
  type Issue,
  issueText,
  type McpServerConfig,
  messageOf,
  type ResolutionEntry,
  type ResolverContext,
} from '../../contracts/index.ts'
import {
  type CatalogueCapability,
  claimedEarlier,
  type Generation,
  type Prompt,
  type ResolvedCapability,
  type Resource,
  removedTools,
  type Tool,
  type Validated,
  type WithheldTool,
} from '../catalogue/index.ts'
import { didYouMean, issuePredicate } from '../kernel/index.ts'
import { type Skill } from '../knowledge/index.ts'

/**
 * Turns an agent's capabilities object into grants, synchronously and without side effects, reporting all issues at once. A wrong
 * capability, or an unknown name in `tools`, removes only itself.
 */
export function resolveCapabilities(
  capabilities: Readonly<Record<string, CapabilityConfig>>,
  context: ResolverContext,
  { generation, mount }: Omit<Resolving, 'context'>,
): Resolution {
  const steps = Object.entries(capabilities).map(([key, config]) =>
    resolveOne(key, config, { context, generation, mount }),
  )
  const ordered = steps.toSorted((a, b) => a.position - b.position)
  return {
    grants: new Map(ordered.flatMap(step => step.grants).map(grant => [grant.tool.name, grant])),
    prompts: new Map(ordered.flatMap(step => step.prompts).map(grant => [grant.prompt.name, grant])),
    ...resolveAddresses(ordered.flatMap(step => step.resources)),
    skills: [],
    withheld: steps.flatMap(step => step.withheld),
    absent: steps.flatMap(step => step.absent),
    refused: steps.flatMap(step => step.refused),
    issues: steps.flatMap(step => step.issues),
  }
}

/**
 * The capability that had a URI first keeps it, available or not: a reader must not get one source and then the other. Resources of
 * external servers come last.
 */
function resolveAddresses(grants: readonly ResourceGrant[]): Pick<Resolution, 'resources' | 'shadowed'> {
  const resources = new Map<string, ResourceGrant>()
  for (const grant of grants) {
    const first = resources.get(grant.resource.key)
    if (!first || claimedEarlier(claimOf(grant), claimOf(first))) resources.set(grant.resource.key, grant)
  }
  const shadowed = new Map<string, ShadowedResources & { readonly keys: string[] }>()
  for (const { capability, resource } of grants) {
    const first = resources.get(resource.key)
    if (!first || first.resource === resource) continue
    const by = first.capability
    const pair = shadowed.get(`${capability} ${by}`) ?? { capability, by, keys: [] }
    pair.keys.push(resource.key)
    shadowed.set(`${capability} ${by}`, pair)
  }
  return { resources, shadowed: [...shadowed.values()] }
}

/** Resources that are not of an upstream keep the order of definition. */
function claimOf({ resource: { claimedAt, unit } }: ResourceGrant): { since: number; unit: string } {
  return claimedAt === undefined ? { since: Number.NEGATIVE_INFINITY, unit: '' } : { since: claimedAt, unit }
}

interface Resolving {
  readonly context: ResolverContext
  readonly generation: Generation
  /** Without it no foreign server is mounted. */
  readonly mount: Mount | undefined
}

interface Step {
  readonly position: number
  readonly grants: readonly Grant[]
  readonly prompts: readonly PromptGrant[]
  readonly resources: readonly ResourceGrant[]
  readonly withheld: readonly ResolutionEntry[]
  readonly absent: readonly ResolutionEntry[]
  readonly refused: readonly ResolutionEntry[]
  readonly issues: readonly CapabilityIssue[]
}

function resolveOne(key: string, entry: CapabilityConfig, resolving: Resolving): Step {
  const { generation, context } = resolving
  const capability = generation.capabilities.get(key)
  if (!capability && generation.isPartial) return notLoadedYet(key, entry)
  if (!capability) {
    const hint = injectionHint(key, generation) ?? didYouMean(key, generation.capabilities.keys())
    const message = `There is no capability "${key}".${hint}`
    return refused(key, entry, [{ code: 'CAPABILITY_UNKNOWN', path: ['capabilities', key], message }])
  }
  const { tools: wanted, ...config } = entry
  const checked = checkConfig(config, capability)
  const inKey = <I extends Issue>(issue: I): I => ({ ...issue, path: ['capabilities', key, ...issue.path] })
  const listed = checkAllowlist(wanted, capability)
  const stale = listed.issues.map(inKey)
  if (!checked.ok) {
    const wrong = checked.issues.map(issue => inKey({ ...issue, code: 'CONFIG_INVALID' as const }))
    return refused(key, entry, [...stale, ...wrong])
  }
  // A list of only unknown names is not an empty list: the agent was meant to have something.
  if (wanted && wanted.length > 0 && listed.tools?.length === 0) return refused(key, entry, stale)
  const { tools } = listed
  const allowlist = readAllowlist(tools, capability)
  const value = checked.value as Record<string, unknown>
  try {
    const given = { ...value, tools: allowlist.names.filter(name => allowlist.offered.has(name)) }
    const resolved = checkResolved(capability.resolver.resolve(context, given))
    const step = resolved?.mcpServer
      ? grantMounted(capability, { server: resolved.mcpServer, tools, allowlist }, resolving)
      : grantAllowed(capability, allowlist, resolved)
    return { ...step, issues: stale, refused: unavailable(key, listed.unknown) }
  } catch (error) {
    const message = `Capability "${key}" could not be resolved: ${messageOf(error)}`
    return refused(key, entry, [...stale, { code: 'CONFIG_INVALID', path: ['capabilities', key], message }])
  }
}

/** Injections have keys too, and people try them. */
function injectionHint(key: string, { injections }: Generation): string | undefined {
  const found = injections.find(({ injection }) => injection.key === key)
  if (!found) return undefined
  return found.injection.modes.includes('gateway')
    ? ' It is a view: write "view": "gateway" beside "capabilities".'
    : ' It comes with some runs by itself and cannot be given.'
}

/** While sources load, an unknown capability may still come, so it is withheld rather than refused. */
function notLoadedYet(key: string, { tools = ['*'] }: CapabilityConfig): Step {
  const reason = 'It is still being loaded, or does not exist.'
  return { ...NOTHING, withheld: tools.map(tool => ({ capability: key, tool, state: 'unavailable', reason })) }
}

const NOTHING: Step = {
  position: 0,
  grants: [],
  prompts: [],
  resources: [],
  withheld: [],
  absent: [],
  refused: [],
  issues: [],
}

/** Refuses the whole capability: each listed tool, or `*`. */
function refused(key: string, { tools = ['*'] }: CapabilityConfig, issues: readonly CapabilityIssue[]): Step {
  const reason = issues.map(({ message }) => message).join(' ')
  const names = [...new Set(tools)]
  return { ...NOTHING, refused: unavailable(key, withReason(names, reason)), issues }
}

function checkConfig(config: Record<string, unknown>, capability: CatalogueCapability): Validated {
  if (!capability.validateConfig) {
    const [extra] = Object.keys(config)
    if (extra === undefined) return { ok: true, value: {} }
    const message = `Capability "${capability.key}" takes no configuration beside "tools".`
    return { ok: false, issues: [{ path: [extra], message }] }
  }
  const checked = capability.validateConfig(config)
  if (checked instanceof Promise) {
    const message = 'Its configuration schema checks asynchronously, which resolving cannot wait for.'
    return { ok: false, issues: [{ path: [], message }] }
  }
  return checked.ok ? checked : { ok: false, issues: checked.issues.map(issue => namedIssue(issue, capability)) }
}

/** Adds the field and the capability to a schema's message. */
function namedIssue({ path, message }: Issue, { key }: CatalogueCapability): Issue {
  const what = path.length === 0 ? 'its configuration' : `"${path.join('.')}"`
  const text = issuePredicate({ message })
  const said = /^[A-Z]/.test(text) ? `is wrong: ${text}` : text
  return { path, message: issueText({ path: [], message: `Capability "${key}": ${what} ${said}` }) }
}

/** Validates what a resolver returned. */
export function checkResolved(resolved: unknown): ResolvedCapability | null {
  if (resolved instanceof Promise) {
    // The promise is not awaited, so its rejection has no other handler.
    resolved.catch(() => {})
    throw new TypeError('its resolver must answer at once, not with a promise')
  }
  if (resolved !== null && typeof resolved !== 'object')
    throw new TypeError('its resolver must answer with an object or null')
  return resolved as ResolvedCapability | null
}

function grantAllowed(
  { key, position, ...capability }: CatalogueCapability,
  { names, offered, withheld: held, absent }: Allowlist,
  resolved: ResolvedCapability | null,
): Step {
  if (resolved === null) {
    const reason = 'The capability left itself out of this run.'
    const withheld = names.map(tool => ({ capability: key, tool, state: 'skipped' as const, reason }))
    return { ...NOTHING, position, withheld }
  }
  const { config } = resolved
  const grants = capability.tools
    .filter(tool => offered.has(tool.ownName))
    .map(tool => ({ tool, capability: key, config }))
  const callable = new Set(grants.map(({ tool }) => tool.ownName))
  const empty = withReason(
    [...offered].filter(name => !callable.has(name)),
    NO_HANDLER,
  )
  // The allowlist restricts tools only: prompts and resources are granted with the capability.
  const prompts = capability.prompts.map(prompt => ({ prompt, capability: key, config }))
  const resources = capability.resources.map(resource => ({ resource, capability: key, config }))
  const missing = { withheld: unavailable(key, [...held, ...empty]), absent: unavailable(key, absent) }
  return { ...NOTHING, position, grants, prompts, resources, ...missing }
}

const NO_HANDLER = 'Its capability brought nothing that can be called.'

/**
 * Passing on a foreign server directly would bypass the call path, so it is mounted, and the tools of the resulting capability are
 * granted. Their names are the server's and may not be known yet.
 */
function grantMounted(
  { key, position }: CatalogueCapability,
  wanted: { server: McpServerConfig; tools: readonly string[] | undefined; allowlist: Allowlist },
  { mount, context, generation }: Resolving,
): Step {
  const { server, tools, allowlist } = wanted
  const mounted = mount?.({ key, server, context }) ?? { reason: 'It names an MCP server that is not mounted here.' }
  const found = 'capability' in mounted ? generation.capabilities.get(mounted.capability) : undefined
  if (found) return grantAllowed({ ...found, key, position }, mountedAllowlist(tools, found), {})
  const reason = 'reason' in mounted ? mounted.reason : 'Its MCP server is being mounted.'
  return { ...NOTHING, position, withheld: unavailable(key, withReason(allowlist.names, reason)) }
}

/** Listed tools that the server does not have are reported without an issue: the owner does not control the list. */
function mountedAllowlist(tools: readonly string[] | undefined, found: CatalogueCapability): Allowlist {
  const allowlist = readAllowlist(tools, found)
  const known = new Set([...allowlist.offered, ...allowlist.withheld.map(({ name }) => name)])
  const absent = allowlist.names.filter(name => !known.has(name))
  return { ...allowlist, withheld: [...allowlist.withheld, ...withReason(absent, 'Its server has no such tool.')] }
}

function withReason(names: readonly string[], reason: string): WithheldTool[] {
  return names.map(name => ({ name, reason }))
}

function unavailable(capability: string, tools: Allowlist['withheld']): ResolutionEntry[] {
  return tools.map(({ name, reason, calledAs }) => ({
    capability,
    tool: name,
    ...(calledAs === undefined ? {} : { calledAs }),
    state: 'unavailable',
    reason,
  }))
}

/** A foreign server that a capability resolved to for one agent. */
export interface MountRequest {
  readonly key: string
  readonly server: McpServerConfig
  readonly context: ResolverContext
}

/** The capability with that server's tools, or why there is none. */
type Mounted = { readonly capability: string } | { readonly reason: string }

/**
 * Requests mounting of a foreign server as an upstream. Returns immediately: the capability it names may come with a later
 * generation. Idempotent for the same server.
 */
export type Mount = (request: MountRequest) => Mounted

/** A granted tool and its handler's configuration. */
export interface Grant {
  readonly tool: Tool
  readonly capability: string
  readonly config: unknown
}

export interface PromptGrant extends Omit<Grant, 'tool'> {
  readonly prompt: Prompt
}

export interface ResourceGrant extends Omit<Grant, 'tool'> {
  readonly resource: Resource
}

/** What an agent's capabilities grant in one generation, regardless of availability. */
export interface Resolution {
  readonly grants: ReadonlyMap<string, Grant>
  readonly prompts: ReadonlyMap<string, PromptGrant>
  readonly resources: ReadonlyMap<string, ResourceGrant>
  readonly skills: readonly Skill[]
  /** Resources hidden by another capability with the same URI, one entry per pair of capabilities. */
  readonly shadowed: readonly ShadowedResources[]
  /** Requested tools that are not offered now, with the reason. */
  readonly withheld: readonly ResolutionEntry[]
  /** Removed or excluded tools of agents without an allowlist, with the reason. Shown only when the agent calls one. */
  readonly absent: readonly ResolutionEntry[]
  /** Wrong capabilities and names in allowlists; nothing is granted for them. */
  readonly refused: readonly ResolutionEntry[]
  /** Issues of the configuration. The library throws them; a gateway only withholds `refused`. */
  readonly issues: readonly CapabilityIssue[]
}

/** Resources of a capability that are hidden by another one. */
export interface ShadowedResources {
  readonly capability: string
  /** The capability whose resources are read. */
  readonly by: string
  readonly keys: readonly string[]
}

export interface CapabilityIssue extends Issue {
  readonly code: 'CAPABILITY_UNKNOWN' | 'CONFIG_INVALID'
}

export const NOTHING_GRANTED: Resolution = Object.freeze({
  grants: new Map(),
  prompts: new Map(),
  resources: new Map(),
  skills: [],
  shadowed: [],
  withheld: [],
  absent: [],
  refused: [],
  issues: [],
})

/** An agent's allowlist, resolved. All names are own names, as the capability's author wrote them. */
interface Allowlist {
  /** All requested names. */
  readonly names: readonly string[]
  readonly offered: ReadonlySet<string>
  /** Requested and not offered now, with the reason. */
  readonly withheld: readonly WithheldTool[]
  /** Removed or excluded tools when there is no allowlist. */
  readonly absent: readonly WithheldTool[]
}

/** Omitted means all tools, `[]` none. `tools` of the answer has no duplicates and no unknown names. */
function checkAllowlist(tools: readonly string[] | undefined, capability: CatalogueCapability) {
  const known = [...capability.descriptors, ...capability.hidden].map(({ name }) => name)
  // If a server drops a tool or the owner excludes it, an agent that lists it must not lose the others.
  const isKnown = new Set([...known, ...removedTools(capability).map(({ name }) => name)])
  const seen = new Set<string>()
  const unknown = new Map<string, string>()
  const issues = (tools ?? []).flatMap((name, index) => {
    if (seen.has(name)) return [issue(index, `"${name}" is listed twice.`)]
    seen.add(name)
    // Before the first listing no name can be judged.
    if (isKnown.has(name) || capability.unseen !== undefined) return []
    const hint = calledAsHint(name, capability) || didYouMean(name, known) || ` It has: ${firstNames(known)}.`
    const message = `Capability "${capability.key}" has no tool "${name}".${hint}`
    unknown.set(name, message)
    return [issue(index, message)]
  })
  return {
    tools: tools && [...seen].filter(name => !unknown.has(name)),
    unknown: [...unknown].map(([name, reason]) => ({ name, reason })),
    issues,
  }
}

/** Splits the checked names into offered and withheld ones. */
function readAllowlist(tools: readonly string[] | undefined, capability: CatalogueCapability): Allowlist {
  const { descriptors, hidden, unseen } = capability
  const absent = removedTools(capability)
  const offered = new Set(descriptors.map(({ name }) => name))
  // Removed and excluded tools are reported only to agents that list them.
  const held = new Map([...(tools ? absent : []), ...hidden].map(tool => [tool.name, tool]))
  const names = tools ?? [...offered, ...held.keys(), ...(unseen === undefined ? [] : ['*'])]
  return {
    names,
    offered: new Set(names.filter(name => offered.has(name))),
    withheld: names.flatMap(name => {
      if (offered.has(name)) return []
      return held.get(name) ?? (unseen === undefined ? [] : [{ name, reason: unseen }])
    }),
    absent: tools ? [] : absent,
  }
}

/** A server may have thousands of tools, and the message is one line. */
function firstNames(names: readonly string[]): string {
  const left = names.length - MOST_NAMES
  return `${names.slice(0, MOST_NAMES).join(', ') || 'none'}${left > 0 ? `, and ${left} more` : ''}`
}

const MOST_NAMES = 20

function issue(index: number, message: string): CapabilityIssue {
  return { code: 'CONFIG_INVALID', path: ['tools', index], message }
}

/** Owners see the names that tools are called by and write those. */
function calledAsHint(name: string, { descriptors }: CatalogueCapability): string {
  const meant = descriptors.find(({ calledAs }) => calledAs === name)
  return meant ? ` Here it is listed as its server calls it: "${meant.name}".` : ''
}
