import { AppError, messageOf, type Problem, type ReloadReport } from '../../contracts/index.ts'
import { type Clock, didYouMean, type Emitter, inTurns, type Log } from '../kernel/index.ts'
import { type CheckedUnit, notOffered, whyLeftOut } from './check-unit.ts'
import type { CheckDeps } from './checks.ts'
import { type Composition, composeBest, linkedDependencies } from './compose.ts'
import { createDeclarer } from './compose-declarations.ts'
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

/** Owns the current generation. Nothing else may replace it. */
export interface Catalogue {
  current(): Generation
  /** What is wrong with definitions now. */
  problems(): readonly Problem[]
  /** A tool of the current generation; throws `TOOL_NOT_FOUND` with the closest name, `TOOL_DISABLED` for one that is held back. */
  tool(name: string): Tool
  /** Builds the next generation aside and swaps it in. Callers that arrive before a build starts share it. */
  reload(): Promise<ReloadReport>
  /** Adds a capability of the host program, at once. Throws `DEFINITION_INVALID`. */
  register(resolver: CapabilityResolver): void
  /** Adds an op of the host program, at once, for declarations to make tools of. Throws `DEFINITION_INVALID`. */
  registerOp(op: Op): void
  /** Reloads when a source says that it changed. */
  watch(): void
  stop(): Promise<void>
}

export interface CatalogueDeps extends CheckDeps {
  readonly sources: readonly Source[]
  readonly clock: Clock
  readonly emitter: Emitter
  readonly log: Log
  /** How long the first load of a source may hold up the others. */
  readonly patienceMs: number
  /** Begins looking at dependencies that are about to come. */
  lookAhead(dependencies: ReadonlyMap<string, Dependency>): void
  /** Gets new dependencies looked at before their tools are offered. Not awaited for the first generation. */
  prepare(next: Generation): Promise<void>
}

/** How long new dependencies may hold up the generation that brings them. */
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
  // What was read last, and what is used of it: a file whose new version does not fit keeps its old one.
  let read: readonly CheckedUnit[] = []
  let used: readonly CheckedUnit[] = []
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
      load.units.length === read.length &&
      load.units.every((unit, index) => unit === read[index])
    const answer = isSame && generation.number > 0 ? stay(load) : await swapIn(load)
    return { ...answer, rejected: [...problems], durationMs: clock.now() - started }
  }

  function stay(load: Loaded): SwapReport {
    loadProblems = load.problems
    reportProblems([...loadProblems, ...composeProblems])
    return { generation: generation.number, added: [], changed: [], removed: [] }
  }

  /** A new dependency that is slow to answer must not hold up what has nothing to do with it; it is unknown until then. */
  function inTime(work: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = clock.after(PREPARE_MS, resolve)
      work.then(resolve, reject).finally(cancel)
    })
  }

  function compose({ units, isPartial }: Pick<Loaded, 'units' | 'isPartial'>, hosted = registered): Composition {
    const number = generation.number + 1
    return composeBest({ number, isPartial, units, registered: hosted, used, faults: composeProblems, declare })
  }

  function takeOver(composed: Composition): SwapReport {
    used = composed.units
    composeProblems = composed.problems
    reportProblems([...loadProblems, ...composeProblems])
    return swap(composed.generation)
  }

  async function swapIn(load: Loaded): Promise<SwapReport> {
    await inTurns(declarer.prepare([...load.units, ...registered]), clock)
    let composed = compose(load)
    if (generation.number > 0) await inTime(prepare(composed.generation))
    // Composing, comparing and taking over each take a while where there are many tools.
    await clock.breathe()
    // A capability registered while new dependencies were looked at must not get lost.
    if (composed.generation.number !== generation.number + 1) composed = compose(load)
    read = load.units
    loadProblems = load.problems
    return takeOver(composed)
  }

  function addRegistered(unit: CheckedUnit): void {
    const composed = compose({ units: read, isPartial: generation.isPartial }, [...registered, unit])
    const fresh = composed.problems.filter(problem => problem.where === unit.unit)
    if (fresh.length > 0) {
      throw new AppError('DEFINITION_INVALID', fresh.map(problem => problem.message).join('\n'), {
        details: { problems: fresh },
      })
    }
    registered.push(unit)
    takeOver(composed)
  }

  function reload(): Promise<ReloadReport> {
    if (stopping.signal.aborted) return Promise.reject(new AppError('STOPPING', 'Quartermaster is stopping.'))
    // A file may have been edited after a running build has read it: callers that ask meanwhile share the build after it.
    waiting ??= (running ?? Promise.resolve())
      .catch(() => {
        // The failed build was reported to those who asked for it.
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
      const reason = whyLeftOut(name, generation.capabilities.values())
      if (reason !== undefined) throw notOffered(name, reason)
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
