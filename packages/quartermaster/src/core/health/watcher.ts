import type { DependencyOptions, Settings } from '../../contracts/index.ts'
import type { Dependency } from '../catalogue/index.ts'
import type { Cancel, Clock, Random } from '../kernel/index.ts'
import type { ProbeRounds } from './probe.ts'
import { type DependencyRecord, isThere, type Records } from './records.ts'
import { afterRecoveringTime, createNews } from './state.ts'

/** The first look after a fall; doubled up to a second. Most restarts of a local service take a few of these. */
const RECOVERING_LOOK_MS = 100
const RECOVERING_LOOK_MAX_MS = 1_000
/** The first look at something that is down; doubled up to the watch interval. */
const DOWN_LOOK_MS = 1_000

/** Checks automatically: recovering dependencies and those with news always, all others while the watch is on. */
interface Watcher {
  start(): void
  stop(): void
  /** Takes the dependencies of a new generation. */
  adopt(dependencies: Iterable<Dependency>): void
}

interface WatcherDeps {
  readonly records: Records
  readonly rounds: ProbeRounds
  readonly clock: Clock
  readonly random: Random
  readonly settings: Settings
  options(name: string): DependencyOptions
  /** Whether calls wait for it to come back. */
  isAwaited(name: string): boolean
}

export function createWatcher(deps: WatcherDeps): Watcher {
  const { records, rounds, clock, random, settings, options, isAwaited } = deps
  const timers = new Map<string, Cancel>()
  const news = createNews({ clock, look: lookAtNews })
  let watched = new Map<string, Dependency>()
  let isWatching = false
  let isStopped = false

  /** Whichever generation's look has just ended, it is the one of now that is looked at next. */
  function schedule({ name }: Dependency): void {
    timers.get(name)?.()
    timers.delete(name)
    const dependency = watched.get(name)
    if (isStopped || !dependency) return
    const wait = nextLook(dependency, records.record(dependency))
    if (wait !== undefined)
      timers.set(
        name,
        clock.after(wait, () => void look(dependency)),
      )
  }

  function nextLook(dependency: Dependency, record: DependencyRecord): number | undefined {
    if (record.state === 'optedOut') return undefined
    const tries = record.failures + record.unknowns + record.successes
    const soon = Math.min(RECOVERING_LOOK_MAX_MS, RECOVERING_LOOK_MS * 2 ** tries)
    if (record.state === 'recovering') {
      const left = record.since + records.policy(dependency).recoveringMs - clock.now()
      return Math.max(0, Math.min(soon, left))
    }
    // What has answered once but owes more good probes is followed up, though not so closely that it is proved in a moment.
    if (record.state === 'down' && record.successes > 0) return RECOVERING_LOOK_MAX_MS
    if (!isWatching) return undefined
    const interval = intervalOf(dependency)
    const base = record.state === 'up' ? interval : Math.min(interval, DOWN_LOOK_MS * 2 ** Math.max(0, tries - 1))
    return base * (0.8 + 0.4 * random())
  }

  function intervalOf(dependency: Dependency): number {
    const configured = options(dependency.name).watchIntervalSeconds
    if (configured !== undefined) return configured * 1000
    return dependency.watchIntervalMs ?? settings.watchIntervalSeconds * 1000
  }

  async function look(dependency: Dependency): Promise<void> {
    const hasParents = dependency.dependsOn.every(parent => isThere(records.effective(parent).state))
    if (hasParents) await rounds.probe(dependency, { isAwaited: isAwaited(dependency.name) })
    records.update(dependency, record => afterRecoveringTime(record, clock.now(), records.policy(dependency)))
    schedule(dependency)
  }

  /** A look that is under way may have begun before there was any news, so there is another after it. */
  async function lookAtNews(dependency: Dependency): Promise<void> {
    if (rounds.isUnderWay(dependency)) await rounds.probe(dependency)
    if (!isStopped && watched.get(dependency.name) === dependency) await look(dependency)
  }

  records.onChange((dependency, from) => {
    schedule(dependency)
    const { state } = records.record(dependency)
    if (state === from || !isThere(records.effective(dependency.name).state)) return
    // A parent is back: its children could not be looked at meanwhile.
    for (const child of records.childrenOf(dependency.name)) {
      if (!['up', 'optedOut'].includes(records.record(child).state) && !isStopped)
        void rounds.probe(child).then(() => schedule(child))
    }
  })

  return {
    start() {
      isWatching = true
      for (const dependency of watched.values()) schedule(dependency)
    },
    stop() {
      isStopped = true
      news.follow([])
      for (const cancel of timers.values()) cancel()
      timers.clear()
    },
    adopt(dependencies) {
      watched = new Map([...dependencies].map(dependency => [dependency.name, dependency]))
      for (const [name, cancel] of timers) {
        if (!watched.has(name)) cancel()
        if (!watched.has(name)) timers.delete(name)
      }
      for (const dependency of watched.values()) schedule(dependency)
      news.follow([...watched.values()].filter(dependency => records.record(dependency).state !== 'optedOut'))
    },
  }
}
