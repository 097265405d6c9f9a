import type { HttpFront } from '../adapters/mcp-server/index.ts'
import { createMetrics, type Metrics, type MetricsSources } from '../adapters/metrics/index.ts'
import { createSystemClock } from '../adapters/system/index.ts'
import type { OperationState } from '../contracts/index.ts'
import type { OpenedStore } from './open-store.ts'
import type { Runtime } from './runtime.ts'

/** What is measured of an `up`. */
export function metricsOf(
  { core }: Pick<Runtime, 'core'>,
  parts: { mcp: Pick<HttpFront, 'counts'>; store: Pick<OpenedStore, 'statistics' | 'store'> },
): Metrics {
  const { catalogue, health, operations, emitter } = core
  return createMetrics({
    emitter,
    sources: {
      capabilityOf: tool => catalogue.current().tools.get(tool)?.capability,
      running: () => operations.running().length,
      waiting: waitingIn(parts.store),
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

/** Whoever measures wants to know also, and just then, that the store is stuck. */
const PATIENCE_MS = 250

function waitingIn({ store }: Pick<OpenedStore, 'store'>): MetricsSources['waiting'] {
  // By the index of expiry: everything that waits has one.
  const count = (state: OperationState) => store.count('operations', { state, expiresAt: { not: null } })
  const look = async () => {
    const [approval, retry] = await Promise.all([count('waitingForApproval'), count('queued')])
    return { approval, retry }
  }
  let looking: ReturnType<typeof look> | undefined
  return () => {
    // One look at a time: those who come to a store that is stuck must not pile up in front of it.
    looking ??= look().finally(() => {
      looking = undefined
    })
    return soon(looking)
  }
}

function soon<T>(work: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = createSystemClock().after(PATIENCE_MS, () => resolve(undefined))
    work.then(resolve, reject).finally(cancel)
  })
}
