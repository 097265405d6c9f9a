import { createIds, sha256, systemRandom } from '../../adapters/system/index.ts'
import {
  createExternalPeers,
  createOutboundWorker,
  createOutbox,
  type ExternalPeers,
  type OutboundWorker,
  type RemoteAgents,
} from '../../core/external-peers/index.ts'
import { type Log, memoize } from '../../core/kernel/index.ts'
import type { OpenedStore } from '../project/open-store.ts'
import type { Project } from '../project/project.ts'

/** A2A agents elsewhere, and the worker that sends them their tasks. */
export interface BuiltExternalPeers {
  readonly peers: ExternalPeers
  readonly outboundWorker: OutboundWorker
  /** Starts refreshing agent cards and sending tasks. */
  start(): void
  stop(): Promise<void>
}

export function buildExternalPeers(
  { secrets, settings }: Project,
  { store, clock, shared, organisation, delegations, messages, attachments }: OpenedStore,
  log: Log,
): BuiltExternalPeers {
  let isUsed = false
  // Loaded with the first request: most processes have no external peer.
  const client = memoize(async () => {
    isUsed = true
    const { createA2aClient } = await import('../../adapters/a2a-client/index.ts')
    return createA2aClient({ clock })
  })
  const remote = lazyRemote(client)
  const peers = createExternalPeers({ store, clock, log, organisation, remote, secrets })
  const leaseMs = settings.leaseSeconds * 1_000
  const self = shared?.nodes.id ?? createIds().next('process')
  const outbox = createOutbox({ store, clock, self, leaseMs, isAlone: () => shared === undefined })
  const outboundWorker = createOutboundWorker({
    store,
    clock,
    random: systemRandom,
    digest: sha256,
    log,
    remote,
    outbox,
    peers,
    delegations,
    messages,
    attachments,
    organisation,
    watchers: messages.watchers,
    leaseMs,
  })
  return {
    peers,
    outboundWorker,
    start() {
      peers.start()
      outboundWorker.start()
    },
    async stop() {
      await outboundWorker.stop()
      await peers.stop()
      if (isUsed) (await client()).close()
    },
  }
}

function lazyRemote(client: () => Promise<RemoteAgents>): RemoteAgents {
  return {
    card: async (...given) => (await client()).card(...given),
    send: async (...given) => (await client()).send(...given),
    async *stream(...given) {
      yield* (await client()).stream(...given)
    },
    get: async (...given) => (await client()).get(...given),
    async *subscribe(...given) {
      yield* (await client()).subscribe(...given)
    },
    cancel: async (...given) => (await client()).cancel(...given),
  }
}
