import type { HttpFront } from '../adapters/mcp-server/index.ts'
import { createMetrics, type Metrics } from '../adapters/metrics/index.ts'
import type { OpenedStore } from './open-store.ts'
import type { Runtime } from './runtime.ts'

/** What is measured of an `up`. */
export function metricsOf(
  { core }: Pick<Runtime, 'core'>,
  parts: { mcp: Pick<HttpFront, 'counts'>; store: Pick<OpenedStore, 'statistics'> },
): Metrics {
  const { catalogue, health, operations, emitter } = core
  return createMetrics({
    emitter,
    sources: {
      capabilityOf: tool => catalogue.current().tools.get(tool)?.capability,
      running: () => operations.running().length,
      front: () => parts.mcp.counts(),
      generation: () => catalogue.current().number,
      tools() {
        const tools = [...catalogue.current().tools.values()]
        const active = tools.filter(tool => health.availability(tool).active).length
        return { active, disabled: tools.length - active }
      },
      dependencies: () => health.dependencies(),
      store: () => parts.store.statistics(),
    },
  })
}
