import { createMount, type MeetChoice, type Upstreams } from '../../adapters/mcp-upstream/index.ts'
import { messageOf, type ReloadReport, type Settings } from '../../contracts/index.ts'
import type { AgentSession, Mount } from '../../core/agents/index.ts'
import { type Cancel, type Clock, type Digest, type Log, remembered, upstreamIn } from '../../core/kernel/index.ts'
import type { Core } from '../bootstrap/build-core.ts'

export interface UpstreamListingsDeps {
  readonly upstreams: Pick<
    Upstreams,
    | 'start'
    | 'statuses'
    | 'met'
    | 'meetNow'
    | 'meetOnly'
    | 'meetAgain'
    | 'lookAgain'
    | 'readAgain'
    | 'isComing'
    | 'onState'
  >
  readonly core: {
    readonly catalogue: Pick<Core['catalogue'], 'reload' | 'current'>
    readonly health: Pick<Core['health'], 'probeNew'>
    readonly emitter: Pick<Core['emitter'], 'on'>
  }
  readonly clock: Pick<Clock, 'now' | 'after'>
  readonly settings: Pick<Settings, 'firstListWaitMs'>
}

/** Connects servers that were never listed, or not lately, and takes in their definitions. */
interface UpstreamListings {
  /** For one command: starts all of them, or only these, and waits a while for what they have. For all once. */
  meet(only?: MeetChoice): Promise<void>
  /** For one command: starts all that were seen before, or only this one, and takes in what they list now. Each once. */
  meetAgain(name?: string): Promise<void>
  /** For a call of what may be a tool of this unit. It does not throw. */
  connectUnseen(unit: string, withinMs: number): Promise<void>
  /** For one command: reads what is known of servers and could not be read before. Throws why it still cannot be. */
  readAgain(): Promise<void>
  /**
   * For the first lists of an agent: waits while a server it was given, and that was never seen, makes its first attempt to start, or
   * a capability it was given is still being loaded. `undefined` where there is nothing to wait for.
   */
  beforeList(session: Pick<AgentSession, 'agent'>): Promise<void> | undefined
  /** Waits a while for those that have been started. */
  settled(): Promise<void>
  /** Makes a generation of what they have. */
  takeIn(): Promise<ReloadReport>
}

/** How long to wait for servers that were never listed. */
const CONNECT_MS = 10_000
/** How long by a command that could do without them, after the last that came: beside others, one that hangs holds it up no longer. */
const GRACE_MS = 3_000

export function createUpstreamListings({ upstreams, core, clock, settings }: UpstreamListingsDeps): UpstreamListings {
  const { catalogue, health, emitter } = core
  /** Until when the first lists of each agent may wait. */
  const listsUntil = new WeakMap<object, number>()

  function isAnyComing(session: Pick<AgentSession, 'agent'>): boolean {
    const { capabilities, isPartial } = catalogue.current()
    return Object.keys(session.agent()?.capabilities ?? {}).some(key => {
      const found = capabilities.get(key)
      if (!found) return isPartial
      const name = found.unseen === undefined ? undefined : upstreamIn(found.unit)
      return name !== undefined && upstreams.isComing(name)
    })
  }

  async function takeIn(): Promise<ReloadReport> {
    const report = await catalogue.reload()
    if (!hasTools(report.added)) return report
    // Those that came together know of each other only now.
    await upstreams.lookAgain()
    return catalogue.reload()
  }

  async function takeInAll(): Promise<void> {
    await takeIn()
    await health.probeNew()
  }

  async function meetAll(): Promise<void> {
    // To leave ends what is being downloaded, and may spoil its cache.
    upstreams.start('unseenHere')
    if (!upstreams.statuses().some(({ state }) => state === 'starting')) return
    await upstreams.met(CONNECT_MS, { graceMs: GRACE_MS })
    await takeInAll()
  }

  async function meetOnly(choice: MeetChoice): Promise<void> {
    if (await upstreams.meetOnly(choice, CONNECT_MS)) await takeInAll()
  }

  function untilCome(session: Pick<AgentSession, 'agent'>, withinMs: number): Promise<void> {
    return new Promise(resolve => {
      const look = () => {
        if (isAnyComing(session)) return
        cancel()
        stopEvents()
        stopStates()
        resolve()
      }
      const stopEvents = emitter.on('generation.swapped', look)
      const stopStates = upstreams.onState(look)
      const cancel = clock.after(withinMs, () => {
        stopEvents()
        stopStates()
        resolve()
      })
    })
  }

  const settled = () => upstreams.met(CONNECT_MS)
  const allMet = remembered(meetAll)
  return {
    meet: only => (only ? meetOnly(only) : allMet()),
    async meetAgain(name) {
      if (await upstreams.meetAgain(name, CONNECT_MS)) await takeInAll()
    },
    async connectUnseen(unit, withinMs) {
      const name = upstreamIn(unit)
      const isKnown = name !== undefined && (await upstreams.meetNow(name, withinMs))
      // The call that waits for its tools reports what is in the way.
      if (isKnown) await catalogue.reload().catch(() => {})
    },
    async readAgain() {
      if (!(await upstreams.readAgain())) return
      await settled()
      await takeInAll()
    },
    beforeList(session) {
      const now = clock.now()
      const until = listsUntil.get(session) ?? now + settings.firstListWaitMs
      listsUntil.set(session, until)
      return now < until && isAnyComing(session) ? untilCome(session, until - now) : undefined
    },
    settled,
    takeIn,
  }
}

/** Whether a difference between two generations is about tools. */
export function hasTools(addresses: readonly string[]): boolean {
  return addresses.some(address => address.startsWith('tool:'))
}

interface NamedServersDeps {
  readonly upstreams: Pick<Upstreams, 'mount' | 'source'>
  readonly digest: Digest
  readonly log: Log
  /** Makes the next generation. */
  reload(): Promise<unknown>
}

/** The MCP servers that capabilities name. */
interface NamedServers {
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
