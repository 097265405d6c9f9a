import {
  type AgentConfig,
  type Caller,
  type DependencyOptions,
  messageOf,
  type Settings,
} from '../../contracts/index.ts'
import {
  type AgentStore,
  type Agents,
  type CapabilityRegistry,
  createAgents,
  createAnnouncer,
  createCapabilityRegistry,
  type Mount,
  type RemoteAgents,
  type ServerFactory,
} from '../../core/agents/index.ts'
import {
  type Catalogue,
  createCatalogue,
  type SchemaCompiler,
  type Secrets,
  type Source,
} from '../../core/catalogue/index.ts'
import { createHealth, type Health } from '../../core/health/index.ts'
import {
  type Clock,
  createEmitter,
  type Digest,
  type Emitter,
  type Ids,
  type Log,
  type Random,
  type Tracer,
} from '../../core/kernel/index.ts'
import { createDocs, type Docs } from '../../core/knowledge/index.ts'
import {
  awaitedIn,
  type Calls,
  type ConsentServices,
  createApprovals,
  createCalls,
  createConsentGate,
  createConsentServices,
  createConsentStep,
  createDeliveryTracker,
  createEffectsStage,
  createFailureVerifier,
  createIdempotency,
  createKeptResults,
  createLeaseKeeper,
  createLeaseTransitions,
  createOperationAdmin,
  createOperationSeal,
  createOperations,
  createReadings,
  createResultNotifier,
  createStoredOperations,
  createWaitedOperations,
  customKind,
  type EffectKinds,
  type KeptResults,
  type NotifyResult,
  type OperationAdmin,
  type OperationSeal,
  type Operations,
  observeStorage,
  type Readings,
  type StorageAccess,
} from '../../core/operations/index.ts'

/** Everything the core needs from outside. */
export interface CorePorts {
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly digest: Digest
  readonly log: Log
  readonly compiler: SchemaCompiler
  readonly sources: readonly Source[]
  readonly agentStore: AgentStore
  readonly secrets: Secrets
  readonly settings: Settings
  /** How effects outside are verified; without one, tools with effects are left out. */
  readonly effectKinds?: EffectKinds | undefined
  /** Where calls are recorded. */
  readonly storage: StorageAccess
  /** Identifies this process among those that run operations; generated when absent. */
  readonly owner?: string | undefined
  /** Calls are not traced without one. */
  readonly tracer?: Tracer | undefined
  /** Connects a server that was never listed, for a call of what may be its tool; no server is connected when absent. */
  readonly connectUnseen?: ((unit: string, withinMs: number) => Promise<void>) | undefined
  /** Mounts the servers that capabilities name; without it those are unavailable. */
  readonly mount?: Mount | undefined
  /** Notifies the caller of an operation that ended while no client waited for its answer. */
  readonly tellEnd?: NotifyResult | undefined
  /** The callers with a client to notify; all callers when absent. */
  readonly endListeners?: (() => readonly Caller[]) | undefined
  /** Agents with a workspace that run elsewhere; none when absent. */
  readonly remoteAgents?: RemoteAgents | undefined
  /** How long the first load of a source may hold up the others. */
  readonly patienceMs: number
  dependencyOptions(name: string): DependencyOptions
  folders(agent: AgentConfig & { name: string }): { agentDir: string; workspaceDir: string }
  /** Renders the MCP server of an agent's session; it gets parts of the core, because calls go through it. */
  serverFactory(core: {
    calls: Calls
    readings: Readings
    results: KeptResults
    operations: Operations
    operationAdmin: OperationAdmin
    follow: Agents['follow']
    seal: OperationSeal
    /** A client has connected: delivers results that no client was there to receive. */
    resendNotifications(): void
  }): ServerFactory
}

/** The contexts, wired. */
export interface Core {
  readonly emitter: Emitter
  readonly catalogue: Catalogue
  readonly health: Health
  readonly agents: Agents
  readonly docs: Docs
  readonly registry: CapabilityRegistry
  readonly calls: Calls
  readonly readings: Readings
  readonly results: KeptResults
  readonly operations: Operations
  readonly operationAdmin: OperationAdmin
  readonly consentServices: ConsentServices
  /** Continues what earlier processes left to be done. */
  work(): void
  /** Accepts nothing more, ends what merely waits, and resolves when the running handlers have ended. */
  drain(): Promise<void>
  /** How many handlers of calls, prompts and resources run now. */
  running(): number
  stop(): Promise<void>
}

