import type { UpstreamAuth, Upstreams } from '../../adapters/mcp-upstream/index.ts'
import { messageOf } from '../../contracts/index.ts'
import type { Agents } from '../../core/agents/index.ts'
import type { Log } from '../../core/kernel/index.ts'

export interface AgentLoginsDeps {
  auth(): Promise<Pick<UpstreamAuth, 'agentsAt'>>
  readonly upstreams: Pick<Upstreams, 'statuses' | 'loginChanged'>
  readonly log: Log
}

/** Told who is there each time that is read. An agent that comes or goes is to its upstreams as one that signs in or out. */
export function createAgentLogins({
  auth,
  upstreams,
  log,
}: AgentLoginsDeps): (names: readonly string[]) => Promise<void> {
  let known: ReadonlySet<string> | undefined
  /** Those of whom not everybody has heard that they have come or gone. */
  let untold = NO_AGENTS

  async function reconnect(upstream: string, changed: ReadonlySet<string>): Promise<void> {
    const signedIn = await (await auth()).agentsAt(upstream)
    for (const agent of signedIn.filter(name => changed.has(name))) await upstreams.loginChanged({ upstream, agent })
  }

  async function read(names: readonly string[]): Promise<void> {
    const before = known
    const now = new Set(names)
    known = now
    // The first connection knows which agents are there at first.
    const moved = before ? [...before, ...now].filter(name => before.has(name) !== now.has(name)) : []
    const changed = new Set([...untold, ...moved])
    if (changed.size === 0) return
    const places = upstreams.statuses().filter(({ transport }) => transport === 'http')
    const looks = await Promise.allSettled(places.map(({ name }) => reconnect(name, changed)))
    const failed = looks.filter(look => look.status === 'rejected')
    for (const { reason } of failed)
      log.warn('who has come or gone is not known to an upstream', { error: messageOf(reason) })
    untold = failed.length > 0 ? changed : NO_AGENTS
  }

  // One after the other: whom one of them could not tell of is told of by the next.
  let last: Promise<void> = Promise.resolve()
  return names => {
    const reading = last.then(() => read(names))
    last = reading.catch(() => {
      // The caller receives the failure.
    })
    return reading
  }
}

const NO_AGENTS: ReadonlySet<string> = new Set()

export interface WithdrawnUpstreamsDeps {
  readonly agents: Pick<Agents, 'entry'>
  readonly upstreams: Pick<Upstreams, 'dismiss'>
}

/**
 * Told who is there each time that is read: an agent that has lost a capability, or is gone itself, leaves nothing that runs there
 * for it alone.
 */
export function createWithdrawnUpstreams({
  agents,
  upstreams,
}: WithdrawnUpstreamsDeps): (names: readonly string[]) => void {
  let had: ReadonlyMap<string, readonly string[]> = new Map()

  /** A file that cannot be read takes nothing away for good: it is being written, as a rule. */
  function capabilitiesOf(name: string): readonly string[] {
    const { config, wrong = {} } = agents.entry(name)
    return config ? Object.keys({ ...config.capabilities, ...wrong }) : (had.get(name) ?? [])
  }

  return names => {
    const has = new Map(names.map(name => [name, capabilitiesOf(name)] as const))
    for (const [name, capabilities] of had) {
      const kept = has.get(name)
      if (!kept) upstreams.dismiss(name)
      else for (const lost of capabilities) if (!kept.includes(lost)) upstreams.dismiss(name, lost)
    }
    had = has
  }
}
