import { issueText, McpServerConfig, UpstreamConfig } from '../../contracts/index.ts'
import type { Mount } from '../../core/agents/index.ts'
import { canonicalJson, type Digest, fewIssues } from '../../core/kernel/index.ts'
import { MOST_GUESTS } from './guests.ts'
import type { Upstreams } from './upstreams.ts'

export interface MountDeps {
  readonly upstreams: Pick<Upstreams, 'mount'>
  readonly digest: Digest
}

/** Mounts the servers that capabilities name: nothing of someone else's is reached around the call path. */
export function createMount({ upstreams, digest }: MountDeps): Mount {
  return ({ key, server, context }) => {
    const read = toUpstream(server)
    if ('reason' in read) return read
    const name = nameFor(key, digest(canonicalJson([key, server])))
    const isMounted = upstreams.mount({ name, key, agent: context.agent.name, config: read.config })
    return isMounted ? { capability: name } : { reason: FULL }
  }
}

const FULL = `Capabilities name more than ${MOST_GUESTS} MCP servers, and this is one too many.`

/** What is not used for so long is stopped; the resolver that named it may never do so again. */
const IDLE_SECONDS = 300

/** Resolvers are not always typed, so what they give is checked like anything else that comes from outside. */
function toUpstream(server: unknown): { config: UpstreamConfig } | { reason: string } {
  const named = McpServerConfig.safeParse(server)
  if (!named.success) return unusable(named.error.issues)
  if (named.data.type === 'sdk')
    return { reason: 'It names a server that runs inside this process, and that cannot be mounted.' }
  const config = UpstreamConfig.safeParse({ ...named.data, start: 'lazy', idleSeconds: IDLE_SECONDS })
  return config.success ? { config: config.data } : unusable(config.error.issues)
}

function unusable(issues: readonly { path: PropertyKey[]; message: string }[]): { reason: string } {
  const [first] = fewIssues(issues)
  return { reason: `It names an MCP server that cannot be mounted: ${first ? issueText(first) : 'it is none.'}` }
}

/** Short enough to be part of other names. */
const LONGEST_KEY = 46
const DIGEST_LENGTH = 8

/** Another configuration is another server, whoever names it. */
function nameFor(key: string, digest: string): string {
  return `${key.slice(0, LONGEST_KEY)}-${digest.slice(0, DIGEST_LENGTH)}`
}
