import {
  messageOf,
  type ReviewItem,
  type UpstreamConfig,
  type UpstreamLogLine,
  type UpstreamStatus,
} from '../../contracts/index.ts'
import type { Source } from '../../core/catalogue/index.ts'
import { type Clock, createListeners, type Log } from '../../core/kernel/index.ts'
import { type Decision, type ListOptions, type LoginOwner, wantsDefinition } from '../../core/upstreams/index.ts'
import { type CapabilityServerRequest, createCapabilityServers } from './capability-servers.ts'
import type { FirstConnects } from './first-connect.ts'
import { createLazyParts, createMounts, type MountChanges, type StartChoice, type UpstreamParts } from './mounts.ts'
import type { Upstream } from './upstream.ts'

export type ReviewChoice = Omit<Decision, 'by'>

/** What the store has of an upstream that no longer exists: the number of pins and of logins. */
export interface LeftBehind {
  readonly name: string
  readonly pins: number
  readonly logins: number
}

export interface Upstreams extends FirstConnects {
  /** Their definitions. Loading waits for no server. */
  readonly source: Source
  /** Starts new servers, stops removed ones, replaces changed ones. Answers which. */
  configure(configs: ReadonlyMap<string, UpstreamConfig>): Promise<MountChanges>
  /** Mounts a server that a capability names. Answers whether there is room. */
  mount(request: CapabilityServerRequest): boolean
  /** Ends leftovers of an earlier run, also without any upstream. */
  clearTheWay(): Promise<void>
  statuses(): UpstreamStatus[]
  /** The newest lines, oldest first. Throws `NAME_UNKNOWN`. */
  logs(name: string, options: { limit: number }): UpstreamLogLine[]
  /** Restarts its connections, whatever their backoff. Throws `NAME_UNKNOWN`. */
  restart(name: string): Promise<void>
  /** A person or an agent signed in or out. Open calls finish with the old login. Throws `NAME_UNKNOWN`. */
  loginChanged(owner: LoginOwner): Promise<void>
  /**
   * The agent was removed, or lost this upstream, or the capability that names some: its own connections end once
   * their calls have, and unsent requests are not sent.
   */
  dismiss(agent: string, lost?: string): void
  /** Definitions that wait for a person, were rejected, or are offered with a warning. */
  review(name?: string, options?: ListOptions): Promise<ReviewItem[]>
  /** A person has decided. Answers the decided items. Throws `NAME_UNKNOWN` for one that does not wait. */
  decide(choice: ReviewChoice): Promise<ReviewItem[]>
  /** Applies decisions that another process stored. */
  recall(): Promise<void>
  /** There are new tools: descriptions that mention tools of others are scanned again. */
  lookAgain(): Promise<void>
  /** Stored data of upstreams that are neither configured nor named by a capability now, by name. */
  leftBehind(): Promise<LeftBehind[]>
  /** Deletes stored data and logins of an upstream that is no longer configured. */
  forget(name: string): Promise<void>
  start(which: StartChoice): void
  /**
   * Starts a server that was never connected, or not with this configuration, even if it has to be downloaded. Does
   * not wait.
   */
  meet(name: string, how: { isChanged: boolean }): void
  /**
   * For single commands: reads what could not be read at mounting, and answers whether there was any. Throws why it
   * still cannot be read.
   */
  readAgain(): Promise<boolean>
  stop(): Promise<void>
}

interface UpstreamsDeps {
  readonly clock: Clock
  readonly log: Log
  /** Made for the first upstream; always the same ones. */
  parts(): Promise<UpstreamParts>
}

