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
  isEarlier,
  type ResolvedCapability,
  type Validated,
} from '../catalogue/index.ts'
import { didYouMean, issuePredicate } from '../kernel/index.ts'
import { type Allowlist, checkAllowlist, readAllowlist } from './allowlist.ts'
import type { CapabilityIssue, Grant, PromptGrant, Resolution, ResourceGrant, ShadowedResources } from './grants.ts'
import type { Mount } from './mount.ts'

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
 * Who has had an address for longest has it, whatever works just now: nobody is to read now from the one and then from the
 * other. What is not of a server of others goes first.
 */
function takeAddresses(grants: readonly ResourceGrant[]): Pick<Resolution, 'resources' | 'shadowed'> {
  const resources = new Map<string, ResourceGrant>()
  for (const grant of grants) {
    const first = resources.get(grant.resource.key)
    if (!first || isEarlier(holderOf(grant), holderOf(first))) resources.set(grant.resource.key, grant)
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
export interface ResolvedFrom {
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

/** What comes along by itself has a name too, and people try it. */
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
    // Nobody waits for it, so nobody would take its rejection.
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
  // The list of tools is about tools: whoever has the capability may read what it brings.
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

/** What the server does not have after all is told, and wrong in nobody's file: the list is of another's making. */
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
