import type { Upstreams } from '../adapters/mcp-upstream/index.ts'
import type { Agents } from '../core/agents/index.ts'

export interface WithdrawnUpstreamsDeps {
  readonly agents: Pick<Agents, 'entry'>
  readonly upstreams: Pick<Upstreams, 'dismiss'>
}

/** Told who is there each time that is read: an agent that has lost a capability leaves nothing that runs there for it alone. */
export function createWithdrawnUpstreams({
  agents,
  upstreams,
}: WithdrawnUpstreamsDeps): (names: readonly string[]) => void {
  let had: ReadonlyMap<string, readonly string[]> = new Map()

  /** A file that cannot be read takes nothing away for good: it is being written, as a rule. */
  function capabilitiesOf(name: string): readonly string[] {
    const { config } = agents.entry(name)
    return config ? Object.keys(config.capabilities) : (had.get(name) ?? [])
  }

  return names => {
    const has = new Map(names.map(name => [name, capabilitiesOf(name)] as const))
    for (const [name, kept] of has)
      for (const lost of had.get(name) ?? []) if (!kept.includes(lost)) upstreams.dismiss(name, lost)
    had = has
  }
}
