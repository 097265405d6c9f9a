import { AppError, messageOf, type UpstreamConfig, type UpstreamStatus } from '../../contracts/index.ts'
import { type Clock, createListeners, didYouMean, type Log } from '../../core/kernel/index.ts'
import type { PinBook, UpstreamMemory } from '../../core/upstreams/index.ts'
import { createRevokedAgents, RESTARTED } from './connection/connections.ts'
import { createFirstConnects, type FirstConnects } from './first-connect.ts'
import type { UpstreamAuth } from './oauth/upstream-auth.ts'
import { createStartQueue, MOST_REMOTE_STARTS, MOST_STARTS } from './start-queue.ts'
import type { MountOptions, Upstream } from './upstream.ts'
import { begunStep, unseenStep } from './upstream-entry.ts'

/** `first`: only the first one until we are ready ourselves. `unseen`: those never connected. */
export type StartChoice = 'all' | 'first' | 'unseen'

/** The names that a configuration added, replaced and removed. */
export interface MountChanges {
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly removed: readonly string[]
}

const STOPPING = 'Quartermaster is stopping.'

interface Mounts extends FirstConnects {
  all(): Upstream[]
  statuses(): UpstreamStatus[]
  find(name: string): Upstream
  /** Restarts the upstream's connections, and ends the upstreams that it replaced. Throws `NAME_UNKNOWN`. */
  restart(name: string): Promise<void>
  /**
   * An agent lost this upstream, or all of them, including those being replaced: nothing more is begun for it there.
   */
  dismiss(agent: string, upstream?: string): void
  /** Starts added, stops removed and replaces changed upstreams, one configuration after the other. */
  adopt(configs: () => Promise<ReadonlyMap<string, UpstreamConfig>>): Promise<MountChanges>
  adopted(): Promise<unknown>
  start(which: StartChoice): void
  /**
   * Starts a server that was never connected, or not with this configuration, even if it has to be downloaded. Does
   * not wait.
   */
  meet(name: string, how: { isChanged: boolean }): void
  /** Reads the stored facts that could not be read before, and starts those servers. Answers whether there were any. */
  readAgain(): Promise<boolean>
  stop(): Promise<void>
}

interface MountsDeps {
  readonly clock: Clock
  readonly log: Log
  parts(): Promise<Pick<UpstreamParts, 'create'>>
  onChange(): void
}

