import {
  type AgentConfig,
  type AgentSummary,
  AppError,
  type Caller,
  DEFAULT_ORGANISATION,
  type Problem,
  type ResolverContext,
  type Settings,
} from '../../contracts/index.ts'
import { isOnceOnly } from '../catalogue/index.ts'
import { type Cancel, didYouMean, type Emitter } from '../kernel/index.ts'
import { type Placements, placeAgents } from '../organisation/index.ts'
import { type AgentSession, type AgentSessionDeps, createAgentSession } from './agent-session.ts'
import { type Announcer, type ViewChange } from './announcer.ts'
import {
  type CapabilityIssue,
  type Mount,
  NOTHING_GRANTED,
  type Resolution,
  resolveCapabilities,
  type ShadowedResources,
} from './resolve-capabilities.ts'

/** The configured agents and their sessions. */
export interface Agents {
  reload(): Promise<void>
  list(): AgentSummary[]
  names(): readonly string[]
  has(name: string): boolean
  /** Whether this is an agent of the project, not a joined one or one of the same name in another organisation. */
  isAgent(place: Pick<Caller, 'organisation' | 'workspace'>): boolean
  entry(name: string): AgentEntry
  /** Problems of an agent's file and of the capabilities it requests. */
  problems(name?: string): Problem[]
  /** Wrong requests of an agent's file for these capabilities; for all by default. */
  staleGrants(name: string, capabilities?: ReadonlySet<string>): Problem[]
  /** Positions in the organisation tree, from the agents' files. */
  placements(): Placements
  /** Problems an agent would have with this configuration. */
  issuesWith(name: string, config: AgentConfig): readonly CapabilityIssue[]
  /** The agent's session, always the same object. Throws `AGENT_NOT_FOUND`. */
  session(name: string): AgentSession
  /**
   * The session of a caller known by a credential or a record: an agent of the project, or a remote agent with a workspace in any
   * organisation and no file. `undefined` if neither exists any more.
   */
  findSession(place: Pick<Caller, 'organisation' | 'workspace'>): AgentSession | undefined
  /** Calls back with the lists that changed for this session. */
  follow(session: AgentSession, listener: (change: ViewChange) => void): Cancel
}

export interface AgentsDeps extends AgentSessionDeps {
  readonly store: AgentStore
  readonly emitter: Emitter
  readonly announcer: Announcer
  readonly mount?: Mount | undefined
  /** Remote agents; none by default. */
  readonly remoteAgents?: RemoteAgents | undefined
  readonly settings: Pick<Settings, 'gatewayViewOver' | 'workspaceDepth'>
  /** Folders of an agent, for resolvers. */
  folders(agent: AgentConfig & { name: string }): { agentDir: string; workspaceDir: string }
}

