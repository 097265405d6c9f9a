import { AppError, messageOf, type UpstreamConfig, type UpstreamStatus } from '../../contracts/index.ts'
import { type Clock, didYouMean, type Log } from '../../core/kernel/index.ts'
import { createDepartures } from './departures.ts'
import { createDismissals } from './dismissals.ts'
import { createFirstMeetings, type FirstMeetings } from './first-meetings.ts'
import type { UpstreamParts } from './late-parts.ts'
import { createListeners } from './listeners.ts'
import { createStartQueue, MOST_REMOTE_STARTS, MOST_STARTS } from './start-queue.ts'
import { STARTED_ANEW } from './supervision/connections.ts'
import { begunStep } from './unseen-step.ts'
import type { Upstream } from './upstream.ts'

/**
 * Which of them are started: all that are to run from the beginning, the first of these alone until we are ready ourselves, only
 * what nobody has seen yet, or of these only what need not be downloaded first.
 */
export type StartChoice = 'all' | 'first' | 'unseen' | 'unseenHere'

/** By name, those that a configuration has brought, those that it has mounted anew, and those that it has taken away. */
export interface MountChanges {
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly removed: readonly string[]
}

const STOPPING = 'Quartermaster is stopping.'

/** The upstreams that are mounted now. */
export interface Mounts extends FirstMeetings {
  /** By name. */
  all(): Upstream[]
  /** By name. */
  statuses(): UpstreamStatus[]
  /** Throws `NAME_UNKNOWN`. */
  find(name: string): Upstream
  /** Ends its connections and starts anew; whatever it has replaced ends, too. Throws `NAME_UNKNOWN`. */
  restart(name: string): Promise<void>
  /** An agent has lost this one, or all of them, also those that are being replaced: nothing more is begun for it there. */
  dismiss(agent: string, upstream?: string): void
  /** Starts what is new, stops what is gone, replaces what changed. One configuration after the other. */
  adopt(configs: () => Promise<ReadonlyMap<string, UpstreamConfig>>): Promise<MountChanges>
  /** Settles as the last configuration did that was to be adopted. */
  adopted(): Promise<unknown>
  start(which: StartChoice): void
  /** Starts one that nobody has seen yet, or not as it is now, whatever it takes; waits for nothing. */
  meet(name: string, how: { isChanged: boolean }): void
  /** Reads what is known of those of which it could not be read, and starts them. Answers whether there were any. */
  readAgain(): Promise<boolean>
  /** For good: nothing is adopted any more. */
  stop(): Promise<void>
}

export interface MountsDeps {
  readonly clock: Clock
  readonly log: Log
  parts(): Promise<Pick<UpstreamParts, 'create'>>
  /** What they bring may be something else now. */
  onChange(): void
}

export function createMounts(deps: MountsDeps): Mounts {
  const { clock, log, onChange } = deps
  const mounted = new Map<string, Upstream>()
  const departures = createDepartures()
  const dismissals = createDismissals()
  /** Who wants to know where they stand. */
  const watchers = createListeners()
  const starts = createStartQueue({ clock, most: MOST_STARTS, mostRemote: MOST_REMOTE_STARTS, onState: watchers.add })
  /** Of these nobody can tell whether they were seen before, and why. */
  const unread = new Map<Upstream, string>()
  let told: string | undefined
  let started: StartChoice | undefined
  let adopted: Promise<unknown> = Promise.resolve()
  let isStopped = false

  const areKept = () => started === 'all' || started === 'first'
  const meetings = createFirstMeetings({
    clock,
    mounted,
    areKept,
    isUnread: upstream => unread.has(upstream),
    adopted: () => adopted,
    onState: watchers.add,
  })

  async function mount(name: string, config: UpstreamConfig, mountedAt: number): Promise<void> {
    const { create } = await deps.parts()
    const upstream = create({ name, config, mountedAt, dismissals, onChange, onState: watchers.tell })
    await upstream.remember().catch(error => {
      unread.set(upstream, messageOf(error))
      tellOnce(name, messageOf(error))
    })
    mounted.set(name, upstream)
    begin(upstream)
  }

  /** What is in the way of one is in the way of all. */
  function tellOnce(upstream: string, error: string): void {
    if (error !== told) log.warn('what is known of an upstream could not be read', { upstream, error })
    told = error
  }

  /** A server is not to blame for a store that cannot be read, and would be if it were started over it. */
  function begin(upstream: Upstream): void {
    const isLeft = started === 'unseenHere' && upstream.mayNeedDownload()
    const isNew = started !== undefined && isUnseen(upstream) && !isLeft
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

  /** Waits only for what is being written down. Until there is another one, it serves whoever calls it. */
  async function unmount(upstream: Upstream): Promise<void> {
    mounted.delete(upstream.name)
    unread.delete(upstream)
    await upstream.retire()
  }

  async function adopt(configs: ReadonlyMap<string, UpstreamConfig>): Promise<MountChanges> {
    const gone = [...mounted.values()].filter(one => !canStay(one, configs.get(one.name)))
    // Together: what is dropped makes way for the next, which may be gone as well.
    starts.drop(gone)
    await Promise.all(gone.map(unmount))
    const fresh = [...configs].filter(([name]) => !mounted.has(name))
    const now = Math.round(clock.now())
    try {
      await Promise.all(fresh.map(([name, config]) => mount(name, config, now)))
    } finally {
      for (const one of gone) letGo(one)
    }
    if (configs.size > 0 || gone.length > 0) onChange()
    return changesOf(gone, fresh)
  }

  /** Calls that waited for it, or still come to it, and whoever is subscribed there go to the one in its place. */
  function letGo(upstream: Upstream): void {
    const next = mounted.get(upstream.name)
    if (next) upstream.handOver(next)
    departures.add(upstream)
  }

  /** What it has replaced may still have calls under way. */
  function statusOf(upstream: Upstream): UpstreamStatus {
    const status = asBegun(asUnread(upstream.status(), unread.get(upstream)), areKept())
    return { ...status, pids: [...status.pids, ...departures.pids(upstream.name)] }
  }

  const all = () => [...mounted.values()].toSorted(byName)
  const find = (name: string) => mounted.get(name) ?? unknown(name, mounted.keys())

  return {
    ...meetings,
    all,
    statuses: () => all().map(statusOf),
    find,
    async restart(name) {
      const upstream = find(name)
      departures.end(name, STARTED_ANEW)
      await upstream.restart()
    },
    dismiss(agent, lost) {
      dismissals.add(agent, lost)
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
      departures.hurry(STOPPING)
      await adopted.catch(() => {})
      await Promise.all([...[...mounted.values()].map(upstream => upstream.stop(STOPPING)), departures.settled()])
    },
  }
}

/** Whether nobody has seen it is not known, and is no reason to start it. */
function asUnread(status: UpstreamStatus, why: string | undefined): UpstreamStatus {
  if (why === undefined || status.unseen === undefined) return status
  const reason = `What is known of it could not be read: ${why}`
  return { ...status, reason, unseen: 'Look again then: quartermaster upstreams' }
}

/** What a command has begun ends with it, and so would be begun anew by the next. */
function asBegun(status: UpstreamStatus, isKept: boolean): UpstreamStatus {
  const { name, state, unseen } = status
  return isKept || unseen === undefined || state !== 'starting' ? status : { ...status, unseen: begunStep(name) }
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
