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
  type Generation,
  hadNameFirst,
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
 * Turns an agent's capabilities object into grants. Synchronous, starts nothing, tells everything that is wrong at once. A wrong
 * capability, or a name in `tools` that does not exist, takes away itself alone.
 */
export function resolveCapabilities(
  capabilities: Readonly<Record<string, CapabilityConfig>>,
  context: ResolverContext,
  { generation, mount }: ResolvedFrom,
): Resolution {
  const steps = Object.entries(capabilities).map(([key, config]) =>
    resolveOne(key, config, { context, generation, mount }),
  )
  const ordered = steps.toSorted((a, b) => a.position - b.position)
  return {
    grants: new Map(ordered.flatMap(step => step.grants).map(grant => [grant.tool.name, grant])),
    prompts: new Map(ordered.flatMap(step => step.prompts).map(grant => [grant.prompt.name, grant])),
    ...takeAddresses(ordered.flatMap(step => step.resources)),
    skills: [],
    withheld: steps.flatMap(step => step.withheld),
    absent: steps.flatMap(step => step.absent),
    refused: steps.flatMap(step => step.refused),
    issues: steps.flatMap(step => step.issues),
  }
}

/**
 * The capability that has had an address longest keeps it, whatever works now: a reader must not get the one source first and
 * then the other. Resources of external servers go last.
 */
