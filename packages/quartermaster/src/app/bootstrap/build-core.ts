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
  observedStorage,
  type Readings,
  type StorageAccess,
} from '../../core/operations/index.ts'

/** Everything the core asks of the outside. */
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
  /** What can be verified of what calls leave behind outside; without one, tools with effects are left out. */
  readonly effectKinds?: EffectKinds | undefined
  /** Where calls are written down. */
  readonly storage: StorageAccess
  /** Who this process is among those that run operations; made up when absent. */
  readonly owner?: string | undefined
  /** Calls are not traced without one. */
  readonly tracer?: Tracer | undefined
  /** Connects a unit that was never listed, for a call of what may be its tool; no unit is connected for a call when absent. */
  readonly connectUnseen?: ((unit: string, withinMs: number) => Promise<void>) | undefined
  /** Mounts the servers that capabilities name; without one those are unavailable. */
  readonly mount?: Mount | undefined
  /** Notifies the caller that an operation has ended, where no client waited for its answer. */
  readonly tellEnd?: NotifyResult | undefined
  /** The callers with a client to notify of ends; all callers when absent. */
  readonly endListeners?: (() => readonly Caller[]) | undefined
  /** Agents with a workspace that run elsewhere; none when absent. */
  readonly remoteAgents?: RemoteAgents | undefined
  /** How long the first load of a source may hold up the others. */
  readonly patienceMs: number
  dependencyOptions(name: string): DependencyOptions
  folders(agent: AgentConfig & { name: string }): { agentDir: string; workspaceDir: string }
  /** Renders the servers of a run; it gets the core, because calls go through it. */
  serverFactory(core: {
    calls: Calls
    readings: Readings
    results: KeptResults
    operations: Operations
    operationAdmin: OperationAdmin
    follow: Agents['follow']
    seal: OperationSeal
    /** A client has connected: delivers the ends that no client was there to receive. */
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
  /** Goes on with what earlier processes left to be done. */
  work(): void
  /** Takes nothing more, ends what merely waits, and resolves when the handlers that run have ended. */
  drain(): Promise<void>
  /** How many handlers of calls, prompts and resources run now. */
  running(): number
  stop(): Promise<void>
}

export function buildCore(outside: CorePorts): Core {
  const storage = observedStorage(outside.storage, () => foreign)
  const ports = { ...outside, storage }
  const { clock, digest, settings, log, secrets } = ports
  const emitter = createEmitter({
    onError: (error, event) => log.error('a listener failed', { event, error: String(error) }),
  })
  const reportProbing = (error: unknown) => log.error('probing failed', { error: messageOf(error) })
  // The two know each other: health follows the catalogue's generations, the catalogue has new dependencies looked at.
  const catalogue: Catalogue = createCatalogue({
    ...ports,
    emitter,
    effectKinds: ports.effectKinds ?? new Map(),
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
    // What a reload brings was looked at before; this is for the first generation and for what a host registers.
    health.probeNew().catch(reportProbing)
  })
  const announcer = createAnnouncer({ emitter, clock, settings })
  const docs = createDocs(clock)
  const agents = createAgents({
    store: ports.agentStore,
    emitter,
    announcer,
    catalogue,
    health,
    digest,
    settings,
    docs,
    mount: ports.mount,
    remoteAgents: ports.remoteAgents,
    folders: ports.folders,
  })
  const results = createKeptResults(ports)
  const owner = ports.owner ?? ports.ids.next('process')
  const deliveries = createDeliveryTracker({ ...ports, onUndelivered: () => teller.look() })
  const operationLog = createStoredOperations({ ...ports, emitter, owner, deliveries })
  const leases = createLeaseKeeper({ ...ports, owner, operations: operationLog })
  const operations = createOperations({ storage: ports.storage, deliveries, log: operationLog })
  const idempotency = createIdempotency({ storage: ports.storage, deliveries, log: operationLog, clock })
  const gate = createConsentGate({ ...ports, catalogue })
  const effectKinds: EffectKinds = ports.effectKinds ?? new Map()
  const failureVerifier = createFailureVerifier({ ...ports, catalogue, effectKinds })
  const whereAwaited = awaitedIn({ storage, isHeld: id => approvals.isHeld(id) })
  const consentServices = createConsentServices({ ...ports, emitter, failureVerifier, catalogue, whereAwaited })
  const approvals = createApprovals({ ...ports, emitter, owner, operations: operationLog })
  // The two know each other: the operation service stops what runs, and ends a call that is cancelled while it waits.
  const operationAdmin: OperationAdmin = createOperationAdmin({
    ...ports,
    emitter,
    whereAwaited,
    failureVerifier,
    operations: operationLog,
    calls: { cancel: (id, reason) => calls.cancel(id, reason) },
  })
  const admission = createConsentStep({
    ...ports,
    gate,
    approvals,
    consentServices,
    operations: operationLog,
    operationAdmin,
    idempotency,
  })
  const effects = createEffectsStage({
    ...ports,
    effectKinds,
    operations: operationLog,
  })
  const calls: Calls = createCalls({
    ...ports,
    catalogue,
    consentStep: admission,
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
  const teller = createResultNotifier({
    ...ports,
    emitter,
    tell: ports.tellEnd ?? (() => undefined),
    listening: ports.endListeners,
    isAwaited: end => approvals.isHeld(end.id) || deliveries.has(end),
  })
  const foreign = createLeaseTransitions({
    ...ports,
    emitter,
    owner,
    approvals,
    calls,
    operations: operationLog,
    wake() {
      waited.wake()
      teller.look()
    },
  })
  leases.start()
  const readings = createReadings({ ...ports, health, operations: operationLog, emitter })
  const createServer = ports.serverFactory({
    calls,
    readings,
    results,
    operations,
    operationAdmin,
    follow: agents.follow,
    seal: createOperationSeal(ports.storage),
    resendNotifications: teller.look,
  })
  const registry = createCapabilityRegistry({
    catalogue,
    health,
    digest,
    settings,
    docs,
    createServer,
    mount: ports.mount,
    log,
  })
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
      teller.start()
    },
    async drain() {
      await Promise.all([calls.drain(), readings.drain(), waited.stop()])
    },
    running: () => calls.running() + readings.running(),
    async stop() {
      storage.stopObserving()
      foreign.stop()
      await waited.stop()
      calls.stop()
      readings.stop()
      announcer.stop()
      health.stop()
      await Promise.all([catalogue.stop(), operationLog.stop()])
      await deliveries.stop()
      // What still ran until now was still this process's.
      leases.stop()
      await teller.stop()
    },
  }
}
