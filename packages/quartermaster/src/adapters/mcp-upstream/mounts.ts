import { AppError, messageOf, type UpstreamConfig, type UpstreamStatus } from '../../contracts/index.ts'
import { type Clock, didYouMean, type Log } from '../../core/kernel/index.ts'
import { createDepartures } from './departures.ts'
import type { UpstreamParts } from './late-parts.ts'
import { createListeners } from './listeners.ts'
import { createStartQueue, MOST_REMOTE_STARTS, MOST_STARTS } from './start-queue.ts'
import { STARTED_ANEW } from './supervision/connections.ts'
import { DOWNLOAD_MS } from './target/first-start.ts'
import type { Upstream } from './upstream.ts'

/**
 * Which of them are started: all that are to run from the beginning, the first of these alone until we are ready ourselves, only
 * what nobody has seen yet, or of these only what need not be downloaded first.
 */
export type StartChoice = 'all' | 'first' | 'unseen' | 'unseenHere'

/** The one of this name, or those that may have this tool. */
export type MeetChoice = { readonly name: string } | { readonly tool: string }

/**
 * Whoever waits for servers to be met ends them by leaving. One that is being downloaded gets this much longer, and no more:
 * it may as well hang.
 */
const MORE_FOR_DOWNLOAD_MS = 50_000

const STOPPING = 'Quartermaster is stopping.'

/** The upstreams that are mounted now. */
export interface Mounts {
  /** By name. */
  all(): Upstream[]
  /** By name. */
  statuses(): UpstreamStatus[]
  /** Throws `NAME_UNKNOWN`. */
  find(name: string): Upstream
  /** Ends its connections and starts anew; whatever it has replaced ends, too. Throws `NAME_UNKNOWN`. */
  restart(name: string): Promise<void>
  /** Starts what is new, stops what is gone, replaces what changed. One configuration after the other. */
  adopt(configs: ReadonlyMap<string, UpstreamConfig>): Promise<void>
  /** Settles as the last configuration did that was to be adopted. */
  adopted(): Promise<void>
  start(which: StartChoice): void
  /** Resolves when nobody is being met for the first time any more, or the time is over. What is being downloaded gets more. */
  met(withinMs: number): Promise<void>
  /** Starts one that nobody has seen yet, or not as it is now, whatever it takes; waits for nothing. */
  meet(name: string, how: { isChanged: boolean }): void
  /**
   * Somebody calls what may be a tool of one that nobody has seen: it does not wait for its turn any longer. Resolves when its
   * start has ended, or the time is over. Answers whether what it has is known now. Only where servers are kept.
   */
  meetNow(name: string, withinMs: number): Promise<boolean>
  /**
   * Starts these, where nobody has seen them, they were not tried yet and need not be downloaded first, and no others. Resolves
   * when each is there or given up, or the time is over. Answers whether there were any.
   */
  meetOnly(choice: MeetChoice, withinMs: number): Promise<boolean>
  /**
   * Starts those that nobody has seen because they may have to be downloaded first, of a tool's name those that may have it, and
   * resolves when each is there or given up. Answers whether any is there now.
   */
  download(tool?: string): Promise<boolean>
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
  /** Who wants to know where they stand. */
  const watchers = createListeners()
  const starts = createStartQueue({ clock, most: MOST_STARTS, mostRemote: MOST_REMOTE_STARTS, onState: watchers.add })
  /** Of these nobody can tell whether they were seen before, and why. */
  const unread = new Map<Upstream, string>()
  let told: string | undefined
  let started: StartChoice | undefined
  let adopted: Promise<void> = Promise.resolve()
  let isStopped = false

  async function mount(name: string, config: UpstreamConfig, mountedAt: number): Promise<void> {
    const { create } = await deps.parts()
    const upstream = create({ name, config, mountedAt, onChange, onState: watchers.tell })
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
    if (started === 'all' || started === 'first') starts.add(upstream)
    else if (isNew) upstream.start()
  }

  function isUnseen(upstream: Upstream): boolean {
    return upstream.isUnseen() && !unread.has(upstream)
  }