export function createUpstreams(deps: UpstreamsDeps): Upstreams {
  const { log } = deps
  const capabilityServers = createCapabilityServers()
  const parts = createLazyParts(deps)
  const { source, changed } = createUpstreamSource({ ready, upstreams: () => mounts.all(), log })
  const mounts = createMounts({ ...deps, parts: parts.get, onChange: changed })
  let configured: ReadonlyMap<string, UpstreamConfig> = new Map()

  async function ready(): Promise<void> {
    if (capabilityServers.age()) adoptCapabilityServers()
    await mounts.adopted()
  }

  const configs = () => new Map([...capabilityServers.configs(), ...configured])

  /** With the name that agents use, where it is known. */
  function withName(item: ReviewItem): ReviewItem {
    const name = mounts
      .all()
      .find(one => one.name === item.upstream)
      ?.nameOf(item.kind, item.name)
    return name === undefined ? item : { ...item, calledAs: name }
  }

  function adopt(): Promise<MountChanges> {
    const beside = configured
    return mounts.adopt(async () => new Map([...(await capabilityServers.settled(namesBefore)), ...beside]))
  }

  async function namesBefore(server: string): Promise<readonly string[] | undefined> {
    const { pins } = await parts.get()
    return pins.namesOf(server).catch(() => undefined)
  }

  function adoptCapabilityServers(): void {
    adopt().catch(error => {
      log.warn('servers that capabilities name could not be mounted', { error: messageOf(error) })
    })
  }

  return {
    source,
    configure(configs) {
      configured = configs
      return adopt()
    },
    mount(request) {
      const asked = capabilityServers.register(request)
      if (asked === 'changed') adoptCapabilityServers()
      return asked !== 'full'
    },
    async clearTheWay() {
      await parts.get().catch(error => log.warn('the way could not be cleared', { error: messageOf(error) }))
    },
    statuses: mounts.statuses,
    logs: (name, { limit }) => mounts.find(name).logs(limit),
    restart: mounts.restart,
    loginChanged: ({ upstream, agent }) => mounts.find(upstream).loginChanged(agent),
    dismiss(agent, lost) {
      mounts.dismiss(agent, lost)
      if (lost !== undefined) for (const name of capabilityServers.namedBy(lost)) mounts.dismiss(agent, name)
      if (capabilityServers.leave(agent, lost)) adoptCapabilityServers()
    },
    async review(name, options) {
      if (name !== undefined) mounts.find(name)
      const { pins } = await parts.get()
      const known = configs()
      const items = (await pins.list(name, options)).filter(item => isWanted(item, known.get(item.upstream)))
      const isShown = (item: ReviewItem) => item.state !== 'warned' || isTold(known.get(item.upstream))
      const shown = options?.offered
        ? items.map(item => (isShown(item) ? item : { ...item, state: 'offered' as const }))
        : items.filter(isShown)
      return shown.map(withName)
    },
    async decide(choice) {
      const upstream = mounts.find(choice.upstream)
      const { pins } = await parts.get()
      return (await upstream.review(() => pins.decide({ ...choice, by: 'owner' }))).map(withName)
    },
    async recall() {
      await Promise.all(mounts.all().map(upstream => upstream.review(async () => {})))
    },
    async lookAgain() {
      await Promise.all(mounts.all().map(upstream => upstream.lookAgain()))
    },
    async leftBehind() {
      const { pins, memory, auth } = await parts.get()
      const [pinned, seen, signedIn] = await Promise.all([pins.counts(), memory.names(), auth.amounts()])
      const known = configs()
      const names = new Set([...pinned.keys(), ...seen, ...signedIn.keys()])
      return [...names]
        .filter(name => !known.has(name))
        .toSorted()
        .map(name => ({ name, pins: pinned.get(name) ?? 0, logins: signedIn.get(name) ?? 0 }))
    },
    async forget(name) {
      const { pins, memory, auth } = await parts.get()
      await Promise.all([pins.forget(name), memory.forget(name), auth.forgetAll(name)])
    },
    start: mounts.start,
    met: mounts.met,
    isComing: mounts.isComing,
    onState: mounts.onState,
    meet: mounts.meet,
    meetNow: mounts.meetNow,
    connectAll: mounts.connectAll,
    readAgain: mounts.readAgain,
    async stop() {
      await mounts.stop()
      await parts.close()
    },
  }
}

/**
 * A left-out definition does not wait: accepted, it would not be offered either. Neither do definitions of a server
 * that is neither configured nor named by a capability: no one could decide. Both do when they return.
 */
function isWanted(item: ReviewItem, config: UpstreamConfig | undefined): boolean {
  return config !== undefined && wantsDefinition(config, item)
}

/** An owner who allows findings gets no warnings. */
function isTold(config: UpstreamConfig | undefined): boolean {
  return config !== undefined && config.findings !== 'allow'
}

interface UpstreamSource {
  readonly source: Source
  changed(): void
}

interface UpstreamSourceDeps {
  ready(): Promise<void>
  upstreams(): readonly Upstream[]
  readonly log: Log
}

function createUpstreamSource({ ready, upstreams, log }: UpstreamSourceDeps): UpstreamSource {
  const listeners = createListeners({ onError: error => log.warn('a listener failed', { error: messageOf(error) }) })
  let version = 0
  let loaded = 0
  return {
    source: {
      id: 'upstreams',
      kind: 'upstream',
      async load() {
        await ready()
        loaded = version
        return upstreams()
          .toSorted(longestKnown)
          .map(upstream => upstream.unit())
      },
      onChange(listener) {
        // Changed while there was no listener.
        if (loaded !== version) void Promise.resolve().then(listener)
        return listeners.add(listener)
      },
    },
    changed() {
      version++
      listeners.notify()
    },
  }
}

/** Upstreams of equal age keep their order. Names are assigned separately. */
const longestKnown = (a: Upstream, b: Upstream) => a.knownSince() - b.knownSince()
