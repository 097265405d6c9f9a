import { type z } from 'zod'
import {
  AgentConfig,
  AppError,
  type CapabilityConfig,
  type CapabilityDescriptor,
  DEFAULT_ORGANISATION,
  issueText,
  type McpServerConfig,
  messageOf,
  type ResolvedCapabilities,
  ResolverContext,
  type ResourceDescriptor,
  RunMode,
} from '../../contracts/index.ts'
import {
  type CapabilityResolver,
  type Catalogue,
  type CatalogueCapability,
  type Generation,
  type Resource,
} from '../catalogue/index.ts'
import { firstIssues, type Log } from '../kernel/index.ts'
import { type AgentSession, type AgentSessionDeps, createAgentSession } from './agent-session.ts'
import {
  type CapabilityIssue,
  checkResolved,
  type Mount,
  NOTHING_GRANTED,
  type Resolution,
  resolveCapabilities,
} from './resolve-capabilities.ts'

/** Creates the in-process MCP server that gives a run the session's tools of one capability. */
export type ServerFactory = (options: { key: string; session: AgentSession }) => McpServerConfig

/** The registered capabilities and what they resolve to. There is no global registry. */
export interface CapabilityRegistry {
  /** Adds a capability of the host program; agents can be configured with it immediately. */
  register(resolver: CapabilityResolver): void
  /** Synchronous, starts nothing. Throws `CAPABILITY_UNKNOWN` or `CONFIG_INVALID` with every issue in its details. */
  resolve(capabilities: Record<string, CapabilityConfig>, context: ResolverContext): ResolvedCapabilities
  /** The servers that come with a mode of run, beside those of capabilities. */
  resolveInjections(mode: RunMode, context: ResolverContext): Record<string, McpServerConfig>
  /** Every capability with its tools and configuration schema. Needs no running server. */
  knownCapabilities(): CapabilityDescriptor[]
}

interface RegistryDeps extends Omit<AgentSessionDeps, 'catalogue'> {
  readonly catalogue: Pick<Catalogue, 'current' | 'register'>
  readonly createServer: ServerFactory
  readonly mount?: Mount | undefined
  readonly log: Log
}

export function createCapabilityRegistry(deps: RegistryDeps): CapabilityRegistry {
  const { catalogue, createServer, log } = deps

  function runSession(context: ResolverContext, resolve: (generation: Generation) => Resolution): AgentSession {
    const { name } = context.agent
    return createAgentSession(
      {
        caller: { kind: 'agent', organisation: DEFAULT_ORGANISATION, name, workspace: name },
        callbacks: context.callbacks,
        isDirect: true,
        agent: () => context.agent,
        key: () => context,
        resolve: () => resolve(catalogue.current()),
      },
      deps,
    )
  }

  return {
    register: resolver => catalogue.register(resolver),
    resolve(wanted, contextInput) {
      const context = parsed(ResolverContext, contextInput, 'context')
      const capabilities = parsed(AgentConfig.shape.capabilities, wanted, 'capabilities')
      const resolveIn = (generation: Generation) =>
        resolveCapabilities(capabilities, context, { generation, mount: deps.mount })
      const { issues, grants, prompts, resources } = resolveIn(catalogue.current())
      refuseIssues(issues)
      // One session for the whole run: a tool may call the agent's other tools of any capability.
      const session = runSession(context, resolveIn)
      const view = session.view()
      const report = view.report()
      // Companion tools need servers too: an agent with an operation id must be able to ask for its status.
      const granted = [...grants.values(), ...prompts.values(), ...resources.values(), ...view.presented]
      const keys = new Set(granted.map(grant => grant.capability))
      const mcpServers = Object.fromEntries([...keys].map(key => [key, createServer({ key, session })]))
      return { mcpServers, report }
    },
    resolveInjections(modeInput, contextInput) {
      const mode = parsed(RunMode, modeInput, 'mode')
      const context = parsed(ResolverContext, contextInput, 'context')
      const servers: Record<string, McpServerConfig> = {}
      for (const { injection } of catalogue.current().injections) {
        if (
          !injection.modes.includes(mode) ||
          resolveInjection(injection.key, context, catalogue.current(), log).grants.size === 0
        )
          continue
        const session = runSession(context, generation => resolveInjection(injection.key, context, generation, log))
        servers[injection.key] = createServer({ key: injection.key, session })
      }
      return servers
    },
    knownCapabilities: () => [...catalogue.current().capabilities.values()].map(describeCapability),
  }
}

/** Host programs are not always typed, so their arguments are validated like any other input. */
function parsed<S extends z.ZodType>(schema: S, value: unknown, what: string): z.infer<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issues = firstIssues(result.error.issues.map(issue => ({ ...issue, path: [what, ...issue.path] })))
  throw new AppError('CONFIG_INVALID', issues.map(issueText).join('\n'), { details: { issues } })
}

/** Throws all issues of capabilities in one error. */
export function refuseIssues(issues: readonly CapabilityIssue[]): void {
  if (issues.length === 0) return
  const code = issues.every(issue => issue.code === 'CONFIG_INVALID') ? 'CONFIG_INVALID' : 'CAPABILITY_UNKNOWN'
  const lines = issues.map(issue =>
    issue.code === 'CAPABILITY_UNKNOWN' ? issue.message : `${issue.path.join('.')}: ${issue.message}`,
  )
  throw new AppError(code, lines.join('\n'), {
    details: { issues: issues.map(({ path, message }) => ({ path, message })) },
  })
}

/** An injection whose code fails is left out and logged, like one that returns `null`. */
function resolveInjection(key: string, context: ResolverContext, generation: Generation, log: Log): Resolution {
  const entry = generation.injections.find(({ injection }) => injection.key === key)
  if (!entry) return NOTHING_GRANTED
  try {
    const resolved = checkResolved(entry.injection.resolve ? entry.injection.resolve(context) : {})
    if (!resolved) return NOTHING_GRANTED
    const grants = entry.tools.map(tool => ({ tool, capability: key, config: resolved.config }))
    return { ...NOTHING_GRANTED, grants: new Map(grants.map(grant => [grant.tool.name, grant])) }
  } catch (error) {
    log.warn('an injection failed', { injection: key, error: messageOf(error) })
    return NOTHING_GRANTED
  }
}

function describeCapability(capability: CatalogueCapability): CapabilityDescriptor {
  const { key, title, short, descriptors, prompts, resources, configSchema } = capability
  const descriptor: CapabilityDescriptor = { key, title, short, tools: [...descriptors] }
  if (prompts.length > 0)
    descriptor.prompts = prompts.map(one => ({
      name: one.name,
      title: one.title,
      short: one.short,
      arguments: [...one.arguments],
    }))
  if (resources.length > 0) descriptor.resources = resources.map(describeResource)
  return configSchema ? { ...descriptor, configSchema: { ...configSchema } } : descriptor
}

function describeResource({ name, title, short, mimeType, uri, uriTemplate }: Resource): ResourceDescriptor {
  return {
    name,
    title,
    short,
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(uri === undefined ? {} : { uri }),
    ...(uriTemplate === undefined ? {} : { uriTemplate }),
  }
}