  async function download(tool?: string): Promise<boolean> {
    await adopted.catch(() => {})
    const isWanted = (one: Upstream) =>
      isUnseen(one) && one.mayNeedDownload() && (tool === undefined || one.mayOffer(tool))
    const wanted = [...mounted.values()].filter(isWanted)
    for (const one of wanted) one.start()
    const isMeeting = () => wanted.some(one => one.isUnseen() && one.isStarting())
    // None takes longer: by then its start has failed.
    await until(() => !isMeeting(), { clock, withinMs: DOWNLOAD_MS, onChange: watchers.add })
    return wanted.some(one => !one.isUnseen())
  }

  async function meetOnly(choice: MeetChoice, withinMs: number): Promise<boolean> {
    await adopted.catch(() => {})
    const isAsked = (one: Upstream) => ('name' in choice ? one.name === choice.name : one.mayOffer(choice.tool))
    // One that was tried stands as that ended: nobody waits for it a second time.
    const isLeft = (one: Upstream) => isUnseen(one) && !one.mayNeedDownload() && one.status().state === 'idle'
    const wanted = [...mounted.values()].filter(one => isAsked(one) && isLeft(one))
    for (const one of wanted) one.start()
    const isMeeting = () => wanted.some(one => one.isUnseen() && one.isStarting())
    await until(() => !isMeeting(), { clock, withinMs, onChange: watchers.add })
    return wanted.length > 0
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

  async function adopt(configs: ReadonlyMap<string, UpstreamConfig>): Promise<void> {
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
  }

  /** Calls that waited for it, or still come to it, and whoever is subscribed there go to the one in its place. */
  function letGo(upstream: Upstream): void {
    const next = mounted.get(upstream.name)
    if (next) upstream.handOver(next)
    departures.add(upstream)
  }

  /** What it has replaced may still have calls under way. */
  function statusOf(upstream: Upstream): UpstreamStatus {
    const status = asUnread(upstream.status(), unread.get(upstream))
    return { ...status, pids: [...status.pids, ...departures.pids(upstream.name)] }
  }

  const all = () => [...mounted.values()].toSorted(byName)
  const find = (name: string) => mounted.get(name) ?? unknown(name, mounted.keys())

  return {
    all,
    statuses: () => all().map(statusOf),
    find,
    async restart(name) {
      const upstream = find(name)
      departures.end(name, STARTED_ANEW)
      await upstream.restart()
    },
    adopt(configs) {
      adopted = adopted.catch(() => {}).then(() => (isStopped ? undefined : adopt(configs)))
      return adopted
    },
    adopted: () => adopted,
    start(which) {
      const isQueued = started === 'first'
      started = which
      if (which === 'all') starts.open()
      if (!isQueued) for (const upstream of mounted.values()) begin(upstream)
    },
    async met(withinMs) {
      await adopted.catch(() => {})
      const isMeeting = () => [...mounted.values()].some(one => one.isUnseen() && one.isStarting())
      await until(() => !isMeeting(), { clock, withinMs, onChange: watchers.add })
      const isDownloading = () =>
        [...mounted.values()].some(one => one.isUnseen() && one.isStarting() && one.mayBeDownloading())
      await until(() => !isDownloading(), { clock, withinMs: MORE_FOR_DOWNLOAD_MS, onChange: watchers.add })
    },
    meet(name, { isChanged }) {
      const upstream = mounted.get(name)
      if (upstream && !unread.has(upstream) && (isChanged || upstream.isUnseen())) upstream.start({ isWanted: true })
    },
    async meetNow(name, withinMs) {
      const upstream = mounted.get(name)
      const isKept = started === 'all' || started === 'first'
      if (!upstream || !isKept || unread.has(upstream)) return false
      if (upstream.isUnseen()) upstream.start({ isWanted: true })
      await until(() => !upstream.isUnseen() || !upstream.isStarting(), { clock, withinMs, onChange: watchers.add })
      return upstream.status().state === 'up'
    },
    meetOnly,
    download,
    async readAgain() {
      const areKept = started === 'all' || started === 'first'
      if (areKept || unread.size === 0) return false
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

function canStay(upstream: Upstream, config: UpstreamConfig | undefined): boolean {
  return config !== undefined && upstream.reconfigure(config)
}

const byName = (a: Upstream, b: Upstream) => (a.name < b.name ? -1 : Number(a.name > b.name))

function unknown(name: string, known: Iterable<string>): never {
  throw new AppError('NAME_UNKNOWN', `There is no upstream "${name}".${didYouMean(name, known)}`)
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
