import { AppError, messageOf, type Problem, type ReloadReport } from '../../contracts/index.ts'
import { type Clock, didYouMean, type Emitter, inTurns, type Log } from '../kernel/index.ts'
import { type CheckedUnit, toolDisabled, unavailableReason } from './check-unit.ts'
import type { CheckDeps } from './checks.ts'
import { type Composition, composeBest, linkedDependencies } from './compose.ts'
import { createDeclarer } from './declared-tool.ts'
import { type CapabilityResolver, type Op } from './definitions.ts'
import {
  type Dependency,
  diffGenerations,
  EMPTY_GENERATION,
  type Generation,
  newProblems,
  type Source,
  type Tool,
} from './generation.ts'
import { checkRegistered, checkRegisteredOp } from './module.ts'
import { createLoader, type Loaded } from './sources.ts'

/** Owns the current generation; nothing else replaces it. */
export interface Catalogue {
  current(): Generation
  problems(): readonly Problem[]
  /**
   * Finds a tool of the current generation. Throws `TOOL_NOT_FOUND` with the closest name, or `TOOL_DISABLED` if the tool is
   * withheld.
   */
  tool(name: string): Tool
  /** Builds the next generation aside and swaps it in. Calls that arrive before a build starts share that build. */
  reload(): Promise<ReloadReport>
  /** Adds a capability of the host program synchronously. Throws `DEFINITION_INVALID`. */
  register(resolver: CapabilityResolver): void
  /** Adds an op of the host program synchronously, for use by declarations. Throws `DEFINITION_INVALID`. */
  registerOp(op: Op): void
  watch(): void
  stop(): Promise<void>
}

interface CatalogueDeps extends CheckDeps {
  readonly sources: readonly Source[]
  readonly clock: Clock
  readonly emitter: Emitter
  readonly log: Log
  /** How long the first load of one source may delay the others. */
  readonly patienceMs: number
  /** Starts probing dependencies of sources that are still loading. */
  lookAhead(dependencies: ReadonlyMap<string, Dependency>): void
  /** Probes new dependencies before their tools are offered. Not awaited for the first generation. */
  prepare(next: Generation): Promise<void>
}

/** How long probing new dependencies may delay their generation. */
const PREPARE_MS = 1_000

