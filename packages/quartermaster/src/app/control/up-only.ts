import { AppError, type Control, DEFAULT_ORGANISATION, type LentFiles } from '../../contracts/index.ts'
import type { Agents } from '../../core/agents/index.ts'
import type { Tokens } from '../../core/organisation/index.ts'

/** The part of the control that only an `up` can answer. */
export type UpControl = Pick<Control, 'lendToken' | 'extendToken' | 'stepAside'>

/**
 * How long a lent token is valid unless it is extended. A killed bridge keeps its sessions, and a background `up` alive, for
 * this long; a living one extends it three times meanwhile.
 */
const LENT_MS = 90_000

/** Lends tokens to bridges, and makes way for another `up`. */
export function createUpControl({
  tokens,
  agents,
  filesOf,
  ready,
  leave,
  isStopping,
}: {
  readonly tokens: Tokens
  readonly agents: Pick<Agents, 'entry' | 'isAgent' | 'findSession'>
  /** What a bridge beside the agent needs to upload files. */
  filesOf?(agent: string): LentFiles
  /** Resolves when agents and definitions are loaded; before that it is unknown what exists. */
  readonly ready: Promise<void>
  /** Stops this process once the running calls have ended; absent if a person started it. */
  readonly leave: (() => void) | undefined
  isStopping(): boolean
}): UpControl {
  function expectAgent(organisation: string, workspace: string): void {
    if (agents.findSession({ organisation, workspace })) return
    // It throws an error that lists the agents.
    if (organisation === DEFAULT_ORGANISATION) agents.entry(workspace)
    const message = `No active workspace "${workspace}" is in the organisation "${organisation}".`
    throw new AppError(
      'AGENT_NOT_FOUND',
      `${message} \`quartermaster workspaces list --organisation ${organisation}\` lists them.`,
    )
  }

  return {
    async lendToken({ agent, organisation = DEFAULT_ORGANISATION }) {
      await ready
      // The bridge looks for the next process: its requests would be refused here.
      if (isStopping()) throw new AppError('STOPPING', 'Quartermaster is stopping.')
      expectAgent(organisation, agent)
      const lent = tokens.lend(agent, { organisation, ttlMs: LENT_MS })
      const hasFolder = agents.isAgent({ organisation, workspace: agent })
      return filesOf && hasFolder ? { ...lent, files: filesOf(agent) } : lent
    },
    extendToken: async ({ id }) => ({ expiresAt: tokens.extend(id, { ttlMs: LENT_MS }) }),
    async stepAside() {
      // Deferred, so that the answer is still written.
      if (leave) setImmediate(leave)
      return { leaving: leave !== undefined || isStopping() }
    },
  }
}

const refuse = async (): Promise<never> => {
  throw new AppError(
    'DEPENDENCY_UNAVAILABLE',
    'Only a running "up" lends tokens, because they live in its process. Start one: quartermaster up',
  )
}

/** Without an `up` there is nothing to lend, and nothing to drain. */
export const WITHOUT_UP: UpControl = {
  lendToken: refuse,
  extendToken: refuse,
  stepAside: async () => ({ leaving: false }),
}
