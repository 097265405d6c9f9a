import { createIds, createSystemClock } from '../../adapters/system/index.ts'
import type { Control, OperationChange } from '../../contracts/index.ts'
import { type Log, memoize } from '../../core/kernel/index.ts'
import { createControl } from '../control/control.ts'
import { type LazyStore, lazyStore } from '../project/lazy-store.ts'
import type { Project } from '../project/project.ts'
import { type BuiltExternalPeers, buildExternalPeers } from './external-peers.ts'
import { createRuntime, type Runtime } from './runtime.ts'
import { syncWorkspacesOnce } from './workspaces.ts'

/** A runtime in a process without an `up`, its control, and the store that is opened when first needed. */
export interface LocalRuntime {
  readonly runtime: Runtime
  readonly control: Control
  readonly storage: LazyStore
  peers(): Promise<BuiltExternalPeers>
}

/** For one command, or inside a host program. */
export async function createLocalRuntime(
  project: Project,
  options: {
    readonly log: Log
    readonly forOneCommand: boolean
    readonly ownsProcess: boolean
    /** Receives the outcome of each operation that the previous process left behind. */
    onChange?(change: OperationChange): void
  },
): Promise<LocalRuntime> {
  const { log, onChange, ...kind } = options
  const { dataDir, settings, storeChoice: choice } = project
  const owner = createIds().next('process')
  const clock = createSystemClock()
  const storage = lazyStore({ dataDir, choice, settings, clock, log, owner, onChange })
  const peers = memoize(async () => buildExternalPeers(project, await storage.open(), log))
  const withWorkspaces = async () => {
    const opened = await storage.open()
    // Only one that stays sends what its agents delegate: no other process has the folder.
    if (!kind.forOneCommand) (await peers()).start()
    return { ...opened, organisation: await syncWorkspacesOnce(runtime, opened.organisation) }
  }
  const runtime: Runtime = await createRuntime(project, {
    ...kind,
    log,
    clock,
    storage,
    platform: { open: withWorkspaces, current: storage.current },
    owner,
    hasLocalAgents: true,
  })
  const control = createControl(runtime, {
    from: 'process',
    isReady: () => true,
    tokens: async () => (await storage.open()).tokens,
    organisation: async () => (await withWorkspaces()).organisation,
    memory: async () => (await storage.open()).memory,
    delegations: async () => (await storage.open()).delegations,
    peers: async () => (await peers()).peers,
  })
  return { runtime, control, storage, peers }
}
