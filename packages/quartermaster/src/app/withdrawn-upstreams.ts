import type { Upstreams } from '../adapters/mcp-upstream/index.ts'
import type { Agents } from '../core/agents/index.ts'

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