export function createMounts(deps: MountsDeps): Mounts {
  const { clock, log, onChange } = deps
  const mounted = new Map<string, Upstream>()
  const draining = createDrainingUpstreams()
  const revokedAgents = createRevokedAgents()
  const watchers = createListeners({ onError: error => log.warn('a listener failed', { error: messageOf(error) }) })
  const starts = createStartQueue({ clock, most: MOST_STARTS, mostRemote: MOST_REMOTE_STARTS, onState: watchers.add })
  const unread = new Map<Upstream, string>()
  let told: string | undefined
  let started: StartChoice | undefined
  let adopted: Promise<unknown> = Promise.resolve()
  let isStopped = false

  const areKept = () => started === 'all' || started === 'first'
  const firstConnects = createFirstConnects({
    clock,
    mounted,
    areKept,
    isUnread: upstream => unread.has(upstream),
    adopted: () => adopted,
    onState: watchers.add,
  })

  async function mount(name: string, config: UpstreamConfig, mountedAt: number): Promise<void> {
    const { create } = await deps.parts()
    const upstream = create({ name, config, mountedAt, revokedAgents, onChange, onState: watchers.notify })
    await upstream.remember().catch(error => {
      unread.set(upstream, messageOf(error))
      tellOnce(name, messageOf(error))
    })
    mounted.set(name, upstream)
    begin(upstream)
  }

  function tellOnce(upstream: string, error: string): void {
    if (error !== told) log.warn('what is known of an upstream could not be read', { upstream, error })
    told = error
  }

  /** Starts a server unless its facts are unread: a broken store is no reason to start it. */
  function begin(upstream: Upstream): void {
    const isNew = started !== undefined && isUnseen(upstream)
    if (areKept()) starts.add(upstream)
    else if (isNew) upstream.start()
  }

  function isUnseen(upstream: Upstream): boolean {
    return upstream.isUnseen() && !unread.has(upstream)
  }

  async function readAgain(upstream: Upstream): Promise<void> {
    await upstream.remember()
    unread.delete(upstream)
    begin(upstream)
  }

  /** Waits only for pending writes. The upstream serves its callers until it is replaced. */
  async function unmount(upstream: Upstream): Promise<void> {
    mounted.delete(upstream.name)
    unread.delete(upstream)
    await upstream.retire()
  }

  async function adopt(configs: ReadonlyMap<string, UpstreamConfig>): Promise<MountChanges> {
    const gone = [...mounted.values()].filter(one => !canStay(one, configs.get(one.name)))
    // Together: a dropped start makes room for the next, which may be removed as well.
    starts.drop(gone)
    await Promise.all(gone.map(unmount))
    const fresh = [...configs].filter(([name]) => !mounted.has(name))
    const now = Math.round(clock.now())
    try {
      await Promise.all(fresh.map(([name, config]) => mount(name, config, now)))
    } finally {
      for (const one of gone) replaceAndDrain(one)
    }
    if (configs.size > 0 || gone.length > 0) onChange()
    return changesOf(gone, fresh)
  }

  /** Waiting and later calls, and subscribers, go to the upstream that replaces it. */
  function replaceAndDrain(upstream: Upstream): void {
    const next = mounted.get(upstream.name)
    if (next) upstream.handOver(next)
    draining.add(upstream)
  }

  function statusOf(upstream: Upstream): UpstreamStatus {
    const status = withReadError(withBegunStep(upstream.status(), areKept()), unread.get(upstream))
    return { ...status, pids: [...status.pids, ...draining.pids(upstream.name)] }
  }

  const all = () => [...mounted.values()].toSorted(byName)
  const find = (name: string) => mounted.get(name) ?? unknown(name, mounted.keys())

  return {
    ...firstConnects,
    all,
    statuses: () => all().map(statusOf),
    find,
    async restart(name) {
      const upstream = find(name)
      draining.end(name, RESTARTED)
      await upstream.restart()
    },
    dismiss(agent, lost) {
      revokedAgents.add(agent, lost)
      for (const upstream of mounted.values()) if (lost === undefined || upstream.name === lost) upstream.dismiss(agent)
    },
    adopt(configs) {
      const next = adopted.catch(() => {}).then(async () => (isStopped ? changesOf([], []) : adopt(await configs())))
      adopted = next
      return next
    },
    adopted: () => adopted,
    start(which) {
      const isQueued = started === 'first'
      started = which
      if (which === 'all') starts.open()
      if (!isQueued) for (const upstream of mounted.values()) begin(upstream)
    },
    meet(name, { isChanged }) {
      const upstream = mounted.get(name)
      if (upstream && !unread.has(upstream) && (isChanged || upstream.isUnseen())) upstream.start({ isWanted: true })
    },
    async readAgain() {
      if (areKept() || unread.size === 0) return false
      await Promise.all([...unread.keys()].map(readAgain))
      onChange()
      return true
    },
    async stop() {
      isStopped = true
      starts.stop()
      draining.hurry(STOPPING)
      await adopted.catch(() => {})
      await Promise.all([...[...mounted.values()].map(upstream => upstream.stop(STOPPING)), draining.settled()])
    },
  }
}

/** It is unknown whether the server was ever connected. */
function withReadError(status: UpstreamStatus, why: string | undefined): UpstreamStatus {
  if (why === undefined || status.unseen === undefined) return status
  const reason = `What is known of it could not be read: ${why}`
  return { ...status, reason, unseen: 'Look again then: quartermaster upstreams' }
}

