import {
  createChildHerd,
  createUpstreamAuth,
  createUpstreams,
  type UpstreamAuth,
  type Upstreams,
} from '../adapters/mcp-upstream/index.ts'
import type { Clock, Digest, Ids, Log, Random } from '../core/kernel/index.ts'
import type { StorageAccess } from '../core/operations/index.ts'
import { createPinBook, createUpstreamCredentials, createUpstreamMemory } from '../core/upstreams/index.ts'
import type { Project } from './project.ts'
import { VERSION } from './version.ts'

export interface UpstreamPorts {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly digest: Digest
  readonly log: Log
  /** Whether it owns the data folder, and so everything an earlier run has left behind. */
  readonly isOwner: boolean
  /** Names of all tools, with where they come from, once the definitions that are here have been read. */
  tools(): Promise<Iterable<{ readonly name: string; readonly unit: string }>>
}

/** The MCP servers of others, and what people have signed in to. */
export interface BuiltUpstreams {
  readonly upstreams: Upstreams
  readonly auth: UpstreamAuth
}

export function buildUpstreams(project: Project, ports: UpstreamPorts): BuiltUpstreams {
  const { projectDir, dataDir, settings } = project
  const { clock, log } = ports
  const herd = createChildHerd({ clock, dataDir, warn: message => log.warn(message) })
  const auth = createUpstreamAuth({ ...ports, credentials: createUpstreamCredentials(ports) })
  const upstreams = createUpstreams({
    ...ports,
    projectDir,
    dataDir,
    settings,
    herd,
    auth,
    pins: createPinBook(ports),
    memory: createUpstreamMemory(ports),
    version: VERSION,
    secrets: () => project.upstreamSecrets(),
    async prepare() {
      const swept = ports.isOwner ? await herd.sweep() : 0
      if (swept > 0) log.warn('programs of an earlier run were still there and have been ended', { count: swept })
    },
  })
  return { upstreams, auth }
}
