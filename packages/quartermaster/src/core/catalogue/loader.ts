import { messageOf, type Problem } from '../../contracts/index.ts'
import { type Clock, createTurns, type Turns } from '../kernel/index.ts'
import type { CheckDeps } from './check-place.ts'
import { type CheckedUnit, checkUnit, dependenciesOf, type LoadedUnit } from './check-unit.ts'
import type { Dependency } from './generation.ts'
import type { Source, SourceUnit } from './source.ts'

/** A source that has not answered by then keeps what it had; a hanging disk must not end reloads for good. */
const LOAD_DEADLINE_MS = 60_000

/**
 * What is only read, and not run, comes to an end, and a client that is told of nothing meanwhile may not ask again. So it gets this
 * many times the patience that code gets. Without end it is not: of tools there may be any number.
 */
const READING_PATIENCE = 10

export interface Loaded {
  readonly units: readonly CheckedUnit[]
  /** What is broken now; the units above are the last good ones in its place. */
  readonly problems: readonly Problem[]
  /** Some source has not answered yet. */
  readonly isPartial: boolean
}

/** Loads sources and checks what changed. It remembers the last good version of every unit. */
export interface Loader {
  load(signal: AbortSignal): Promise<Loaded>
}

export interface LoaderOptions {
  readonly sources: readonly Source[]
  readonly clock: Clock
  readonly deps: CheckDeps
  /** How long the first load of code may hold up the others; afterwards it comes late. */
  readonly patienceMs: number
  /** A source that came late is there now. */
  onLate(): void
  /** Dependencies of changed units, told before their tools are checked: looking at them takes longer than checking. */
  onDependencies(dependencies: readonly Dependency[]): void
}

export function createLoader({ sources, clock, deps, patienceMs, onLate, onDependencies }: LoaderOptions): Loader {
  const lastGood = new Map<Source, readonly CheckedUnit[]>()

  async function loadWhole(source: Source, signal: AbortSignal): Promise<Loaded> {
    const before = lastGood.get(source) ?? []
    try {
      const units = await withDeadline(source, signal, clock)
      onDependencies(changedUnits(units, before).flatMap(unit => dependenciesOf(unit, source, deps)))
      const loaded = await checkAll(units, { source, before, clock, deps })
      lastGood.set(source, loaded.units)
      return loaded
    } catch (error) {
      return { units: before, problems: [brokenSource(source, error)], isPartial: false }
    }
  }

  function loadSource(source: Source, signal: AbortSignal): Promise<Loaded> {
    const loading = loadWhole(source, signal)
    if (lastGood.has(source)) return loading
    return new Promise(resolve => {
      let isLate = false
      const cancel = clock.after(source.kind === 'code' ? patienceMs : READING_PATIENCE * patienceMs, () => {
        isLate = true
        resolve({ units: [], problems: [stillLoading(source)], isPartial: true })
      })
      void loading.then(loaded => {
        cancel()
        resolve(loaded)
        if (isLate && !signal.aborted) onLate()
      })
    })
  }

  return {
    async load(signal) {
      const loads = await Promise.all(sources.map(source => loadSource(source, signal)))
      return {
        units: loads.flatMap(load => load.units),
        problems: loads.flatMap(load => load.problems),
        isPartial: loads.some(load => load.isPartial),
      }
    },
  }
}

function stillLoading(source: Source): Problem {
  const message = `Source "${source.id}" is still loading; what it brings comes as soon as it is there.`
  return { severity: 'warning', code: 'DEFINITION_INVALID', where: source.id, message }
}

function changedUnits(units: readonly SourceUnit[], before: readonly CheckedUnit[]): LoadedUnit[] {
  const known = new Map(before.map(unit => [unit.unit, unit.hash]))
  return units.filter((unit): unit is LoadedUnit => !('broken' in unit) && known.get(unit.id) !== unit.hash)
}

interface CheckAllOptions {
  readonly source: Source
  readonly before: readonly CheckedUnit[]
  readonly clock: Clock
  readonly deps: CheckDeps
}

async function checkAll(units: readonly SourceUnit[], options: CheckAllOptions): Promise<Loaded> {
  const known = new Map(options.before.map(unit => [unit.unit, unit]))
  const turns = createTurns(options.clock)
  const good: CheckedUnit[] = []
  const problems: Problem[] = []
  for (const unit of units) {
    const old = known.get(unit.id)
    const checked = await checkOne(unit, old, turns, options)
    // What a server no longer offers in its old form must not be offered in it: it would run the new one.
    const mayStay = options.source.kind !== 'upstream'
    const isWorse =
      'broken' in checked || (mayStay && old !== undefined && checked !== old && !hasErrors(old) && hasErrors(checked))
    const kept = isWorse ? old : checked
    if (kept) good.push(kept)
    if (isWorse)
      problems.push(
        ...('broken' in checked ? checked.broken : checked.problems).map(one => (old ? withLastGood(one) : one)),
      )
  }
  return { units: good, problems, isPartial: false }
}

type Broken = Extract<SourceUnit, { broken: readonly Problem[] }>

async function checkOne(
  unit: SourceUnit,
  old: CheckedUnit | undefined,
  turns: Turns,
  { source, deps }: CheckAllOptions,
): Promise<CheckedUnit | Broken> {
  if ('broken' in unit) return unit
  if (old?.hash === unit.hash) return old
  try {
    return await turns.take(checkUnit(unit, { source: source.id, kind: source.kind }, deps))
  } catch (error) {
    // Definitions are code: a getter that throws or a proxy that lies must spoil its own file and nothing else.
    const message = `Its definitions cannot be read: ${withoutStop(messageOf(error))}.`
    return { id: unit.id, broken: [{ severity: 'error', code: 'DEFINITION_INVALID', where: unit.id, message }] }
  }
}

function hasErrors(unit: CheckedUnit): boolean {
  return unit.problems.some(problem => problem.severity === 'error')
}

/** Says that what is broken now is not what is used. */
export function withLastGood(problem: Problem): Problem {
  const note = 'The last good version stays in use.'
  return { ...problem, mend: problem.mend === undefined ? note : `${problem.mend} ${note}` }
}

async function withDeadline(source: Source, signal: AbortSignal, clock: Clock): Promise<readonly SourceUnit[]> {
  const controller = new AbortController()
  const abort = () => controller.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  let cancel = () => {}
  const timeout = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true })
    cancel = clock.after(LOAD_DEADLINE_MS, () =>
      controller.abort(new Error(`did not answer within ${LOAD_DEADLINE_MS / 1000} s`)),
    )
  })
  try {
    return await Promise.race([source.load(controller.signal), timeout])
  } finally {
    cancel()
    signal.removeEventListener('abort', abort)
  }
}

function brokenSource(source: Source, error: unknown): Problem {
  const message = `Source "${source.id}" could not be loaded: ${withoutStop(messageOf(error))}. What it had before stays in use.`
  return { severity: 'error', code: 'DEFINITION_INVALID', where: source.id, message }
}

/** It ends within a longer sentence. */
function withoutStop(text: string): string {
  return text.replace(/\.$/, '')
}
