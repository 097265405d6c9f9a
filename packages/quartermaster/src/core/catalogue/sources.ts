import { messageOf, type Problem } from '../../contracts/index.ts'
import { type Clock, createTurns, type Turns } from '../kernel/index.ts'
import { type CheckedUnit, checkUnit, dependenciesOf, type LoadedUnit } from './check-unit.ts'
import { type CheckDeps } from './checks.ts'
import { type Probe } from './definitions.ts'
import { type Dependency, type Source, type SourceUnit } from './generation.ts'

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
interface Loader {
  load(signal: AbortSignal): Promise<Loaded>
}

interface LoaderOptions {
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
  return { ...problem, fix: problem.fix === undefined ? note : `${problem.fix} ${note}` }
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

/** One request to a server elsewhere. No redirect is followed. */
export interface WebRequest {
  readonly method: string
  readonly url: URL
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Whether the owner has named the host: then it may be on this machine or in this network. */
  readonly isNamed: boolean
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** What came of it. A reason is a sentence of ours, without the words of a stranger. */
export type WebOutcome =
  | { readonly kind: 'answer'; readonly answer: WebAnswer }
  /** It leads where requests are forbidden. Nothing was sent. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** `no`: the server cannot have seen the whole request. */
  | { readonly kind: 'failed'; readonly reason: string; readonly wasSent: 'no' | 'maybe' }
  /** There is an answer, and more of it than may be: this is its beginning. */
  | { readonly kind: 'tooLong'; readonly answer: WebAnswer }
  /** There is an answer whose body cannot be read here and is left out. */
  | { readonly kind: 'unreadable'; readonly reason: string; readonly answer: WebAnswer }

export interface WebAnswer {
  readonly status: number
  /** By their names in lower case; one that occurs several times is a list with commas. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** When it was there, in milliseconds since 1970. */
  readonly receivedAt: number
}

/** Requests to servers elsewhere, behind the walls around this machine and network. */
export interface WebService {
  /** Rejects only with the reason of the signal. */
  send(request: WebRequest): Promise<WebOutcome>
}

/** What the caller chose of what a program is given. */
export interface ForeignText {
  /** The parameter that it came by. */
  readonly parameter: string
  readonly text: string
  /** A value or an argument as a whole, what is read in lines, or something inside of a larger value. */
  readonly from: 'argument' | 'input' | 'inside'
}

/** A program and what it is given. There is no shell. */
export interface ProgramRequest {
  readonly program: string
  readonly args: readonly string[]
  /** What the caller chose of its arguments and its input, whole and in parts, to be searched for paths to the data folder. */
  readonly foreign: readonly ForeignText[]
  /** In the project folder, which it counts from. */
  readonly cwd: string
  /** Beside the few variables that every program gets. */
  readonly env: Readonly<Record<string, string>>
  readonly stdin?: string | undefined
  /** Of all that it prints; it is ended at more. */
  readonly maxBytes: number
  readonly signal: AbortSignal
}

export type ProgramOutcome =
  | {
      readonly kind: 'ended'
      /** `null` when it was killed. */
      readonly code: number | null
      readonly stdout: Uint8Array
      readonly stderr: Uint8Array
      /** Whether it printed too much, and was ended for it. */
      readonly isCut: boolean
    }
  /** It was not started: for where it would run, or what it would be given. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** It could not be started. */
  | { readonly kind: 'failed'; readonly reason: string }

/**
 * Programs on this machine. None of them, and nothing they start, outlives its run: known are those in the group of the
 * program and those that carry its mark in their environment. A program that leaves both on purpose is not found.
 */
export interface ProgramService {
  /** Rejects with the reason of the signal, when nothing of it runs any more. */
  run(request: ProgramRequest): Promise<ProgramOutcome>
  /** Looks whether a program is there. */
  probe(program: string): Probe
  /** A variable of our own environment, for programs that are to have it. */
  variable(name: string): string | undefined
}