/** A single command ends the servers that it started, and keeps no log of them. */
function withBegunStep(status: UpstreamStatus, isKept: boolean): UpstreamStatus {
  const { name, state, unseen } = status
  if (isKept || unseen === undefined) return status
  return { ...status, unseen: state === 'starting' ? begunStep(name) : unseenStep({ ...status, hasSpoken: false }) }
}

function canStay(upstream: Upstream, config: UpstreamConfig | undefined): boolean {
  return config !== undefined && upstream.reconfigure(config)
}

function changesOf(
  gone: readonly Pick<Upstream, 'name'>[],
  fresh: readonly (readonly [string, UpstreamConfig])[],
): MountChanges {
  const left = new Set(gone.map(({ name }) => name))
  const come = new Set(fresh.map(([name]) => name))
  return {
    added: [...come].filter(name => !left.has(name)),
    changed: [...come].filter(name => left.has(name)),
    removed: [...left].filter(name => !come.has(name)),
  }
}

const byName = (a: Upstream, b: Upstream) => (a.name < b.name ? -1 : Number(a.name > b.name))

function unknown(name: string, known: Iterable<string>): never {
  throw new AppError('NAME_UNKNOWN', `There is no upstream "${name}".${didYouMean(name, known)}`)
}

export interface UpstreamParts {
  readonly pins: Pick<PinBook, 'list' | 'decide' | 'namesOf' | 'counts' | 'forget'>
  readonly memory: Pick<UpstreamMemory, 'names' | 'forget'>
  readonly auth: Pick<UpstreamAuth, 'amounts' | 'forgetAll'>
  create(options: MountOptions): Upstream
  /** Cleans up before the first start: leftovers of an earlier run may hold what a server needs. */
  prepare?(): Promise<void>
  close(): Promise<void>
}

/** The parts of upstreams, made when they are first needed. */
interface LazyParts {
  /** Always the same parts. If making them failed, the next request tries again. */
  get(): Promise<UpstreamParts>
  close(): Promise<void>
}

interface LazyPartsDeps {
  readonly log: Log
  parts(): Promise<UpstreamParts>
}

export function createLazyParts({ log, parts }: LazyPartsDeps): LazyParts {
  let making: Promise<UpstreamParts> | undefined

  /** Resets at once, before a waiting caller can ask again. */
  function begin(): Promise<UpstreamParts> {
    const begun = make()
    begun.catch(() => {
      making = undefined
    })
    return begun
  }

  async function make(): Promise<UpstreamParts> {
    const made = await parts()
    await made.prepare?.().catch(error => log.warn('the way could not be cleared', { error: messageOf(error) }))
    return made
  }

  return {
    get() {
      making ??= begin()
      return making
    },
    async close() {
      await making?.then(made => made.close()).catch(() => {})
    },
  }
}

interface DrainingUpstreams {
  /** Ends the upstream in the background once it has no open calls. */
  add(upstream: Upstream): void
  pids(name: string): number[]
  end(name: string, reason: string): void
  /** Stops all upstreams at once, later ones as well. */
  hurry(reason: string): void
  settled(): Promise<unknown>
}

const GONE = 'It was removed, or its entry was changed meanwhile.'

export function createDrainingUpstreams(): DrainingUpstreams {
  const leaving = new Map<Upstream, Promise<void>>()
  let hurried: string | undefined
  const named = (name: string) => [...leaving.keys()].filter(one => one.name === name)
  return {
    add(upstream) {
      leaving.set(
        upstream,
        (hurried === undefined ? upstream.leave(GONE) : upstream.stop(hurried)).finally(() => leaving.delete(upstream)),
      )
    },
    pids: name => named(name).flatMap(one => one.status().pids),
    end(name, reason) {
      for (const upstream of named(name)) void upstream.stop(reason)
    },
    hurry(reason) {
      hurried = reason
      for (const upstream of leaving.keys()) void upstream.stop(reason)
    },
    settled: () => Promise.all(leaving.values()),
  }
}