export function createAgents(deps: AgentsDeps): Agents {
  const { store, emitter, announcer, catalogue, folders } = deps
  const remoteAgents = createRemoteSessions(deps)
  const sessions = new Map<string, AgentSession>()
  const place = (some: readonly AgentEntry[]) => placeAgents(some, { depth: deps.settings.workspaceDepth })
  let entries: ReadonlyMap<string, AgentEntry> = new Map()
  let placements = place([])
  let wasRead = false
  let reloading: Promise<void> = Promise.resolve()

  function entry(name: string): AgentEntry {
    const found = entries.get(name)
    if (found) return found
    const hint = didYouMean(name, entries.keys()) || noAgentAdvice(entries.size)
    throw new AppError('AGENT_NOT_FOUND', `There is no agent "${name}".${hint}`)
  }

  function resolve(name: string): Resolution {
    const { config, wrong = {} } = entries.get(name) ?? {}
    if (!config) return NOTHING_GRANTED
    const resolution = resolveWith(name, config, deps.mount)
    const unread = Object.entries(wrong).map(
      ([capability, reason]) => ({ capability, tool: '*', state: 'unavailable', reason }) as const,
    )
    return unread.length === 0 ? resolution : { ...resolution, refused: [...resolution.refused, ...unread] }
  }

  function resolveWith(name: string, config: AgentConfig, mount: Mount | undefined): Resolution {
    const agent = { ...config, name }
    const context: ResolverContext = { ...folders(agent), agent }
    return resolveCapabilities(config.capabilities, context, { generation: catalogue.current(), mount })
  }

  function session(name: string): AgentSession {
    entry(name)
    const known = sessions.get(name)
    if (known) return known
    const caller: Caller = { kind: 'agent', organisation: DEFAULT_ORGANISATION, name, workspace: name }
    const config = () => entries.get(name)?.config
    const key = () => entries.get(name)
    const made = createAgentSession({ caller, agent: config, key, resolve: () => resolve(name) }, deps)
    sessions.set(name, made)
    return made
  }

  function isAgent({ organisation, workspace: name }: Pick<Caller, 'organisation' | 'workspace'>): boolean {
    return organisation === DEFAULT_ORGANISATION && entries.has(name) && !deps.remoteAgents?.hasJoined(name)
  }

  function findSession(place: Pick<Caller, 'organisation' | 'workspace'>): AgentSession | undefined {
    if (isAgent(place)) return session(place.workspace)
    return deps.remoteAgents?.has(place) ? remoteAgents.session(place) : undefined
  }

  async function read(): Promise<void> {
    const read = await store.load()
    // Unchanged entries are the same objects.
    const isAsBefore = read.length === entries.size && read.every(one => entries.get(one.name) === one)
    const isSame = isAsBefore || !wasRead
    wasRead = true
    entries = new Map(read.map(one => [one.name, one]))
    placements = place(read)
    for (const name of sessions.keys()) if (!entries.has(name)) sessions.delete(name)
    emitter.emit('agents.reloaded', { names: [...entries.keys()], isSame })
  }

  function problemsOf(name: string): Problem[] {
    const { file, problems, config } = entry(name)
    if (!config) return [...problems]
    const resolution = resolve(name)
    const issues = resolution.issues.map(issue => issueProblem(name, file, issue))
    const shadowed = resolution.shadowed.map(one => shadowedProblem(name, file, one))
    const known = catalogue.current().consentOperations
    const unknown = (config.consent?.allow ?? []).filter(operation => !known.has(operation))
    const unknownProblems = unknown.map(operation => unknownConsent(name, file, operation, known.keys()))
    const asked = (config.consent?.allow ?? []).filter(operation => isOnceOnly(known.get(operation)))
    const uselessProblems = asked.map(operation => uselessConsent(name, file, operation))
    return [
      ...problems,
      ...issues,
      ...misplaced(name, file, placements),
      ...unknownProblems,
      ...uselessProblems,
      ...shadowed,
    ]
  }

  function staleGrants(name: string, capabilities?: ReadonlySet<string>): Problem[] {
    const { file, config } = entry(name)
    if (!config) return []
    const wanted = Object.entries(config.capabilities).filter(([key]) => capabilities?.has(key) ?? true)
    const asked = { ...config, capabilities: Object.fromEntries(wanted) }
    return resolveWith(name, asked, deps.mount).issues.map(issue => issueProblem(name, file, issue))
  }

  return {
    reload() {
      // Serialized: an older read that finishes later must not restore what was removed.
      reloading = reloading.catch(() => {}).then(read)
      return reloading
    },
    list: () => [...entries.values()].map(one => summaryOf(one, session(one.name), problemsOf(one.name))),
    names: () => [...entries.keys()],
    has: name => entries.has(name),
    isAgent,
    entry,
    problems: name => (name === undefined ? [...entries.keys()].flatMap(problemsOf) : problemsOf(name)),
    staleGrants,
    placements: () => placements,
    // A hypothetical configuration mounts no servers.
    issuesWith: (name, config) => resolveWith(name, config, undefined).issues,
    session,
    findSession,
    follow: (one, listener) => announcer.follow(one, listener),
  }
}

function noAgentAdvice(count: number): string {
  return count === 0
    ? ' There are none yet: `quartermaster init` makes the first.'
    : ' `quartermaster agents` lists them.'
}

function agentProblem(
  name: string,
  file: string,
  found: Pick<Problem, 'field' | 'message' | 'fix'>,
  severity: Problem['severity'] = 'warning',
): Problem {
  return { severity, code: 'AGENT_INVALID', where: file, subject: `agent:${name}`, ...found }
}

function issueProblem(name: string, file: string, { path, message }: CapabilityIssue): Problem {
  const [, key, field] = path
  const fix =
    field === 'tools'
      ? 'Correct "tools" in the file; the other names in it stay as they are.'
      : `"${name}" does not have "${String(key)}" until then. Correct the file, or take it away: quartermaster grant ${name} ${String(key)} --revoke`
  return agentProblem(name, file, { field: path.join('.'), message, fix }, 'error')
}

