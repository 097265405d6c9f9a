import type { Settings, UpstreamConfig } from '../../contracts/index.ts'
import { type Clock, type Digest, type Random, upstreamUnit } from '../../core/kernel/index.ts'
import { separateSecrets } from '../../core/secrets/index.ts'
import type { Leases } from '../../core/store/index.ts'
import type { PinBook, ToolsOfOthers, UpstreamMemory } from '../../core/upstreams/index.ts'
import type { ProcessManager } from '../programs/index.ts'
import { targetOf } from './connection/target.ts'
import type { UpstreamAuth } from './oauth/upstream-auth.ts'
import type { RevokedAgents } from './revoked-agents.ts'
import { createChildLog, SHORTEST_SECRET } from './transport/child-log.ts'
import { createUpstream, type Upstream } from './upstream.ts'

export interface MountedDeps {
  readonly projectDir: string
  readonly dataDir: string
  readonly pins: Pick<PinBook, 'recall' | 'see' | 'lookAgain' | 'claim'>
  readonly memory: UpstreamMemory
  readonly processes: ProcessManager
  readonly auth: UpstreamAuth
  readonly clock: Clock
  readonly random: Random
  readonly digest: Digest
  readonly settings: Pick<Settings, 'callTimeoutSeconds' | 'restartWaitSeconds' | 'recoveringSeconds'>
  readonly version: string
  /** For those that run on one node at a time. */
  readonly leases: Leases
  hasAgent(name: string): Promise<boolean>
  secrets(): readonly string[]
  /** Names of tools of other units, once the present definitions have been read. */
  readonly toolsOfOthers: ToolsOfOthers
}

export interface MountOptions {
  readonly name: string
  readonly config: UpstreamConfig
  readonly mountedAt: number
  readonly revokedAgents: Pick<RevokedAgents, 'since'>
  onChange(): void
  onState(): void
}

/** Makes one upstream with all its parts. */
export function createMounted(deps: MountedDeps, options: MountOptions): Upstream {
  const { name, config } = options
  const { clock, settings, version, toolsOfOthers } = deps
  // Besides the stored secrets, values in the entry that look like one.
  const inline = Object.values(separateSecrets(name, config).secrets).filter(text => text.length >= SHORTEST_SECRET)
  const log = createChildLog({ clock, secrets: [...deps.secrets(), ...inline] })
  return createUpstream({
    ...deps,
    ...options,
    log,
    target: targetOf({ ...deps, name, config, log }),
    lease: config.single && config.enabled ? deps.leases.of(`upstream ${name}`) : undefined,
    client: { name: 'quartermaster', version },
    callMs: settings.callTimeoutSeconds * 1000,
    restartWaitMs: settings.restartWaitSeconds * 1000,
    recoveringMs: settings.recoveringSeconds * 1000,
    otherTools: () => toolsOfOthers(upstreamUnit(name)),
  })
}

export { createUpstreamAuth } from './oauth/upstream-auth.ts'
export { foreseenFailure } from './transport/stdio-failure.ts'
