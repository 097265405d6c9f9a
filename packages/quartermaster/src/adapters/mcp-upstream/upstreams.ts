import {
  AppError,
  messageOf,
  type ReviewItem,
  type UpstreamConfig,
  type UpstreamLogLine,
  type UpstreamStatus,
} from '../../contracts/index.ts'
import type { Source } from '../../core/catalogue/index.ts'
import { type Clock, didYouMean, type Log } from '../../core/kernel/index.ts'
import type { Decision, PinBook, UpstreamMemory } from '../../core/upstreams/index.ts'
import { pause } from './acquaintance/pausing.ts'
import { createGuests, type GuestRequest } from './guests.ts'
import type { MountOptions } from './mounted.ts'
import type { UpstreamAuth } from './oauth/upstream-auth.ts'
import type { Upstream } from './upstream.ts'

/** Which of the things that wait for a person. */
export type ReviewChoice = Omit<Decision, 'by'>

/** The MCP servers of others, mounted. */
export interface Upstreams {
  /** What they bring. Loading it waits for none of them. */
  readonly source: Source
  /** Takes the configuration as it is now: what is new is started, what is gone stopped, what changed restarted. */
  configure(configs: ReadonlyMap<string, UpstreamConfig>): Promise<void>
  /** Notes that a capability names a server; it is mounted beside those that are configured. Answers whether there is room. */
  mount(request: GuestRequest): boolean
  statuses(): UpstreamStatus[]
  /** The newest lines, oldest first. Throws `NAME_UNKNOWN`. */
  logs(name: string, options: { limit: number }): UpstreamLogLine[]
  /** Ends its connections and starts anew, backoff or not. Throws `NAME_UNKNOWN`. */
  restart(name: string): Promise<void>
  /** What waits for a person. */
  review(name?: string): Promise<ReviewItem[]>
  /** A person has decided. Answers what was decided on. Throws `NAME_UNKNOWN` for what does not wait. */
  decide(choice: ReviewChoice): Promise<ReviewItem[]>
  /** As if it had never been seen or signed in to. For one that is not configured any more. */
  forget(name: string): Promise<void>
  /** Starts what is to run from the beginning, or only what nobody has seen yet. Waits for none of it. */
  start(which: 'all' | 'unseen'): void
  /** Resolves when nobody is being met for the first time any more, or the time is over. */
  met(withinMs: number): Promise<void>
  stop(): Promise<void>
}

/** What upstreams take, once there are any. */
export interface UpstreamParts {
  readonly pins: Pick<PinBook, 'list' | 'decide' | 'forget'>
  readonly memory: Pick<UpstreamMemory, 'forget'>
  readonly auth: Pick<UpstreamAuth, 'forgetAll'>
  create(options: MountOptions): Upstream
  /** Clears the way, before the first of them starts: what was left behind may hold what it needs. */
  prepare?(): Promise<void>
  close(): Promise<void>
}

export interface UpstreamsDeps {
  readonly clock: Clock
  readonly log: Log
  /** Made when the first one comes: most of it is of no use to whoever has no upstream. The same ones every time. */
  parts(): Promise<UpstreamParts>
}

/** How long an upstream that is gone or replaced may finish what it was called for. */
const DRAIN_MS = 30_000
const DRAIN_LOOK_MS = 50

