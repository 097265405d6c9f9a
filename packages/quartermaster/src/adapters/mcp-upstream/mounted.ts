import type { Settings, UpstreamConfig } from '../../contracts/index.ts'
import { type Clock, type Digest, type Random, upstreamUnit } from '../../core/kernel/index.ts'
import { separateSecrets } from '../../core/secrets/index.ts'
import type { Leases } from '../../core/store/index.ts'
import type { PinBook, ToolsOfOthers, UpstreamMemory } from '../../core/upstreams/index.ts'
import type { ProcessManager } from '../programs/index.ts'
import type { Dismissals } from './dismissals.ts'
import type { UpstreamAuth } from './oauth/upstream-auth.ts'
import { createChildLog, SHORTEST_SECRET } from './stdio/child-log.ts'
import { targetOf } from './target/targets.ts'
import { createUpstream, type Upstream } from './upstream.ts'

/** What every upstream takes. */
export interface MountedDeps {
  readonly projectDir: string
  readonly dataDir: string
  readonly pins: Pick<PinBook, 'recall' | 'see' | 'lookAgain' | 'claim'>
  readonly memory: UpstreamMemory
  readonly herd: ProcessManager
  readonly auth: UpstreamAuth
  readonly clock: Clock
  readonly random: Random
  readonly digest: Digest
  readonly settings: Pick<Settings, 'callTimeoutSeconds' | 'restartWaitSeconds' | 'recoveringSeconds'>
  readonly version: string
  /** For those that run on one node at a time. */
  readonly leases: Leases
  /** Whether there is an agent of this name. */
  hasAgent(name: string): Promise<boolean>
  /** Texts that never stand in a log. */
  secrets(): readonly string[]
  /** Names of tools that are not of a unit, once the definitions that are here have been read. */
  readonly toolsOfOthers: ToolsOfOthers
}

export interface MountOptions {
  readonly name: string
  readonly config: UpstreamConfig
  readonly mountedAt: number
  readonly dismissals: Pick<Dismissals, 'since'>
  onChange(): void
  onState(): void
}

/** One upstream with all it takes. */
export function createMounted(deps: MountedDeps, options: MountOptions): Upstream {
  const { name, config } = options
  const { clock, settings, version, toolsOfOthers } = deps
  // Beside those that are kept as secrets, what looks like one where it stands.
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
