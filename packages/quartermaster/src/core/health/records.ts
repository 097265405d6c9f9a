import { type DependencyOptions, type DependencyState, type Settings } from '../../contracts/index.ts'
import { type Dependency, type Generation, type ProbeVerdict, type Tool } from '../catalogue/index.ts'
import { type Clock, type Emitter } from '../kernel/index.ts'

/**
 * The state of every dependency, by name and definition hash so that it survives a reload. Derived facts, such as which tools are
 * active, are computed on reading and never disagree with it.
 */
export interface Records {
  /** Changes with every state or reason; caches may use it as key. */
  version(): number
  record(dependency: Dependency): DependencyRecord
  /** State of a dependency of the current generation, with its parents considered. */
  effective(name: string): Effective
  policy(dependency: Dependency): HealthPolicy
  update(dependency: Dependency, change: (record: DependencyRecord) => DependencyRecord): void
  /** Switches to a new generation and forgets removed dependencies. */
  adopt(generation: Generation): void
  childrenOf(name: string): readonly Dependency[]
  onChange(listener: (dependency: Dependency, from: DependencyState) => void): () => void
}

interface RecordsDeps {
  readonly clock: Clock
  readonly emitter: Emitter
  readonly settings: Settings
  options(name: string): DependencyOptions
}

