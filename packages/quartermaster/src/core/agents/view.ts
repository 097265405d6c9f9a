import type { MissingDependency, ResolutionEntry } from '../../contracts/index.ts'
import { type Health, stateInWords } from '../health/index.ts'
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

/** What a view is rendered from. */
export interface ViewParts {
  readonly resolution: Resolution
  readonly health: Pick<Health, 'availability' | 'missing'>
  readonly digest: Digest
  /** Consent operations the owner allows for good. */
  readonly allowed: readonly string[]
}

/** Lays health over a resolution. */
export function renderView({ resolution, health, digest, allowed }: ViewParts): View {
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
      const granted = tools.map(grant => grantedEntry(grant, allowed))
      const missing = unavailable.map(grant => unavailableEntry(grant, health.missing(grant.tool)))
      return [...granted, ...missing, ...resolution.withheld]
    },
  }
}

function grantedEntry({ tool, capability }: Grant, allowed: readonly string[]): ResolutionEntry {
  const entry = { capability, tool: tool.name, state: 'granted' as const }
  const asks = tool.consent.filter(name => !allowed.includes(name))
  return asks.length === 0 ? entry : { ...entry, reason: `A person is asked first: ${asks.join(', ')}.` }
}

function unavailableEntry({ tool, capability }: Grant, missing: readonly MissingDependency[]): ResolutionEntry {
  const reason = missing.map(one => `${one.dependency} is ${stateInWords(one.state)}: ${one.reason}`).join(' ')
  return { capability, tool: tool.name, state: 'unavailable', reason }
}
