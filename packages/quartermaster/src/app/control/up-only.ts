import { AppError, type Control, DEFAULT_ORGANISATION, type LentFiles } from '../../contracts/index.ts'
import type { Agents } from '../../core/agents/index.ts'
import type { Tokens } from '../../core/organisation/index.ts'

/** The part of the control that only an `up` can answer. */
export type UpControl = Pick<Control, 'lendToken' | 'extendToken' | 'stepAside'>

interface UpControlDeps {
  readonly tokens: Tokens
  readonly agents: Pick<Agents, 'entry' | 'isAgent' | 'findSession'>
  /** What a bridge beside the agent hands in files with. */
  filesOf?(agent: string): LentFiles
  /** Resolves when agents and definitions are read; before that it is unknown what exists. */
  readonly ready: Promise<void>
  /** Stops this process's server when the calls that run have ended; absent when a person started it. */
  readonly leave: (() => void) | undefined
  /** Whether it is on its way out already. */
  isOver(): boolean
}

/**
 * How long a lent token is good unless it is extended. A bridge that was killed keeps its sessions, and a background `up`
 * alive, for this long; one that lives extends it three times in it.
 */
const LENT_MS = 90_000

/** Lends tokens, and gives way when asked to. */
export function createUpControl({ tokens, agents, filesOf, ready, leave, isOver }: UpControlDeps): UpControl {
  function expectAgent(organisation: string, workspace: string): void {
    if (agents.findSession({ organisation, workspace })) return
    // It says which there are.
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
      // A bridge looks for the next process: what it would send here is refused.
      if (isOver()) throw new AppError('STOPPING', 'Quartermaster is stopping.')
      expectAgent(organisation, agent)
      const lent = tokens.lend(agent, { organisation, ttlMs: LENT_MS })
      const hasFolder = agents.isAgent({ organisation, workspace: agent })
      return filesOf && hasFolder ? { ...lent, files: filesOf(agent) } : lent
    },
    extendToken: async ({ id }) => ({ expiresAt: tokens.extend(id, { ttlMs: LENT_MS }) }),
    async stepAside() {
      // Afterwards, so that the answer still gets out.
      if (leave) setImmediate(leave)
      return { leaving: leave !== undefined || isOver() }
    },
  }
}

const refuse = async (): Promise<never> => {
  throw new AppError(
    'DEPENDENCY_UNAVAILABLE',
    'Only a running "up" lends tokens, because they live in its process. Start one: quartermaster up',
  )
}

/** Where no `up` runs there is nothing to lend, and nothing to drain. */
export const WITHOUT_UP: UpControl = {
  lendToken: refuse,
  extendToken: refuse,
  stepAside: async () => ({ leaving: false }),
}