export function createRecords({ clock, emitter, settings, options }: RecordsDeps): Records {
  const records = new Map<string, DependencyRecord>()
  /** Last announced states, because switching a dependency on or off in the configuration changes its state without a probe. */
  const announced = new Map<string, DependencyState>()
  const listeners = new Set<(dependency: Dependency, from: DependencyState) => void>()
  let dependencies: ReadonlyMap<string, Dependency> = new Map()
  let index = indexOf(undefined)
  let version = 0
  let cache = new Map<string, Effective>()

  function record(dependency: Dependency): DependencyRecord {
    const key = keyOf(dependency)
    const known = records.get(key)
    const isOff = options(dependency.name).enabled === false
    if (known && (known.state === 'optedOut') === isOff) return known
    const fresh = isOff ? optedOutRecord(clock.now()) : initialRecord(clock.now())
    records.set(key, fresh)
    return fresh
  }

  /** A call of an older generation may need a dependency that was removed. */
  function recordOf(dependency: Dependency | undefined): DependencyRecord {
    return dependency
      ? record(dependency)
      : { ...initialRecord(clock.now()), state: 'down', reason: 'It is no longer defined.' }
  }

  function effective(name: string): Effective {
    const known = cache.get(name)
    if (known) return known
    const dependency = dependencies.get(name)
    const computed = effectiveState(name, {
      record: recordOf(dependency),
      parents: dependency?.dependsOn ?? [],
      effective,
    })
    cache.set(name, computed)
    return computed
  }

  function bump(): void {
    version++
    cache = new Map()
  }

  function activeTools(tools: readonly Tool[]): Set<Tool> {
    return new Set(tools.filter(tool => tool.requires.every(name => isAvailable(effective(name).state))))
  }

  function announce(
    dependency: Dependency,
    before: DependencyRecord,
    activeBefore: ReadonlySet<Tool>,
    affected: readonly Tool[],
  ): void {
    const after = record(dependency)
    if (before.state === after.state) return
    const { name } = dependency
    announced.set(keyOf(dependency), after.state)
    emitter.emit('dependency.changed', { name, from: before.state, to: after.state, reason: after.reason })
    const activeNow = activeTools(affected)
    const disabled = affected.filter(tool => activeBefore.has(tool) && !activeNow.has(tool)).map(tool => tool.name)
    const restored = affected.filter(tool => !activeBefore.has(tool) && activeNow.has(tool)).map(tool => tool.name)
    if (disabled.length > 0) emitter.emit('tools.disabled', { tools: disabled, dependency: name, reason: after.reason })
    if (restored.length > 0) emitter.emit('tools.restored', { tools: restored, dependency: name })
  }

  /** Announces a dependency that the owner switched on or off. */
  function announceSwitch(dependency: Dependency): void {
    const key = keyOf(dependency)
    const before = announced.get(key)
    const { state, reason } = record(dependency)
    announced.set(key, state)
    if (before === undefined || before === state) return
    emitter.emit('dependency.changed', { name: dependency.name, from: before, to: state, reason })
  }

  return {
    version: () => version,
    record,
    effective,
    policy: dependency => policyOf(dependency, settings, options(dependency.name)),
    update(dependency, change) {
      const before = record(dependency)
      const after = change(before)
      if (after === before) return
      const isCurrent = dependencies.get(dependency.name)?.hash === dependency.hash
      const isVisible = isCurrent && (after.state !== before.state || after.reason !== before.reason)
      const affected = isVisible && after.state !== before.state ? index.toolsUnder(dependency.name) : []
      const activeBefore = activeTools(affected)
      records.set(keyOf(dependency), after)
      if (!isVisible) return
      bump()
      announce(dependency, before, activeBefore, affected)
      for (const listener of [...listeners]) listener(dependency, before.state)
    },
    adopt(generation) {
      dependencies = generation.dependencies
      index = indexOf(generation)
      const keys = new Set([...dependencies.values()].map(keyOf))
      for (const key of records.keys()) if (!keys.has(key)) records.delete(key)
      for (const key of announced.keys()) if (!keys.has(key)) announced.delete(key)
      bump()
      for (const dependency of dependencies.values()) announceSwitch(dependency)
    },
    childrenOf: name => index.childrenOf(name),
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

function keyOf({ name, hash }: Dependency): string {
  return `${name}@${hash}`
}

function policyOf(dependency: Dependency, settings: Settings, options: DependencyOptions): HealthPolicy {
  const recoveringSeconds = options.recoveringSeconds ?? settings.recoveringSeconds
  const isSet = options.recoveringSeconds !== undefined
  return {
    recoveringMs: isSet ? recoveringSeconds * 1000 : (dependency.recoveringMs ?? recoveringSeconds * 1000),
    unknownsUntilDown: settings.unknownsUntilDown,
    flapWindowMs: settings.flapWindowSeconds * 1000,
    successesAfterFlapping: settings.successesAfterFlapping,
  }
}

/** Children and tools by dependency, computed once per generation. */
function indexOf(generation: Generation | undefined) {
  const children = new Map<string, Dependency[]>()
  const tools = new Map<string, Tool[]>()
  for (const dependency of generation?.dependencies.values() ?? []) {
    for (const parent of dependency.dependsOn) append(children, parent, dependency)
  }
  for (const tool of generation?.tools.values() ?? []) for (const name of tool.requires) append(tools, name, tool)
  const descendants = (name: string, seen = new Set<string>()): Set<string> => {
    if (seen.has(name)) return seen
    seen.add(name)
    for (const child of children.get(name) ?? []) descendants(child.name, seen)
    return seen
  }
  return {
    childrenOf: (name: string): readonly Dependency[] => children.get(name) ?? [],
    toolsUnder: (name: string): readonly Tool[] => [
      ...new Set([...descendants(name)].flatMap(one => tools.get(one) ?? [])),
    ],
  }
}

function append<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}

/** History of one dependency. Immutable; every event makes the next record. */
export interface DependencyRecord {
  readonly state: DependencyState
  readonly reason: string
  readonly since: number
  readonly checkedAt: number | undefined
  readonly durationMs: number | undefined
  /** Consecutive failed, unknown and successful probes. */
  readonly failures: number
  readonly unknowns: number
  readonly successes: number
  /** When the first of the consecutive successes was. */
  readonly goodSince: number
  /** Times at which it recently stopped being up, to detect flapping. */
  readonly falls: readonly number[]
  /** Consecutive times it went down right after it had come up, however long ago. */
  readonly youngFalls: number
  /** The last probe threw or timed out, so the next recheck may come sooner. */
  readonly threw: boolean
}

/** Result of a probe: a verdict, or unknown. */
export type ProbeOutcome =
  | { readonly kind: 'verdict'; readonly verdict: ProbeVerdict; readonly at: number; readonly durationMs: number }
  | { readonly kind: 'unknown'; readonly reason: string; readonly at: number; readonly durationMs: number }

export interface HealthPolicy {
  readonly recoveringMs: number
  readonly unknownsUntilDown: number
  readonly flapWindowMs: number
  readonly successesAfterFlapping: number
}

function initialRecord(now: number): DependencyRecord {
  return {
    state: 'unknown',
    reason: 'It has not been looked at yet.',
    since: now,
    checkedAt: undefined,
    durationMs: undefined,
    failures: 0,
    unknowns: 0,
    successes: 0,
    goodSince: now,
    falls: [],
    youngFalls: 0,
    threw: false,
  }
}

function optedOutRecord(now: number): DependencyRecord {
  return { ...initialRecord(now), state: 'optedOut', reason: OPTED_OUT }
}

export const OPTED_OUT = 'It is switched off in the configuration (enabled: false).'

interface Effective {
  readonly state: DependencyState
  readonly reason: string
  readonly since: number
  /** The dependency at fault, itself or an ancestor, and its own reason. */
  readonly root: string
  readonly rootReason: string
}

/** `effective` must be cached by the caller: diamonds would take exponential time otherwise. */
interface Surroundings {
  readonly record: DependencyRecord
  readonly parents: readonly string[]
  effective(name: string): Effective
}

/** A child is never better than its parents, whatever its own probe said. */
function effectiveState(name: string, { record, parents, effective }: Surroundings): Effective {
  const own: Effective = {
    state: record.state,
    reason: record.reason,
    since: record.since,
    root: name,
    rootReason: record.reason,
  }
  if (record.state === 'optedOut') return own
  let worst = own
  for (const parent of parents) {
    const above = effective(parent)
    if (rank(above.state) < rank(worst.state) || (!isAvailable(above.state) && worst === own)) worst = above
  }
  if (worst === own) return own
  const state = worst.state === 'optedOut' ? 'down' : worst.state
  const { root, rootReason, since } = worst
  return { state, reason: `It needs "${root}": ${rootReason}`, since, root, rootReason }
}

/** Up and recovering both count as available: a client that has seen a tool vanish will not call it again. */
export function isAvailable(state: DependencyState): boolean {
  return state === 'up' || state === 'recovering'
}

function rank(state: DependencyState): number {
  return state === 'up' ? 2 : state === 'recovering' ? 1 : 0
}
