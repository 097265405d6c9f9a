import { messageOf, type Problem } from '../../contracts/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { CheckDeps } from './check-place.ts'
import { type CheckedUnit, checkUnit } from './check-unit.ts'
import type { Source, SourceUnit } from './source.ts'

/** A source that has not answered by then keeps what it had; a hanging disk must not end reloads for good. */
const LOAD_DEADLINE_MS = 60_000

/** How long checking may hold the event loop at a stretch. */
const TURN_MS = 5

export interface Loaded {
  readonly units: readonly CheckedUnit[]
  /** What is broken now; the units above are the last good ones in its place. */
  readonly problems: readonly Problem[]
}

/** Loads sources and checks what changed. It remembers the last good version of every unit. */
export interface Loader {
  load(signal: AbortSignal): Promise<Loaded>
}

export function createLoader(options: { sources: readonly Source[]; clock: Clock; deps: CheckDeps }): Loader {
  const { sources, clock, deps } = options
  const lastGood = new Map<Source, readonly CheckedUnit[]>()

  async function loadSource(source: Source, signal: AbortSignal): Promise<Loaded> {
    const before = lastGood.get(source) ?? []
    let loaded: Loaded
    try {
      loaded = await checkAll(await withDeadline(source, signal, clock), { source, before, clock, deps })
    } catch (error) {
      return { units: before, problems: [brokenSource(source, error)] }
    }
    lastGood.set(source, loaded.units)
    return loaded
  }

  return {
    async load(signal) {
      const loads = await Promise.all(sources.map(source => loadSource(source, signal)))
      return { units: loads.flatMap(load => load.units), problems: loads.flatMap(load => load.problems) }
    },
  }
}

interface CheckAllOptions {
  readonly source: Source
  readonly before: readonly CheckedUnit[]
  readonly clock: Clock
  readonly deps: CheckDeps
}

async function checkAll(
  units: readonly SourceUnit[],
  { source, before, clock, deps }: CheckAllOptions,
): Promise<Loaded> {
  const known = new Map(before.map(unit => [unit.unit, unit]))
  const good: CheckedUnit[] = []
  const problems: Problem[] = []
  let turnEnds = clock.now() + TURN_MS
  for (const unit of units) {
    const old = known.get(unit.id)
    if ('broken' in unit) {
      problems.push(...unit.broken.map(problem => (old ? withLastGood(problem) : problem)))
      if (old) good.push(old)
      continue
    }
    if (old?.hash === unit.hash) {
      good.push(old)
      continue
    }
    const steps = checkUnit(unit, { source: source.id, kind: source.kind }, deps)
    let step = steps.next()
    for (; !step.done; step = steps.next()) {
      if (clock.now() < turnEnds) continue
      await clock.breathe()
      turnEnds = clock.now() + TURN_MS
    }
    const isWorse = old !== undefined && old.problems.length === 0 && hasErrors(step.value)
    if (isWorse) problems.push(...step.value.problems.map(withLastGood))
    good.push(isWorse ? old : step.value)
  }
  return { units: good, problems }
}

function hasErrors(unit: CheckedUnit): boolean {
  return unit.problems.some(problem => problem.severity === 'error')
}

function withLastGood(problem: Problem): Problem {
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
  const message = `Source "${source.id}" could not be loaded: ${messageOf(error)}. What it had before stays in use.`
  return { severity: 'error', code: 'DEFINITION_INVALID', where: source.id, message }
}