export function buildCore(outside: CorePorts): Core {
  const storage = observeStorage(outside.storage, () => leaseTransitions)
  const ports = { ...outside, storage }
  const { clock, digest, settings, log, secrets } = ports
  const emitter = createEmitter({
    onError: (error, event) => log.error('a listener failed', { event, error: String(error) }),
  })

  // Definitions and their health. Health follows the catalogue's generations; the catalogue has new dependencies probed.
  const reportProbing = (error: unknown) => log.error('probing failed', { error: messageOf(error) })
  const effectKinds: EffectKinds = ports.effectKinds ?? new Map()
  const catalogue: Catalogue = createCatalogue({
    ...ports,
    emitter,
    effectKinds,
    ownEffectKind: customKind,
    lookAhead: dependencies => void health.lookAhead(dependencies).catch(reportProbing),
    prepare: next => health.prepare(next),
  })
  const health: Health = createHealth({
    ...ports,
    emitter,
    catalogue,
    options: ports.dependencyOptions,
    hasSecret: name => secrets.get(name) !== undefined,
  })
  emitter.on('generation.swapped', () => {
    health.adopt(catalogue.current())
    // A reload was probed before the swap; this is for the first generation and for what a host program registers.
    health.probeNew().catch(reportProbing)
  })

  // Agents and what each of them sees.
  const announcer = createAnnouncer({ emitter, clock, settings })
  const docs = createDocs(clock)
  const { mount, remoteAgents, folders } = ports
  const agentPorts = { store: ports.agentStore, mount, remoteAgents, folders }
  const agents = createAgents({ ...agentPorts, emitter, announcer, catalogue, health, digest, settings, docs })

  // The record of operations.
  const results = createKeptResults(ports)
  const owner = ports.owner ?? ports.ids.next('process')
  const deliveries = createDeliveryTracker({ ...ports, onUndelivered: () => notifier.wake() })
  const operationLog = createStoredOperations({ ...ports, emitter, owner, deliveries })
  const leases = createLeaseKeeper({ ...ports, owner, operations: operationLog })
  const operations = createOperations({ storage, deliveries, log: operationLog })
  const idempotency = createIdempotency({ storage, deliveries, log: operationLog, clock })
  const failureVerifier = createFailureVerifier({ ...ports, catalogue, effectKinds })

  // Consent: what needs it, waiting requests, and the persons' side of them.
  const gate = createConsentGate({ ...ports, catalogue })
  const whereAwaited = awaitedIn({ storage, isHeld: id => approvals.isHeld(id) })
  const consentServices = createConsentServices({ ...ports, emitter, failureVerifier, catalogue, whereAwaited })
  const approvals = createApprovals({ ...ports, emitter, owner, operations: operationLog })
  const operationAdmin: OperationAdmin = createOperationAdmin({
    ...ports,
    emitter,
    whereAwaited,
    failureVerifier,
    operations: operationLog,
    // Not `calls` itself, which is created below.
    calls: { cancel: (id, reason) => calls.cancel(id, reason) },
  })
  const consentStep = createConsentStep({
    ...ports,
    gate,
    approvals,
    consentServices,
    operations: operationLog,
    operationAdmin,
    idempotency,
  })

  // Calls, and the queue of those that wait or are retried.
  const effects = createEffectsStage({ ...ports, effectKinds, operations: operationLog })
  const calls: Calls = createCalls({
    ...ports,
    catalogue,
    consentStep,
    gate,
    effects,
    health,
    results,
    operations: operationLog,
    idempotency,
    approvals,
    consentServices,
    records: operations,
    failureVerifier,
    emitter,
  })
  const waited = createWaitedOperations({
    ...ports,
    owner,
    emitter,
    agents,
    catalogue,
    health,
    calls,
    operations: operationLog,
    gate,
    approvals,
    failureVerifier,
  })
  const notifier = createResultNotifier({
    ...ports,
    emitter,
    notify: ports.tellEnd ?? (() => undefined),
    connectedCallers: ports.endListeners,
    isAwaited: end => approvals.isHeld(end.id) || deliveries.has(end),
  })
  const leaseTransitions = createLeaseTransitions({
    ...ports,
    emitter,
    owner,
    approvals,
    calls,
    operations: operationLog,
    wake() {
      waited.wake()
      notifier.wake()
    },
  })
  leases.start()
  const readings = createReadings({ ...ports, health, operations: operationLog, emitter })

  // The MCP servers of agents, and the registry that hands them out.
  const createServer = ports.serverFactory({
    calls,
    readings,
    results,
    operations,
    operationAdmin,
    follow: agents.follow,
    seal: createOperationSeal(storage),
    resendNotifications: notifier.wake,
  })
  const registry = createCapabilityRegistry({ catalogue, health, digest, settings, docs, createServer, mount, log })

  return {
    emitter,
    catalogue,
    health,
    agents,
    docs,
    registry,
    calls,
    readings,
    results,
    operations,
    operationAdmin,
    consentServices,
    work() {
      waited.start()
      notifier.start()
    },
    async drain() {
      await Promise.all([calls.drain(), readings.drain(), waited.stop()])
    },
    running: () => calls.running() + readings.running(),
    async stop() {
      storage.stopObserving()
      leaseTransitions.stop()
      await waited.stop()
      calls.stop()
      readings.stop()
      announcer.stop()
      health.stop()
      await Promise.all([catalogue.stop(), operationLog.stop()])
      await deliveries.stop()
      // Last of the operations: what ran until now held its leases until now.
      leases.stop()
      await notifier.stop()
    },
  }
}