function takeAddresses(grants: readonly ResourceGrant[]): Pick<Resolution, 'resources' | 'shadowed'> {
  const resources = new Map<string, ResourceGrant>()
  for (const grant of grants) {
    const first = resources.get(grant.resource.key)
    if (!first || hadNameFirst(holderOf(grant), holderOf(first))) resources.set(grant.resource.key, grant)
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

/** What is not of a server of others stays in the order it is defined in. */
function holderOf({ resource: { claimedAt, unit } }: ResourceGrant): { since: number; unit: string } {
  return claimedAt === undefined ? { since: Number.NEGATIVE_INFINITY, unit: '' } : { since: claimedAt, unit }
}

/** What capabilities are resolved from. */
interface ResolvedFrom {
  readonly generation: Generation
  /** Nothing of someone else's is mounted without one. */
  readonly mount: Mount | undefined
}

interface Resolving extends ResolvedFrom {
  readonly context: ResolverContext
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
  if (!capability && generation.isPartial) return stillComing(key, entry)
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
  // A list of names that do not exist is not an empty one: the agent was meant to have something else.
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

/** Capabilities that come along automatically have names too, and people try them. */
function injectionHint(key: string, { injections }: Generation): string | undefined {
  const found = injections.find(({ injection }) => injection.key === key)
  if (!found) return undefined
  return found.injection.modes.includes('gateway')
    ? ' It is a view: write "view": "gateway" beside "capabilities".'
    : ' It comes with some runs by itself and cannot be given.'
}

/** At start a file may take its time. An agent that names what it brings keeps everything else meanwhile. */
function stillComing(key: string, { tools = ['*'] }: CapabilityConfig): Step {
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

/** The whole capability is withheld: each tool the agent lists, or all as `*`. */
function refused(key: string, { tools = ['*'] }: CapabilityConfig, issues: readonly CapabilityIssue[]): Step {
  const reason = issues.map(({ message }) => message).join(' ')
  return {
    ...NOTHING,
    refused: unavailable(
      key,
      [...new Set(tools)].map(name => ({ name, reason })),
    ),
    issues,
  }
}

function checkConfig(config: Record<string, unknown>, capability: CatalogueCapability): Validated {
  if (!capability.validateConfig) {
    const [extra] = Object.keys(config)
    if (extra === undefined) return { ok: true, value: {} }
    return {
      ok: false,
      issues: [{ path: [extra], message: `Capability "${capability.key}" takes no configuration beside "tools".` }],
    }
  }
  const checked = capability.validateConfig(config)
  if (checked instanceof Promise) {
    return {
      ok: false,
      issues: [
        { path: [], message: 'Its configuration schema checks asynchronously, which resolving cannot wait for.' },
      ],
    }
  }
  return checked.ok ? checked : { ok: false, issues: checked.issues.map(issue => namedIssue(issue, capability)) }
}

/** What a schema says of a value names neither the field nor whose it is. */
function namedIssue({ path, message }: Issue, { key }: CatalogueCapability): Issue {
  const what = path.length === 0 ? 'its configuration' : `"${path.join('.')}"`
  const text = issuePredicate({ message })
  const said = /^[A-Z]/.test(text) ? `is wrong: ${text}` : text
  return { path, message: issueText({ path: [], message: `Capability "${key}": ${what} ${said}` }) }
}

/** What a resolver gave, if it is anything it may give. */
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
  { names, offered, withheld, absent }: Allowlist,
  resolved: ResolvedCapability | null,
): Step {
  if (resolved === null) {
    const reason = 'The capability left itself out of this run.'
    return {
      ...NOTHING,
      position,
      withheld: names.map(tool => ({ capability: key, tool, state: 'skipped', reason })),
    }
  }
  const { config } = resolved
  const grants = capability.tools
    .filter(tool => offered.has(tool.ownName))
    .map(tool => ({ tool, capability: key, config }))
  const callable = new Set(grants.map(({ tool }) => tool.ownName))
  const empty = [...offered].filter(name => !callable.has(name)).map(name => ({ name, reason: NOTHING_TO_CALL }))
  // The list of tools is about tools: an agent with the capability may read what it brings.
  const prompts = capability.prompts.map(prompt => ({ prompt, capability: key, config }))
  const resources = capability.resources.map(resource => ({ resource, capability: key, config }))
  const missing = { withheld: unavailable(key, [...withheld, ...empty]), absent: unavailable(key, absent) }
  return { ...NOTHING, position, grants, prompts, resources, ...missing }
}

const NOTHING_TO_CALL = 'Its capability brought nothing that can be called.'

/**
 * Handing out a foreign server as it is would go around the call path, so it is mounted, and what is granted are the tools
 * of the capability that makes. Its names are the server's, and it may be a while until they are known.
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
  return {
    ...NOTHING,
    position,
    withheld: unavailable(
      key,
      allowlist.names.map(name => ({ name, reason })),
    ),
  }
}

/** Tools that the server turns out not to have are reported, but are not an error in the agent's file: the list is not the owner's. */
function mountedAllowlist(tools: readonly string[] | undefined, found: CatalogueCapability): Allowlist {
  const allowlist = readAllowlist(tools, found)
  const told = new Set([...allowlist.offered, ...allowlist.withheld.map(({ name }) => name)])
  const absent = allowlist.names
    .filter(name => !told.has(name))
    .map(name => ({ name, reason: 'Its server has no such tool.' }))
  return { ...allowlist, withheld: [...allowlist.withheld, ...absent] }
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

/** Someone else's server that a capability resolved to for one agent. */
export interface MountRequest {
  /** The capability that names it. */
  readonly key: string
  readonly server: McpServerConfig
  readonly context: ResolverContext
}

/** What became of it: the capability whose tools are that server's, or why there is none. */
export type Mounted = { readonly capability: string } | { readonly reason: string }

/**
 * Has someone else's server mounted as an upstream. It answers at once and starts nothing itself: it notes what is wanted,
 * and the capability it names may come with a later generation. Asked for the same server again it gives the same answer.
 */
export type Mount = (request: MountRequest) => Mounted

/** One tool that an agent has, and the configuration its handler gets. */
export interface Grant {
  readonly tool: Tool
  readonly capability: string
  readonly config: unknown
}

/** One prompt that an agent has, and the configuration it is filled in with. */
export interface PromptGrant {
  readonly prompt: Prompt
  readonly capability: string
  readonly config: unknown
}

/** One resource that an agent may read, and the configuration it is read with. */
export interface ResourceGrant {
  readonly resource: Resource
  readonly capability: string
  readonly config: unknown
}

/** What an agent's capabilities come to in one generation, whatever works just now. */
export interface Resolution {
  /** In order of definition. */
  readonly grants: ReadonlyMap<string, Grant>
  /** By name, in order of definition. */
  readonly prompts: ReadonlyMap<string, PromptGrant>
  /** By address or template, in order of definition. */
  readonly resources: ReadonlyMap<string, ResourceGrant>
  /** The directions among the resources, as skills. */
  readonly skills: readonly Skill[]
  /** Resources at an address that an earlier one has; one entry for each two capabilities. */
  readonly shadowed: readonly ShadowedResources[]
  /** What was asked for and is not there, with the reason. */
  readonly withheld: readonly ResolutionEntry[]
  /** Tools that the servers had once or that are left out, with the reason, where everything was asked for. Shown only to an agent that calls one. */
  readonly absent: readonly ResolutionEntry[]
  /** Capabilities and names in `tools` lists that the configuration asks for wrongly; nothing is granted for them. */
  readonly refused: readonly ResolutionEntry[]
  /** What is wrong with the configuration. The library refuses all of it; a gateway withholds only what is in `refused`. */
  readonly issues: readonly CapabilityIssue[]
}

/** What a capability has at addresses where an agent reads the resources of another one. */
export interface ShadowedResources {
  readonly capability: string
  /** The one whose resources are read. */
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

/** What an agent's list of tools comes to. All names are own names: those the capability's author gave. */
interface Allowlist {
  /** Asked for, whether it can be had or not. */
  readonly names: readonly string[]
  /** Asked for and offered. */
  readonly offered: ReadonlySet<string>
  /** Asked for and not offered now, each with the reason. */
  readonly withheld: readonly WithheldTool[]
  /** Tools that existed once or are left out, where everything was asked for: shown to an agent that calls one. */
  readonly absent: readonly WithheldTool[]
}

interface CheckedList {
  /** The list without doubles and unknown names. */
  readonly tools: readonly string[] | undefined
  readonly unknown: readonly WithheldTool[]
  readonly issues: readonly CapabilityIssue[]
}

/** `tools` is ours: omitted means all, `[]` none; no wildcards, no doubles, no unknown names. */
function checkAllowlist(tools: readonly string[] | undefined, capability: CatalogueCapability): CheckedList {
  const known = [...capability.descriptors, ...capability.hidden].map(({ name }) => name)
  // A server that drops a tool, or an owner who leaves one out, must not take all other tools from an agent that names it.
  const isKnown = new Set([...known, ...removedTools(capability).map(({ name }) => name)])
  const seen = new Set<string>()
  const unknown = new Map<string, string>()
  const issues = (tools ?? []).flatMap((name, index) => {
    if (seen.has(name)) return [issue(index, `"${name}" is listed twice.`)]
    seen.add(name)
    // A name that has not been seen yet is neither right nor wrong.
    if (isKnown.has(name) || capability.unseen !== undefined) return []
    const hint = calledAsHint(name, capability) || didYouMean(name, known) || ` It has: ${someOf(known)}.`
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

/** Divides what was asked for, which was checked, into what is offered and what is not. */
function readAllowlist(tools: readonly string[] | undefined, capability: CatalogueCapability): Allowlist {
  const { descriptors, hidden, unseen } = capability
  const absent = removedTools(capability)
  const offered = new Set(descriptors.map(({ name }) => name))
  // Of what is gone or left out only those hear who ask for it.
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

/** A server may have thousands, and the message is one line. */
function someOf(names: readonly string[]): string {
  const left = names.length - MOST_NAMES
  return `${names.slice(0, MOST_NAMES).join(', ') || 'none'}${left > 0 ? `, and ${left} more` : ''}`
}

const MOST_NAMES = 20

function issue(index: number, message: string): CapabilityIssue {
  return { code: 'CONFIG_INVALID', path: ['tools', index], message }
}

/** An owner who looks at an agent's tools sees the names they are called by, and writes those. */
function calledAsHint(name: string, { descriptors }: CatalogueCapability): string {
  const meant = descriptors.find(({ calledAs }) => calledAs === name)
  return meant ? ` Here it is listed as its server calls it: "${meant.name}".` : ''
}