export function createCatalogue(deps: CatalogueDeps): Catalogue {
  const { sources, clock, emitter, log, prepare } = deps
  const lookAhead = (coming: readonly Dependency[]) => {
    const named = coming.map(dependency => [dependency.name, dependency] as const)
    deps.lookAhead(linkedDependencies(new Map([...generation.dependencies, ...named])))
  }
  const late = () => reload().catch(error => log.error('reload failed', { error: messageOf(error) }))
  const loader = createLoader({
    sources,
    clock,
    deps,
    patienceMs: deps.patienceMs,
    onLate: () => void late(),
    onDependencies: lookAhead,
  })
  const stopping = new AbortController()
  const registered: CheckedUnit[] = []
  const { declare, ...declarer } = createDeclarer(deps)
  // `loadedUnits` is what was read last, `usedUnits` what the generation is made of: a changed file that does not fit keeps its
  // previous version.
  let loadedUnits: readonly CheckedUnit[] = []
  let usedUnits: readonly CheckedUnit[] = []
  let generation = EMPTY_GENERATION
  let problems: readonly Problem[] = []
  let loadProblems: readonly Problem[] = []
  let composeProblems: readonly Problem[] = []
  let running: Promise<ReloadReport> | undefined
  let waiting: Promise<ReloadReport> | undefined
  let unwatch: (() => void)[] = []

  function swap(next: Generation): SwapReport {
    const diff = diffGenerations(generation, next)
    generation = next
    emitter.emit('generation.swapped', { generation: next.number, ...diff })
    return { generation: next.number, ...diff }
  }

  function reportProblems(now: readonly Problem[]): void {
    const fresh = newProblems(now, problems)
    problems = now
    if (fresh.length > 0) emitter.emit('definitions.rejected', { problems: fresh })
  }

  async function build(): Promise<ReloadReport> {
    const started = clock.now()
    const load = await loader.load(stopping.signal)
    stopping.signal.throwIfAborted()
    const isSame =
      load.isPartial === generation.isPartial &&
      load.units.length === loadedUnits.length &&
      load.units.every((unit, index) => unit === loadedUnits[index])
    const answer = isSame && generation.number > 0 ? keepGeneration(load) : await swapIn(load)
    return { ...answer, rejected: [...problems], durationMs: clock.now() - started }
  }

  function keepGeneration(load: Loaded): SwapReport {
    loadProblems = load.problems
    reportProblems([...loadProblems, ...composeProblems])
    return { generation: generation.number, added: [], changed: [], removed: [] }
  }

  /** A dependency that is slow to answer must not delay unrelated tools; until then its state is unknown. */
  function waitAtMost(work: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = clock.after(PREPARE_MS, resolve)
      work.then(resolve, reject).finally(cancel)
    })
  }

  function compose({ units, isPartial }: Pick<Loaded, 'units' | 'isPartial'>, hosted = registered): Composition {
    const number = generation.number + 1
    return composeBest({
      number,
      isPartial,
      units,
      registered: hosted,
      used: usedUnits,
      faults: composeProblems,
      declare,
    })
  }

  function adopt(composed: Composition): SwapReport {
    usedUnits = composed.units
    composeProblems = composed.problems
    reportProblems([...loadProblems, ...composeProblems])
    return swap(composed.generation)
  }

  async function swapIn(load: Loaded): Promise<SwapReport> {
    await inTurns(declarer.prepare([...load.units, ...registered]), clock)
    let composed = compose(load)
    if (generation.number > 0) await waitAtMost(prepare(composed.generation))
    // Composing and swapping each block the event loop for a while when there are many tools.
    await clock.breathe()
    // A capability registered during `prepare` must not get lost.
    if (composed.generation.number !== generation.number + 1) composed = compose(load)
    loadedUnits = load.units
    loadProblems = load.problems
    return adopt(composed)
  }

  function addRegistered(unit: CheckedUnit): void {
    const composed = compose({ units: loadedUnits, isPartial: generation.isPartial }, [...registered, unit])
    const fresh = composed.problems.filter(problem => problem.where === unit.unit)
    if (fresh.length > 0) {
      throw new AppError('DEFINITION_INVALID', fresh.map(problem => problem.message).join('\n'), {
        details: { problems: fresh },
      })
    }
    registered.push(unit)
    adopt(composed)
  }

  function reload(): Promise<ReloadReport> {
    if (stopping.signal.aborted) return Promise.reject(new AppError('STOPPING', 'Quartermaster is stopping.'))
    // A file may have been edited after the running build read it, so later callers share the build after it.
    waiting ??= (running ?? Promise.resolve())
      .catch(() => {
        // The failed build was reported to its own callers.
      })
      .then(() => {
        running = waiting
        waiting = undefined
        return build()
      })
      .finally(() => {
        running = undefined
      })
    return waiting
  }

  return {
    current: () => generation,
    problems: () => problems,
    tool(name) {
      const tool = generation.tools.get(name)
      if (tool) return tool
      const reason = unavailableReason(name, generation.capabilities.values())
      if (reason !== undefined) throw toolDisabled(name, reason)
      throw new AppError('TOOL_NOT_FOUND', `There is no tool "${name}".${didYouMean(name, generation.tools.keys())}`)
    },
    reload,
    register: resolver => addRegistered(checkRegistered(resolver, deps)),
    registerOp: op => addRegistered(checkRegisteredOp(op, deps)),
    watch() {
      unwatch = sources.flatMap(source => {
        const stop = source.onChange?.(() => {
          reload().catch(error => log.error('reload failed', { source: source.id, error: messageOf(error) }))
        })
        return stop ? [stop] : []
      })
    },
    async stop() {
      for (const stop of unwatch) stop()
      stopping.abort(new AppError('STOPPING', 'Quartermaster is stopping.'))
      await (waiting ?? running)?.catch(() => {
        // Aborted on purpose.
      })
    },
  }
}

type SwapReport = Omit<ReloadReport, 'durationMs' | 'rejected'>
