import type { AgentConfig, Caller, ResolverContext } from '../../contracts/index.ts'
import type { Resolution } from './grants.ts'
import { createSeat, type Seat, type SeatDeps } from './seat.ts'

/** Those who have a place in the organisation and no file here: they run elsewhere, and have the platform's tools and no others. */
export interface Guests {
  /** The seat of whoever has this workspace; the same object each time. Nobody's file counts for it. */
  seat(workspace: string): Seat
}

export interface GuestsDeps extends SeatDeps {
  resolve(capabilities: AgentConfig['capabilities'], context: ResolverContext): Resolution
  folders(agent: AgentConfig & { name: string }): { agentDir: string; workspaceDir: string }
}

/** What everybody has who has a workspace: to reach others, to be reached, and to remember. */
const CONFIG: AgentConfig = { capabilities: { delegation: {}, inbox: {}, history: {}, user: {}, memory: {} } }

export function createGuests(deps: GuestsDeps): Guests {
  const seats = new Map<string, Seat>()

  function resolve(name: string): Resolution {
    const agent = { ...CONFIG, name }
    return deps.resolve(CONFIG.capabilities, { ...deps.folders(agent), agent })
  }

  return {
    seat(workspace) {
      const known = seats.get(workspace)
      if (known) return known
      const caller: Caller = { kind: 'agent', name: workspace, workspace }
      const made = createSeat(
        { caller, agent: () => CONFIG, key: () => CONFIG, resolve: () => resolve(workspace) },
        deps,
      )
      seats.set(workspace, made)
      return made
    },
  }
}
