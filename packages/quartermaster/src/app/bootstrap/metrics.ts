import type { HttpFront } from '../../adapters/mcp-server/index.ts'
import { createMetrics, type Metrics } from '../../adapters/metrics/index.ts'
import { createSystemClock } from '../../adapters/system/index.ts'
import type { OperationState } from '../../contracts/index.ts'
import type { ExternalPeers } from '../../core/external-peers/index.ts'
import type { OpenedStore } from '../project/open-store.ts'
import type { Runtime } from './runtime.ts'

/** What is measured of an `up`. */
export function metricsOf(
  { core }: Pick<Runtime, 'core'>,
  parts: {
    mcp: Pick<HttpFront, 'counts'>
    store: Pick<OpenedStore, 'statistics' | 'store'>
    peers: Pick<ExternalPeers, 'condition'>
  },
): Metrics {
  const { catalogue, health, operations, emitter } = core
  return createMetrics({
    emitter,
    sources: {
      capabilityOf: tool => catalogue.current().tools.get(tool)?.capability,
      running: () => operations.running().length,
      waiting: soon(() => waitingIn(parts.store)),
      externalPeers: soon(() => peersIn(parts.peers)),
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

/** Metrics are still needed, and most of all, when the store is stuck. */
const PATIENCE_MS = 250

async function waitingIn({ store }: Pick<OpenedStore, 'store'>) {
  // By the index of expiry: everything that waits has one.
  const count = (state: OperationState) => store.count('operations', { state, expiresAt: { not: null } })
  const [approval, retry] = await Promise.all([count('waitingForApproval'), count('queued')])
  return { approval, retry }
}

async function peersIn(peers: Pick<ExternalPeers, 'condition'>) {
  const { reached, troubles } = await peers.condition()
  return { reached: reached.length, unreached: troubles.length }
}

/** One look at a time: those who come to a store that is stuck must not pile up in front of it. */
function soon<T>(look: () => Promise<T>): () => Promise<T | undefined> {
  let looking: Promise<T> | undefined
  return () => {
    looking ??= look().finally(() => {
      looking = undefined
    })
    return unlessLate(looking)
  }
}

function unlessLate<T>(work: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = createSystemClock().after(PATIENCE_MS, () => resolve(undefined))
    work.then(resolve, reject).finally(cancel)
  })
}
