import { type CapabilityConfig, messageOf, type ResolutionEntry, type ResolverContext } from '../../contracts/index.ts'
import type { CatalogueCapability, Generation, ResolvedCapability, Validated } from '../catalogue/index.ts'
import { didYouMean } from '../kernel/index.ts'
import {
  type CapabilityIssue,
  type Grant,
  NOTHING_GRANTED,
  type PromptGrant,
  type Resolution,
  type ResourceGrant,
} from './grants.ts'

/** Turns an agent's capabilities object into grants. Synchronous, starts nothing, tells everything that is wrong at once. */
export function resolveCapabilities(
  capabilities: Readonly<Record<string, CapabilityConfig>>,
  context: ResolverContext,
  generation: Generation,
): Resolution {
  const steps = Object.entries(capabilities).map(([key, config]) => resolveOne(key, config, context, generation))
  const issues = steps.flatMap(step => step.issues)
  const withheld = steps.flatMap(step => step.withheld)
  if (issues.length > 0) return { ...NOTHING_GRANTED, issues }
  const ordered = steps.toSorted((a, b) => a.position - b.position)
  return {
    grants: new Map(ordered.flatMap(step => step.grants).map(grant => [grant.tool.name, grant])),
    prompts: new Map(ordered.flatMap(step => step.prompts).map(grant => [grant.prompt.name, grant])),
    resources: new Map(ordered.flatMap(step => step.resources).map(grant => [grant.resource.key, grant])),
    withheld,
    issues,
  }
}

interface Step {
  readonly position: number
  readonly grants: readonly Grant[]
  readonly prompts: readonly PromptGrant[]
  readonly resources: readonly ResourceGrant[]
  readonly withheld: readonly ResolutionEntry[]
  readonly issues: readonly CapabilityIssue[]
}

function resolveOne(key: string, entry: CapabilityConfig, context: ResolverContext, generation: Generation): Step {
  const capability = generation.capabilities.get(key)
  if (!capability && generation.isPartial) return stillComing(key, entry)
  if (!capability) {
    const hint = injectionHint(key, generation) ?? didYouMean(key, generation.capabilities.keys())
    const message = `There is no capability "${key}".${hint}`
    return failed([{ code: 'CAPABILITY_UNKNOWN', path: ['capabilities', key], message }])
  }
  const { tools, ...config } = entry
  const toolIssues = checkAllowlist(tools, capability)
  const checked = checkConfig(config, capability)
  const issues = [
    ...toolIssues,
    ...(checked.ok ? [] : checked.issues.map(issue => ({ ...issue, code: 'CONFIG_INVALID' as const }))),
  ]
  if (issues.length > 0) return failed(issues.map(issue => ({ ...issue, path: ['capabilities', key, ...issue.path] })))
  const allowed = tools ?? [...capability.descriptors.map(tool => tool.name), ...capability.leftOut]
  const value = checked.ok ? (checked.value as Record<string, unknown>) : {}
  try {
    const sound = allowed.filter(name => !capability.leftOut.includes(name))
    return grantAllowed(
      capability,
      allowed,
      checkResolved(capability.resolver.resolve(context, { ...value, tools: sound })),
    )
  } catch (error) {
    const message = `Capability "${key}" could not be resolved: ${messageOf(error)}`
    return failed([{ code: 'CONFIG_INVALID', path: ['capabilities', key], message }])
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
  return { ...failed([]), withheld: tools.map(tool => ({ capability: key, tool, state: 'unavailable', reason })) }
}

function failed(issues: readonly CapabilityIssue[]): Step {
  return { position: 0, grants: [], prompts: [], resources: [], withheld: [], issues }
}

/** `tools` is ours: omitted means all, `[]` none; no wildcards, no doubles, no unknown names. */
function checkAllowlist(tools: readonly string[] | undefined, capability: CatalogueCapability): CapabilityIssue[] {
  const known = [...capability.descriptors.map(tool => tool.name), ...capability.leftOut]
  const issue = (index: number, message: string): CapabilityIssue => ({
    code: 'CONFIG_INVALID',
    path: ['tools', index],
    message,
  })
  return (tools ?? []).flatMap((name, index) => {
    if (tools?.indexOf(name) !== index) return [issue(index, `"${name}" is listed twice.`)]
    if (known.includes(name)) return []
    const hint = didYouMean(name, known) || ` It has: ${known.join(', ') || 'none'}.`
    return [issue(index, `Capability "${capability.key}" has no tool "${name}".${hint}`)]
  })
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
  return checked
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
  capability: CatalogueCapability,
  allowed: readonly string[],
  resolved: ResolvedCapability | null,
): Step {
  const { key, position } = capability
  const withhold = (state: ResolutionEntry['state'], reason: string, names = allowed) =>
    names.map(tool => ({ capability: key, tool, state, reason }))
  if (resolved === null)
    return { ...failed([]), position, withheld: withhold('skipped', 'The capability left itself out of this run.') }
  if (resolved.mcpServer) {
    // Handing out a foreign server as it is would go around the call path.
    return {
      ...failed([]),
      position,
      withheld: withhold('unavailable', 'It names an MCP server that is not mounted here.'),
    }
  }
  const { config } = resolved
  const grants = capability.tools
    .filter(tool => allowed.includes(tool.name))
    .map(tool => ({ tool, capability: key, config }))
  const wrong = allowed.filter(name => capability.leftOut.includes(name))
  const callable = new Set([...grants.map(grant => grant.tool.name), ...wrong])
  const withheld = [
    ...withhold('unavailable', 'Its definition is wrong; `quartermaster doctor` says how.', wrong),
    ...withhold(
      'unavailable',
      'Its capability brought nothing that can be called.',
      allowed.filter(name => !callable.has(name)),
    ),
  ]
  // The list of tools is about tools: whoever has the capability may read what it brings.
  const prompts = capability.prompts.map(prompt => ({ prompt, capability: key, config }))
  const resources = capability.resources.map(resource => ({ resource, capability: key, config }))
  return { position, grants, prompts, resources, withheld, issues: [] }
}
