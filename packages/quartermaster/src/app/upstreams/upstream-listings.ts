import { createMount, type Upstreams } from '../../adapters/mcp-upstream/index.ts'
import { messageOf, type Settings } from '../../contracts/index.ts'
import type { AgentSession, Mount } from '../../core/agents/index.ts'
import { type Cancel, type Clock, type Digest, type Log, upstreamOfUnit } from '../../core/kernel/index.ts'
import type { Core } from '../bootstrap/build-core.ts'

/** How long a process that keeps no servers running waits for them to connect. */
const CONNECT_MS = 10_000

/** Waits for servers to connect, and takes their definitions into the catalogue. */
export type UpstreamListings = ReturnType<typeof createUpstreamListings>

export function createUpstreamListings({
  upstreams,
  core: { catalogue, health, emitter },
  clock,
  settings,
}: {
  readonly upstreams: Upstreams
  readonly core: Core
  readonly clock: Clock
  readonly settings: Settings
}) {
  /** Until when the first lists of each agent session may wait. */
  const listsUntil = new WeakMap<object, number>()

  function isAnyComing(session: AgentSession): boolean {
    const { capabilities, isPartial } = catalogue.current()
    return Object.keys(session.agent()?.capabilities ?? {}).some(key => {
      const found = capabilities.get(key)
      if (!found) return isPartial
      const name = found.unseen === undefined ? undefined : upstreamOfUnit(found.unit)
      return name !== undefined && upstreams.isComing(name)
    })
  }

  function untilCome(session: AgentSession, withinMs: number): Promise<void> {
    return new Promise(resolve => {
      const end = () => {
        cancel()
        stopEvents()
        stopStates()
        resolve()
      }
      const look = () => {
        if (!isAnyComing(session)) end()
      }
      const stopEvents = emitter.on('generation.swapped', look)
      const stopStates = upstreams.onState(look)
      const cancel = clock.after(withinMs, end)
    })
  }

  const settled = () => upstreams.met(CONNECT_MS)

  async function takeIn(): Promise<void> {
    const { added } = await catalogue.reload()
    if (!hasTools(added)) return
    // Servers that were listed together are scanned for mentions of each other's tools only now.
    await upstreams.lookAgain()
    await catalogue.reload()
  }

  return {
    /** Waits a while for servers that have been started. */
    settled,
    /** Makes a generation of what they list. */
    takeIn,
    /** Starts every server, waits a while, and takes in what they list now. */
    async connectAll(): Promise<void> {
      if (!(await upstreams.connectAll(CONNECT_MS))) return
      await takeIn()
      await health.probeNew()
    },
    /** Connects a server for a call of what may be its tool. Does not throw. */
    async connectUnseen(unit: string, withinMs: number): Promise<void> {
      const name = upstreamOfUnit(unit)
      const isKnown = name !== undefined && (await upstreams.meetNow(name, withinMs))
      // The call that waits for the tool reports what is in the way.
      if (isKnown) await catalogue.reload().catch(() => {})
    },
    /** For one command: reads stored listings that could not be read before. Throws why they still cannot be. */
    async readListings(): Promise<void> {
      if (!(await upstreams.readAgain())) return
      await takeIn()
      await health.probeNew()
    },
    /**
     * For the first lists of an agent: waits while one of its servers that was never listed makes its first attempt to
     * start, or one of its capabilities is still being loaded. `undefined` where there is nothing to wait for.
     */
    beforeList(session: AgentSession): Promise<void> | undefined {
      const now = clock.now()
      const until = listsUntil.get(session) ?? now + settings.firstListWaitMs
      listsUntil.set(session, until)
      return now < until && isAnyComing(session) ? untilCome(session, until - now) : undefined
    },
  }
}

/** Whether a difference between two generations is about tools. */
export function hasTools(addresses: readonly string[]): boolean {
  return addresses.some(address => address.startsWith('tool:'))
}

/** Mounts the MCP servers that capabilities name, and reloads the catalogue when these list something. */
export function createNamedServers({
  upstreams,
  digest,
  log,
  reload,
}: {
  readonly upstreams: Upstreams
  readonly digest: Digest
  readonly log: Log
  reload(): Promise<unknown>
}): { readonly mount: Mount; hasAny(): boolean; stop(): void } {
  const mount = createMount({ upstreams, digest })
  let unfollow: Cancel | undefined
  return {
    mount(request) {
      const mounted = mount(request)
      if ('capability' in mounted)
        unfollow ??= upstreams.source.onChange?.(() => {
          reload().catch(error => log.error('reload failed', { error: messageOf(error) }))
        })
      return mounted
    },
    hasAny: () => unfollow !== undefined,
    stop: () => unfollow?.(),
  }
}
