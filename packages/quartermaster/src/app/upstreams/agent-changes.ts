import type { UpstreamAuth, Upstreams } from '../../adapters/mcp-upstream/index.ts'
import { messageOf } from '../../contracts/index.ts'
import type { Agents } from '../../core/agents/index.ts'
import type { Log } from '../../core/kernel/index.ts'

/** Called with the agents each time they are read. For upstreams an agent that comes or goes is one that signs in or out. */
export function createAgentLogins({
  auth,
  upstreams,
  log,
}: {
  auth(): Promise<UpstreamAuth>
  readonly upstreams: Upstreams
  readonly log: Log
}): (names: readonly string[]) => Promise<void> {
  let known: ReadonlySet<string> | undefined
  /** Agents whose change could not be applied to every upstream. */
  let pending = NO_AGENTS

  async function reconnect(upstream: string, changed: ReadonlySet<string>): Promise<void> {
    const signedIn = await (await auth()).agentsAt(upstream)
    for (const agent of signedIn.filter(name => changed.has(name))) await upstreams.loginChanged({ upstream, agent })
  }

  async function read(names: readonly string[]): Promise<void> {
    const before = known
    const now = new Set(names)
    known = now
    // The first connection starts with the present agents.
    const moved = before ? [...before, ...now].filter(name => before.has(name) !== now.has(name)) : []
    const changed = new Set([...pending, ...moved])
    if (changed.size === 0) return
    const places = upstreams.statuses().filter(({ transport }) => transport === 'http')
    const results = await Promise.allSettled(places.map(({ name }) => reconnect(name, changed)))
    const failed = results.filter(result => result.status === 'rejected')
    for (const { reason } of failed)
      log.warn('an upstream was not told which agents have come or gone', { error: messageOf(reason) })
    pending = failed.length > 0 ? changed : NO_AGENTS
  }

  // One after the other: the next one retries what the previous one could not apply.
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

/** Called with the agents each time they are read: ends what runs for an agent alone once it has lost the capability, or is gone. */
export function createWithdrawnUpstreams({
  agents,
  upstreams,
}: {
  readonly agents: Agents
  readonly upstreams: Upstreams
}): (names: readonly string[]) => void {
  let had: ReadonlyMap<string, readonly string[]> = new Map()

  /** A file that cannot be read takes nothing away: mostly it is just being written. */
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