export function createUpstreams(deps: UpstreamsDeps): Upstreams {
  const { log, clock } = deps
  const mounted = new Map<string, Upstream>()
  const guests = createGuests()
  let configured: ReadonlyMap<string, UpstreamConfig> = new Map()
  let isStopped = false
  /** What is being ended. */
  const leaving = new Set<Promise<void>>()
  const listeners = new Set<() => void>()
  /** Who wants to know where they stand. */
  const watchers = new Set<() => void>()
  let started: 'all' | 'unseen' | undefined
  let making: Promise<UpstreamParts> | undefined
  let version = 0
  let loaded = 0
  let configuring: Promise<void> = Promise.resolve()

  function changed(): void {
    version++
    for (const listener of [...listeners]) listener()
  }

  function parts(): Promise<UpstreamParts> {
    making ??= deps.parts().then(async made => {
      await made.prepare?.().catch(error => log.warn('the way could not be cleared', { error: messageOf(error) }))
      return made
    })
    // The next one who needs them tries again.
    making.catch(() => {
      making = undefined
    })
    return making
  }

  async function mount(name: string, config: UpstreamConfig, mountedAt: number): Promise<void> {
    const { create } = await parts()
    const onState = () => {
      for (const tell of [...watchers]) tell()
    }
    const upstream = create({ name, config, mountedAt, onChange: changed, onState })
    await upstream.remember().catch(error => {
      log.warn('what is known of an upstream could not be read', { upstream: name, error: messageOf(error) })
    })
    mounted.set(name, upstream)
    begin(upstream)
  }

  function begin(upstream: Upstream): void {
    if (started === 'all' || (started === 'unseen' && upstream.isUnseen())) upstream.start()
  }

  /** Calls that are under way end on what they began with; nobody waits for that, only for what is being written down. */
  async function unmount(upstream: Upstream): Promise<void> {
    mounted.delete(upstream.name)
    const retired = upstream.retire()
    const left = leave(upstream).finally(() => leaving.delete(left))
    leaving.add(left)
    await retired
  }

  async function leave(upstream: Upstream): Promise<void> {
    const until = clock.now() + DRAIN_MS
    const isWorking = () => upstream.busy() > 0 && clock.now() < until && !isStopped
    while (isWorking()) await pause(DRAIN_LOOK_MS, { clock })
    await upstream.stop()
  }

  function configure(): Promise<void> {
    const configs = new Map([...guests.configs(), ...configured])
    configuring = configuring.catch(() => {}).then(() => (isStopped ? undefined : adopt(configs)))
    return configuring
  }

  async function adopt(configs: ReadonlyMap<string, UpstreamConfig>): Promise<void> {
    const gone = [...mounted.values()].filter(one => {
      const next = configs.get(one.name)
      return next === undefined || !one.reconfigure(next)
    })
    await Promise.all(gone.map(unmount))
    const fresh = [...configs].filter(([name]) => !mounted.has(name))
    const now = Math.round(clock.now())
    await Promise.all(fresh.map(([name, config]) => mount(name, config, now)))
    if (configs.size > 0 || gone.length > 0) changed()
  }

  function find(name: string): Upstream {
    const upstream = mounted.get(name)
    if (upstream) return upstream
    const hint = didYouMean(name, mounted.keys())
    throw new AppError('NAME_UNKNOWN', `There is no upstream "${name}".${hint}`)
  }

  return {
    source: {
      id: 'upstreams',
      kind: 'upstream',
      async load() {
        if (guests.age()) void configure()
        await configuring
        loaded = version
        return sorted(mounted).map(upstream => upstream.unit())
      },
      onChange(listener) {
        // What has changed since nobody was there to be told.
        if (loaded !== version) void Promise.resolve().then(listener)
        return enter(listeners, listener)
      },
    },
    configure(configs) {
      configured = configs
      return configure()
    },
    mount(request) {
      const asked = guests.ask(request)
      if (asked === 'changed')
        configure().catch(error => {
          log.warn('a server that a capability names could not be mounted', { error: messageOf(error) })
        })
      return asked !== 'full'
    },
    statuses: () => [...mounted.values()].map(upstream => upstream.status()).toSorted(byName),
    logs: (name, { limit }) => find(name).logs(limit),
    restart: name => find(name).restart(),
    async review(name) {
      if (name !== undefined) find(name)
      const { pins } = await parts()
      return pins.list(name)
    },
    async decide(choice) {
      const upstream = find(choice.upstream)
      const { pins } = await parts()
      return upstream.review(() => pins.decide({ ...choice, by: 'owner' }))
    },
    async forget(name) {
      const { pins, memory, auth } = await parts()
      await Promise.all([pins.forget(name), memory.forget(name), auth.forgetAll(name)])
    },
    start(which) {
      started = which
      for (const upstream of mounted.values()) begin(upstream)
    },
    async met(withinMs) {
      await configuring.catch(() => {})
      const isMeeting = () => [...mounted.values()].some(one => one.isUnseen() && one.isStarting())
      await until(() => !isMeeting(), { clock, withinMs, onChange: listener => enter(watchers, listener) })
    },
    async stop() {
      isStopped = true
      await configuring.catch(() => {})
      await Promise.all([...[...mounted.values()].map(upstream => upstream.stop()), ...leaving])
      await making?.then(made => made.close()).catch(() => {})
    },
  }
}

function enter(listeners: Set<() => void>, listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

interface Waiting {
  readonly clock: Clock
  readonly withinMs: number
  onChange(listener: () => void): () => void
}

function until(isSo: () => boolean, { clock, withinMs, onChange }: Waiting): Promise<void> {
  if (isSo()) return Promise.resolve()
  return new Promise(resolve => {
    const end = () => {
      cancel()
      stop()
      resolve()
    }
    const cancel = clock.after(withinMs, end)
    const stop = onChange(() => isSo() && end())
  })
}

/** The longest known first: whoever comes later does not take a name from one that is in use. */
function sorted(mounted: ReadonlyMap<string, Upstream>): Upstream[] {
  return [...mounted.values()].toSorted((a, b) => a.knownSince() - b.knownSince() || byName(a, b))
}

const byName = (a: { readonly name: string }, b: { readonly name: string }) =>
  a.name < b.name ? -1 : Number(a.name > b.name)
