import { AppError } from '../../../contracts/index.ts'
import type { Connection } from './connection.ts'

/** The connections to one server: one for all, or one for each agent. */
export interface Connections {
  /** The one by which the server is known: what it lists, and whether it works. */
  readonly main: Connection
  /** The one through which an agent's requests go. */
  of(agent: string): Connection
  all(): readonly Connection[]
  /** From here on every agent has its own. */
  separate(): void
  isSeparate(): boolean
  restart(): Promise<void>
  stop(): Promise<void>
}

export interface ConnectionsDeps {
  readonly upstream: string
  readonly isSeparate: boolean
  /** Agents that bring credentials of their own. */
  readonly withCredentials: ReadonlySet<string>
  /** Makes one that is not started yet; the main one for nobody. */
  create(agent: string | undefined): Connection
}

/** Each may be a process. */
const MOST_AGENTS = 64

export function createConnections({ upstream, withCredentials, create, ...deps }: ConnectionsDeps): Connections {
  const main = create(undefined)
  const own = new Map<string, Connection>()
  let isSeparate = deps.isSeparate

  function ownOf(agent: string): Connection {
    const known = own.get(agent)
    if (known) return known
    makeRoom()
    const made = create(agent)
    own.set(agent, made)
    return made
  }

  /** Those that sleep cost nothing but their place. */
  function makeRoom(): void {
    if (own.size < MOST_AGENTS) return
    const asleep = [...own].find(([, connection]) => connection.state().kind === 'idle')
    if (!asleep)
      throw new AppError('RATE_LIMITED', `${MOST_AGENTS} agents use "${upstream}" already. Wait for one to be done.`)
    own.delete(asleep[0])
    void asleep[1].stop()
  }

  return {
    main,
    of: agent => (isSeparate || withCredentials.has(agent) ? ownOf(agent) : main),
    all: () => [main, ...own.values()],
    separate() {
      isSeparate = true
    },
    isSeparate: () => isSeparate,
    async restart() {
      await Promise.all([main, ...own.values()].map(connection => connection.restart()))
    },
    async stop() {
      await Promise.all([main, ...own.values()].map(connection => connection.stop()))
    },
  }
}
