import type { Finding, UpstreamConfig } from '../contracts/index.ts'
import { didYouMean } from '../core/kernel/index.ts'
import { askableConsent } from '../core/upstreams/index.ts'

/** Names in entries of `mcpServers` that nothing answers to: what stands under them does nothing, silently. */
export function entryFindings(upstreams: ReadonlyMap<string, UpstreamConfig>, agents: readonly string[]): Finding[] {
  return [...upstreams].flatMap(([name, config]) => [
    ...Object.keys(config.agents)
      .filter(agent => !agents.includes(agent))
      .map(agent => strangeAgent(name, agent, agents)),
    ...strangeConsent(name, config),
  ])
}

/** Whoever was meant is not kept out: its calls go out with what the entry has for everybody. */
function strangeAgent(upstream: string, agent: string, agents: readonly string[]): Finding {
  const hint = didYouMean(agent, agents)
  return {
    level: 'warning',
    where: `mcpServers.${upstream}.agents.${agent}`,
    what: `The entry of "${upstream}" has credentials of "${agent}" and there is no agent "${agent}", so nobody uses them.${hint}`,
    fix: 'Correct the name, or take it out. Until then everybody calls with what the entry itself has.',
  }
}

function strangeConsent(upstream: string, config: UpstreamConfig): Finding[] {
  const known = askableConsent(upstream, config)
  const strange = Object.keys(config.consentOperations ?? {}).filter(operation => !known.includes(operation))
  return strange.map(operation => ({
    level: 'warning',
    where: `mcpServers.${upstream}.consentOperations.${operation}`,
    what: `No tool of "${upstream}" asks for the consent operation "${operation}".${didYouMean(operation, known)}`,
    fix: 'Correct the name, or take it out. A tool asks for it by "consent" under "tools" in the same entry.',
  }))
}
