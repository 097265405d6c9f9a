import type { DependencyOptions, Settings } from '../../contracts/index.ts'
import type { Dependency } from '../catalogue/index.ts'
import type { Cancel, Clock, Random } from '../kernel/index.ts'
import type { ProbeRounds } from './probe.ts'
import { type DependencyRecord, isAvailable, type Records } from './records.ts'
import { afterRecoveringTime } from './state.ts'

/** First probe after a dependency goes down, doubled up to a second. Most restarts of a local service take a few of these. */
const RECOVERING_PROBE_MS = 100
const RECOVERING_PROBE_MAX_MS = 1_000
/** First probe of a dependency that is down, doubled up to the watch interval. */
const DOWN_PROBE_MS = 1_000

/** Probes automatically: recovering and changed dependencies always, all others while the watch is on. */
interface Watcher {
  start(): void
  stop(): void
  adopt(dependencies: Iterable<Dependency>): void
}

interface WatcherDeps {
  readonly records: Records
  readonly rounds: ProbeRounds
  readonly clock: Clock
  readonly random: Random
  readonly settings: Settings
  options(name: string): DependencyOptions
  /** Whether calls wait for it. */
  isAwaited(name: string): boolean
}

export function createWatcher(deps: WatcherDeps): Watcher {
  const { records, rounds, clock, random, settings, options, isAwaited } = deps
  const timers = new Map<string, Cancel>()
  const changes = createChangeWatch(clock, probeAgain)
  let watched = new Map<string, Dependency>()
  let isWatching = false
  let isStopped = false

  /** Schedules the dependency of the present generation, whichever generation's probe has ended. */
  function schedule({ name }: Dependency): void {
    timers.get(name)?.()
    timers.delete(name)
    const dependency = watched.get(name)
    if (isStopped || !dependency) return
    const wait = nextProbeDelay(dependency, records.record(dependency))
    if (wait !== undefined)
      timers.set(
        name,
        clock.after(wait, () => void probe(dependency)),
      )
  }

  function nextProbeDelay(dependency: Dependency, record: DependencyRecord): number | undefined {
    if (record.state === 'optedOut') return undefined
    const tries = record.failures + record.unknowns + record.successes
    const soon = Math.min(RECOVERING_PROBE_MAX_MS, RECOVERING_PROBE_MS * 2 ** tries)
    if (record.state === 'recovering') {
      const left = record.since + records.policy(dependency).recoveringMs - clock.now()
      return Math.max(0, Math.min(soon, left))
    }
    // A dependency that must prove itself is probed regularly, but not so often that it is proved in a moment.
    if (record.state === 'down' && record.successes > 0) return RECOVERING_PROBE_MAX_MS
    if (!isWatching) return undefined
    const interval = intervalOf(dependency)
    const base = record.state === 'up' ? interval : Math.min(interval, DOWN_PROBE_MS * 2 ** Math.max(0, tries - 1))
    return base * (0.8 + 0.4 * random())
  }

  function intervalOf(dependency: Dependency): number {
    const configured = options(dependency.name).watchIntervalSeconds
    if (configured !== undefined) return configured * 1000
    return dependency.watchIntervalMs ?? settings.watchIntervalSeconds * 1000
  }

  async function probe(dependency: Dependency): Promise<void> {
    const hasParents = dependency.dependsOn.every(parent => isAvailable(records.effective(parent).state))
    if (hasParents) await rounds.probe(dependency, { isAwaited: isAwaited(dependency.name) })
    records.update(dependency, record => afterRecoveringTime(record, clock.now(), records.policy(dependency)))
    schedule(dependency)
  }

  /** A running probe may have begun before the change, so another one follows it. */
  async function probeAgain(dependency: Dependency): Promise<void> {
    if (rounds.isUnderWay(dependency)) await rounds.probe(dependency)
    if (!isStopped && watched.get(dependency.name) === dependency) await probe(dependency)
  }

  records.onChange((dependency, from) => {
    schedule(dependency)
    const { state } = records.record(dependency)
    if (state === from || !isAvailable(records.effective(dependency.name).state)) return
    // A parent is back: its children could not be probed meanwhile.
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
      changes.follow([])
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
      changes.follow([...watched.values()].filter(dependency => records.record(dependency).state !== 'optedOut'))
    },
  }
}

/** Pause before probing again after a change during a probe: a probe that itself causes changes must not spin. */
const CHANGE_PAUSE_MS = 20

/** Probes dependencies when they report a change, at most one probe at a time each. */
interface ChangeWatch {
  /** Listens to these dependencies only. */
  follow(dependencies: Iterable<Dependency>): void
}

interface Followed {
  stop: Cancel
  isProbing: boolean
  /** A change was reported during the probe. */
  hasChanged: boolean
}

/** `probe` never rejects. */
function createChangeWatch(clock: Clock, probe: (dependency: Dependency) => Promise<void>): ChangeWatch {
  const followed = new Map<Dependency, Followed>()

  async function handleChange(dependency: Dependency, one: Followed): Promise<void> {
    if (followed.get(dependency) !== one) return
    one.hasChanged = one.isProbing
    if (one.isProbing) return
    one.isProbing = true
    await probe(dependency)
    const again = () => {
      one.isProbing = false
      if (one.hasChanged) void handleChange(dependency, one)
    }
    if (one.hasChanged) clock.after(CHANGE_PAUSE_MS, again)
    else again()
  }

  function begin(dependency: Dependency): void {
    const one: Followed = { stop: () => {}, isProbing: false, hasChanged: false }
    followed.set(dependency, one)
    try {
      one.stop = dependency.onChange?.(() => void handleChange(dependency, one)) ?? one.stop
    } catch {
      // The author's code failed. Without change reports it is probed at intervals, as others are.
    }
  }

  function end(dependency: Dependency, { stop }: Followed): void {
    followed.delete(dependency)
    try {
      stop()
    } catch {
      // The author's code failed; later reports are ignored.
    }
  }

  return {
    follow(dependencies) {
      const wanted = new Set([...dependencies].filter(({ onChange }) => onChange !== undefined))
      for (const dependency of wanted) if (!followed.has(dependency)) begin(dependency)
      for (const [dependency, one] of followed) if (!wanted.has(dependency)) end(dependency, one)
    },
  }
}
