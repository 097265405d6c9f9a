import type { McpServerConfig, ResolverContext } from '../../contracts/index.ts'

/** Someone else's server that a capability resolved to for one agent. */
export interface MountRequest {
  /** The capability that names it. */
  readonly key: string
  readonly server: McpServerConfig
  readonly context: ResolverContext
}

/** What became of it: the capability whose tools are that server's, or why there is none. */
export type Mounted = { readonly capability: string } | { readonly reason: string }

/**
 * Has someone else's server mounted as an upstream. It answers at once and starts nothing itself: it notes what is wanted,
 * and the capability it names may come with a later generation. Asked for the same server again it gives the same answer.
 */
export type Mount = (request: MountRequest) => Mounted
