import type { MissingDependency, ResolutionEntry } from '../../contracts/index.ts'
import type { Health } from '../health/index.ts'
import type { Digest } from '../kernel/index.ts'
import type { Grant, Resolution } from './grants.ts'

/** What one agent can see now. */
export interface View {
  /** Changes whenever a client that listed the tools should list them again. */
  readonly version: string
  /** Granted and callable, in order of definition; a recovering one is among them. */
  readonly tools: readonly Grant[]
  /** Granted, but not working now. */
  readonly unavailable: readonly { readonly grant: Grant; readonly missing: readonly MissingDependency[] }[]
  /** Every tool that was asked for, and what became of it. */
  report(): ResolutionEntry[]
}

/** Lays health over a resolution. */
export function renderView(
  resolution: Resolution,
  health: Pick<Health, 'availability' | 'missing'>,
  digest: Digest,
): View {
  const tools: Grant[] = []
  const unavailable: Grant[] = []
  let seen = ''
  for (const grant of resolution.grants.values()) {
    const { active } = health.availability(grant.tool)
    if (active) tools.push(grant)
    else unavailable.push(grant)
    seen += active ? grant.tool.hash : grant.tool.name
  }
  return {
    version: digest(seen).slice(0, 16),
    tools,
    // Reasons are for those who ask: most readers of a view only list and call.
    get unavailable() {
      return unavailable.map(grant => ({ grant, missing: health.missing(grant.tool) }))
    },
    report() {
      const granted = tools.map(({ tool, capability }) => ({ capability, tool: tool.name, state: 'granted' as const }))
      const missing = unavailable.map(grant => unavailableEntry(grant, health.missing(grant.tool)))
      return [...granted, ...missing, ...resolution.withheld]
    },
  }
}

function unavailableEntry({ tool, capability }: Grant, missing: readonly MissingDependency[]): ResolutionEntry {
  const reason = missing.map(one => `${one.dependency} is ${one.state}: ${one.reason}`).join(' ')
  return { capability, tool: tool.name, state: 'unavailable', reason }
}
