import { expect, onTestFinished } from 'vitest'
import { UpstreamConfig } from '../../../contracts/index.ts'
import type { SourceUnit } from '../../../core/catalogue/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import type { StorageAccess } from '../../../core/operations/index.ts'
import { createLeases, type LeaseStore } from '../../../core/store/index.ts'
import {
  createPinBook,
  createScanner,
  createUpstreamCredentials,
  createUpstreamMemory,
  otherNamesIn,
} from '../../../core/upstreams/index.ts'
import { memoryStorage } from '../../../testing/memory-store.ts'
import { createIds, createSystemClock, sha256, silentLog, systemRandom } from '../../system/index.ts'
import type { StartChoice } from '../mounts.ts'
import { createUpstreamAuth } from '../oauth/upstream-auth.ts'
import { createMounted, type MountOptions } from '../upstream.ts'
import { createUpstreams } from '../upstreams.ts'
import { ILL_SERVER, processManagerFixture, tempFolder } from './child-fixture.ts'

export const PATIENT = { timeout: 15_000 }
export const SIGNAL = new AbortController().signal

/** The configuration of a program that can be as ill-behaved as a test needs. */
export const entry = (options: Record<string, unknown> = {}, ...flags: string[]) =>
  UpstreamConfig.parse({ command: process.execPath, args: [ILL_SERVER, ...flags], era: 'legacy', ...options })

interface Situation {
  readonly storage?: StorageAccess
  /** Where leases are kept. */
  readonly at?: LeaseStore | undefined
  readonly leaseClock?: Clock
  readonly which?: StartChoice | 'none'
  /** How long one that fell counts as recovering. */
  readonly recoveringSeconds?: number
  /** Who is no agent any more; all others are. */
  readonly removed?: ReadonlySet<string>
}

/** Upstreams over real programs, and a store that can outlive them. */
export async function stage({
  storage = memoryStorage(),
  at,
  leaseClock = createSystemClock(),
  which = 'all',
  recoveringSeconds = 10,
  removed = new Set(),
}: Situation = {}) {
  const clock = createSystemClock()
  const { processManager, dataDir } = await processManagerFixture()
  const ports = { clock, ids: createIds(), random: systemRandom, digest: sha256, log: silentLog, storage }
  const leases = createLeases({ ...ports, clock: leaseClock, leaseMs: 30_000, place: async () => at })
  const common = {
    ...ports,
    processes: processManager,
    dataDir,
    projectDir: await tempFolder(),
    auth: createUpstreamAuth({ ...ports, leases, credentials: createUpstreamCredentials(ports) }),
    pins: createPinBook({ ...ports, scanner: createScanner(ports) }),
    memory: createUpstreamMemory(ports),
    settings: { callTimeoutSeconds: 30, restartWaitSeconds: 10, recoveringSeconds },
    version: '1.0.0',
    leases,
    hasAgent: async (name: string) => !removed.has(name),
    secrets: () => [],
    toolsOfOthers: async () => otherNamesIn([]),
  }
  const create = (options: MountOptions) => createMounted(common, options)
  const parts = async () => ({ ...common, create, close: () => processManager.close() })
  const upstreams = createUpstreams({ ...ports, parts })
  onTestFinished(() => upstreams.stop())
  if (which !== 'none') upstreams.start(which)
  const configure = (configs: Record<string, UpstreamConfig>) => upstreams.configure(new Map(Object.entries(configs)))
  const status = (name = 'ill') => upstreams.statuses().find(one => one.name === name)
  const isUp = async (name?: string) => {
    await expect.poll(() => status(name)?.state).toBe('up')
  }
  const units = async () => (await upstreams.source.load(SIGNAL)) as Extract<SourceUnit, { hash: string }>[]
  const toolNames = async () =>
    (await units()).flatMap(({ definitions }) =>
      (definitions.capabilities ?? []).flatMap(({ tools }) => tools.map(tool => tool.name)),
    )
  const { pins, auth } = common
  return { upstreams, configure, status, isUp, units, toolNames, storage, pins, auth }
}