/** An agent with a wrong position keeps its former one; a new agent gets none. */
function misplaced(name: string, file: string, { problems }: Placements): Problem[] {
  const found = problems.get(name)
  return found ? [agentProblem(name, file, found, 'error')] : []
}

/** A misspelled name allows nothing, so persons are asked although the owner meant to allow it. */
function unknownConsent(name: string, file: string, operation: string, known: Iterable<string>): Problem {
  const message = `No capability declares the consent operation "${operation}".${didYouMean(operation, known)}`
  return agentProblem(name, file, { field: 'consent.allow', message })
}

function uselessConsent(name: string, file: string, operation: string): Problem {
  return agentProblem(name, file, {
    field: 'consent.allow',
    message: `"${name}" is asked about each time it needs "${operation}", which can only be allowed once.`,
    fix: `Take "${operation}" out of "allow".`,
  })
}

function shadowedProblem(name: string, file: string, { capability, by, keys }: ShadowedResources): Problem {
  const [first, ...others] = keys
  const what = others.length === 0 ? `"${first}"` : `"${first}" and ${others.length} more`
  return agentProblem(name, file, {
    field: `capabilities.${capability}`,
    message: `"${by}" and "${capability}" both have resources at ${what}; "${name}" reads those of "${by}".`,
    fix: `Give "${capability}" to another agent, or leave out the resources of one: "resources": false in its entry.`,
  })
}

function summaryOf(
  { name, config, wrong = {} }: AgentEntry,
  session: AgentSession,
  problems: readonly Problem[],
): AgentSummary {
  const view = session.view()
  const summary: AgentSummary = {
    name,
    capabilities: Object.keys({ ...config?.capabilities, ...wrong }),
    view: view.kind,
    granted: view.tools.length,
    unavailable: view.unavailable.length,
    problems: problems.map(problem => problem.message),
  }
  return config?.title === undefined ? summary : { ...summary, title: config.title }
}

/** An agent's file. An unreadable file has problems and no configuration, so its agent has no tools. */
export interface AgentEntry {
  readonly name: string
  readonly file: string
  readonly config?: AgentConfig
  /** Capabilities missing from `config` because their part of the file is unreadable, with the reason. */
  readonly wrong?: Readonly<Record<string, string>>
  readonly hash: string
  readonly problems: readonly Problem[]
}

export interface AgentStore {
  load(): Promise<readonly AgentEntry[]>
}

/** The existing workspaces, in memory because every request needs them. */
export interface RemoteAgents {
  has(place: Pick<Caller, 'organisation' | 'workspace'>): boolean
  /** Whether a remote agent of this name has joined the default organisation. */
  hasJoined(name: string): boolean
  /** Calls back when a remote agent was removed. */
  onLeft(listener: () => void): void
}

/** Capabilities of every agent with a workspace: delegation, messages and memory. */
const CONFIG: AgentConfig = { capabilities: { delegation: {}, inbox: {}, history: {}, user: {}, memory: {} } }

/** Sessions of remote agents: they have a workspace, no file here, and only the platform's own tools. */
function createRemoteSessions(deps: AgentsDeps) {
  const { catalogue, folders, remoteAgents } = deps
  const sessions = new Map<string, AgentSession>()

  // Workspaces come and go while the process runs.
  remoteAgents?.onLeft(() => {
    for (const [key, { caller }] of sessions) if (!remoteAgents.has(caller)) sessions.delete(key)
  })

  function resolve(name: string): Resolution {
    const agent = { ...CONFIG, name }
    const from = { generation: catalogue.current(), mount: undefined }
    return resolveCapabilities(CONFIG.capabilities, { ...folders(agent), agent }, from)
  }

  return {
    session({ organisation, workspace }: Pick<Caller, 'organisation' | 'workspace'>): AgentSession {
      const key = `${organisation}/${workspace}`
      const known = sessions.get(key)
      if (known) return known
      const caller: Caller = { kind: 'agent', organisation, name: workspace, workspace }
      const made = createAgentSession(
        { caller, isRemote: true, agent: () => CONFIG, key: () => CONFIG, resolve: () => resolve(workspace) },
        deps,
      )
      sessions.set(key, made)
      return made
    },
  }
}
