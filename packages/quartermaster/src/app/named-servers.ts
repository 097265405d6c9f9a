import { createMount, type Upstreams } from '../adapters/mcp-upstream/index.ts'
import { messageOf } from '../contracts/index.ts'
import type { Mount } from '../core/agents/index.ts'
import type { Cancel, Digest, Log } from '../core/kernel/index.ts'

export interface NamedServersDeps {
  readonly upstreams: Pick<Upstreams, 'mount' | 'source'>
  readonly digest: Digest
  readonly log: Log
  /** Makes the next generation. */
  reload(): Promise<unknown>
}

/** The MCP servers that capabilities name. */
export interface NamedServers {
  readonly mount: Mount
  /** Whether there are any. */
  hasAny(): boolean
  stop(): void
}

export function createNamedServers({ upstreams, digest, log, reload }: NamedServersDeps): NamedServers {
  const mount = createMount({ upstreams, digest })
  let unfollow: Cancel | undefined

  /** What they have comes with a later generation, also where nothing else is watched. */
  function follow(): void {
    unfollow ??= upstreams.source.onChange?.(() => {
      reload().catch(error => log.error('reload failed', { error: messageOf(error) }))
    })
  }

  return {
    mount(request) {
      const mounted = mount(request)
      if ('capability' in mounted) follow()
      return mounted
    },
    hasAny: () => unfollow !== undefined,
    stop: () => unfollow?.(),
  }
}
