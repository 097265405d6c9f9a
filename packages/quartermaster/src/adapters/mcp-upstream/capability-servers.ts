import { issueText, McpServerConfig, UpstreamConfig } from '../../contracts/index.ts'
import type { Mount } from '../../core/agents/index.ts'
import { canonicalJson, type Digest, firstIssues } from '../../core/kernel/index.ts'

/** A server that a capability names for an agent. */
export interface CapabilityServerRequest {
  readonly name: string
  /** The capability. Tool names begin with it, unless another server of the same capability has that prefix. */
  readonly key: string
  readonly agent: string
  readonly config: UpstreamConfig
}

/** The servers that capabilities name, besides the configured ones. */
interface CapabilityServers {
  /**
   * `full`: the limit is reached. `changed`: a server was added, or lost its last agent for the first time, so
   * definitions have to be read again.
   */
  register(request: CapabilityServerRequest): 'changed' | 'same' | 'full'
  /** The servers that a capability names, for any agent. */
  namedBy(key: string): string[]
  /** An agent lost this capability, or all of them. Answers whether a server without agents was removed. */
  leave(agent: string, key?: string): boolean
  /** Definitions are read again, so servers in use are registered again. Answers whether an unused one was removed. */
  age(): boolean
  /**
   * Gives prefixes to servers without one: their prefix before a restart, or their capability's short one if it is
   * free. Where the earlier names cannot be read, that is left for the next time. Answers all servers.
   */
  settled(
    namesOf: (server: string) => Promise<readonly string[] | undefined>,
  ): Promise<ReadonlyMap<string, UpstreamConfig>>
  /** A server without a prefix uses its own name, which is unique. */
  configs(): ReadonlyMap<string, UpstreamConfig>
}

/** Each server may be a process. */
export const MOST_CAPABILITY_SERVERS = 64
/** A server in use is registered again after one reading; the next reading removes any other. */
const READINGS = 1

interface CapabilityServer {
  readonly key: string
  readonly config: UpstreamConfig
  /** Agents that use this server, and no other of the same capability. */
  readonly agents: Set<string>
  /** The prefix of its names, which stays whatever other servers come or go. */
  prefix?: string
  /**
   * Servers that agents used for this capability before. This one inherits their short names once they have no agent
   * left.
   */
  readonly inPlaceOf: Set<string>
  readingsSince: number
  /** Set once: two servers used by turns must not cause endless reading. */
  wasLeft: boolean
}

export function createCapabilityServers(): CapabilityServers {
  const servers = new Map<string, CapabilityServer>()

  /** The agent uses another server now. Answers whether a server was left without agents. */
  function release({ name, key, agent }: CapabilityServerRequest): boolean {
    let isNews = false
    for (const [other, server] of servers) {
      if (server.key !== key || other === name || !server.agents.delete(agent)) continue
      servers.get(name)?.inPlaceOf.add(other)
      isNews ||= server.agents.size === 0 && !server.wasLeft
      server.wasLeft ||= server.agents.size === 0
    }
    return isNews
  }

  const isTaken = (key: string) => [...servers.values()].some(server => server.key === key && server.prefix === key)

  /** Its short names go to the server that replaces it. */
  function remove(name: string, { key, prefix }: CapabilityServer): void {
    servers.delete(name)
    let heir: CapabilityServer | undefined
    for (const server of servers.values()) if (server.inPlaceOf.delete(name)) heir ??= server
    if (heir && prefix === key) heir.prefix = key
  }

  const configs = () =>
    new Map([...servers].map(([name, { config, prefix = name }]) => [name, { ...config, prefix }] as const))

  return {
    register(request) {
      const { name, key, agent, config } = request
      const known = servers.get(name)
      if (!known && servers.size >= MOST_CAPABILITY_SERVERS) return 'full'
      const server = known ?? {
        key,
        config,
        agents: new Set(),
        inPlaceOf: new Set(),
        readingsSince: 0,
        wasLeft: false,
      }
      server.agents.add(agent)
      server.readingsSince = 0
      servers.set(name, server)
      return release(request) || !known ? 'changed' : 'same'
    },
    namedBy: key => [...servers].filter(([, server]) => server.key === key).map(([name]) => name),
    leave(agent, key) {
      const before = servers.size
      const lost = [...servers].filter(([, server]) => key === undefined || server.key === key)
      const had = new Set(lost.filter(([, server]) => server.agents.delete(agent)).map(([, server]) => server.key))
      // Also servers that this agent used before and no agent uses now.
      for (const [name, server] of lost) if (had.has(server.key) && server.agents.size === 0) remove(name, server)
      return servers.size < before
    },
    age() {
      const before = servers.size
      for (const [name, server] of servers)
        if (server.readingsSince++ >= READINGS && server.agents.size === 0) {
          remove(name, server)
        }
      return servers.size < before
    },
    configs,
    async settled(namesOf) {
      const had = new Map<CapabilityServer, readonly string[] | undefined>()
      const unnamed = () => [...servers].filter(([, server]) => server.prefix === undefined)
      const unread = () => unnamed().filter(([, server]) => !had.has(server))
      for (let some = unread(); some.length > 0; some = unread())
        await Promise.all(some.map(async ([name, server]) => had.set(server, await namesOf(name))))
      const wasCalled = (server: CapabilityServer, prefix: string) =>
        had.get(server)?.some(one => one.startsWith(`${prefix}_`)) === true
      // Earlier names first, so that no new server takes them.
      for (const [name, server] of unnamed())
        if (wasCalled(server, name)) server.prefix = name
        else if (wasCalled(server, server.key) && !isTaken(server.key)) server.prefix = server.key
      for (const [name, server] of unnamed())
        if (had.get(server)) server.prefix = isTaken(server.key) ? name : server.key
      return configs()
    },
  }
}

interface MountDeps {
  readonly upstreams: { mount(request: CapabilityServerRequest): boolean }
  readonly digest: Digest
}

/** Mounts the servers that capabilities name, so that every call to them goes through the call path. */
export function createMount({ upstreams, digest }: MountDeps): Mount {
  return ({ key, server, context }) => {
    const read = toUpstream(server)
    if ('reason' in read) return read
    const name = nameFor(key, digest(canonicalJson([key, server])))
    const isMounted = upstreams.mount({ name, key, agent: context.agent.name, config: read.config })
    return isMounted ? { capability: name } : { reason: FULL }
  }
}

const FULL = `Capabilities name more than ${MOST_CAPABILITY_SERVERS} MCP servers, and this is one too many.`

/** Idle servers are stopped: their resolver may never name them again. */
const IDLE_SECONDS = 300

/** Resolver output is not always typed, so it is validated. */
function toUpstream(server: unknown): { config: UpstreamConfig } | { reason: string } {
  const named = McpServerConfig.safeParse(server)
  if (!named.success) return unusable(named.error.issues)
  if (named.data.type === 'sdk')
    return { reason: 'It names a server that runs inside this process, and that cannot be mounted.' }
  const config = UpstreamConfig.safeParse({ ...named.data, start: 'lazy', idleSeconds: IDLE_SECONDS })
  return config.success ? { config: config.data } : unusable(config.error.issues)
}

function unusable(issues: readonly { path: PropertyKey[]; message: string }[]): { reason: string } {
  const [first] = firstIssues(issues)
  return { reason: `It names an MCP server that cannot be mounted: ${first ? issueText(first) : 'it is none.'}` }
}

const LONGEST_KEY = 46
const DIGEST_LENGTH = 8

function nameFor(key: string, digest: string): string {
  return `${key.slice(0, LONGEST_KEY)}-${digest.slice(0, DIGEST_LENGTH)}`
}
