import { type AgentConfig, type Caller, type ResolverContext } from '../../contracts/index.ts'
import { type AgentSession, type AgentSessionDeps, createAgentSession } from './agent-session.ts'
import { type Resolution } from './resolve-capabilities.ts'

/** Sessions of agents that have a place in the organisation and no file here: they run elsewhere and have only the platform's tools. */
interface RemoteSessions {
  /** The session of the agent with this workspace; the same object each time. No agent file applies to it. */
  session(place: Pick<Caller, 'organisation' | 'workspace'>): AgentSession
}

/** Which workspaces are there, known without asking the store: every request needs it. */
export interface RemoteAgents {
  has(place: Pick<Caller, 'organisation' | 'workspace'>): boolean
  /** Whether a remote agent has joined the first organisation under this name. */
  hasJoined(name: string): boolean
  /** Calls back when one is not there any more. */
  onLeft(listener: () => void): void
}

interface RemoteSessionsDeps extends AgentSessionDeps {
  resolve(capabilities: AgentConfig['capabilities'], context: ResolverContext): Resolution
  folders(agent: AgentConfig & { name: string }): { agentDir: string; workspaceDir: string }
  /** The remote agents; none when absent. */
  readonly remoteAgents?: RemoteAgents | undefined
}

/** What everybody has who has a workspace: to reach others, to be reached, and to remember. */
const CONFIG: AgentConfig = { capabilities: { delegation: {}, inbox: {}, history: {}, user: {}, memory: {} } }

export function createRemoteSessions(deps: RemoteSessionsDeps): RemoteSessions {
  const sessions = new Map<string, AgentSession>()

  // Workspaces come and go for as long as this runs.
  deps.remoteAgents?.onLeft(() => {
    for (const [key, { caller }] of sessions) if (!deps.remoteAgents?.has(caller)) sessions.delete(key)
  })

  function resolve(name: string): Resolution {
    const agent = { ...CONFIG, name }
    return deps.resolve(CONFIG.capabilities, { ...deps.folders(agent), agent })
  }

  return {
    session({ organisation, workspace }) {
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
