import { messageOf, type Problem } from '../../contracts/index.ts'
import { type Clock, createTurns, type Turns } from '../kernel/index.ts'
import { type CheckedUnit, checkUnit, dependenciesOf, type LoadedUnit } from './check-unit.ts'
import { type CheckDeps } from './checks.ts'
import { type Probe } from './definitions.ts'
import { type Dependency, type Source, type SourceUnit } from './generation.ts'

/** A source that does not answer in time keeps its previous units; a hanging disk must not block reloads forever. */
const LOAD_DEADLINE_MS = 60_000

/**
 * Sources that are read rather than executed always finish, and a client that sees no tools meanwhile may not ask again. So they
 * get this many times the time that code gets; not unlimited, as the number of tools is unbounded.
 */
const READING_PATIENCE = 10

export interface Loaded {
  readonly units: readonly CheckedUnit[]
  readonly problems: readonly Problem[]
  readonly isPartial: boolean
}

interface LoaderOptions {
  readonly sources: readonly Source[]
  readonly clock: Clock
  readonly deps: CheckDeps
  /** How long the first load of code may delay the other sources. */
  readonly patienceMs: number
  onLate(): void
  /** Reports dependencies of changed units before their tools are checked, as probing takes longer than checking. */
  onDependencies(dependencies: readonly Dependency[]): void
}

export function createLoader({ sources, clock, deps, patienceMs, onLate, onDependencies }: LoaderOptions) {
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
    async load(signal: AbortSignal): Promise<Loaded> {
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
  const message = `Source "${source.id}" is still loading; its definitions follow.`
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
    // A tool that a server has changed must not be offered in its old form: a call would run the new one.
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
    // Definitions are code: a throwing getter must break only its own file.
    const message = `Its definitions cannot be read: ${withoutStop(messageOf(error))}.`
    return { id: unit.id, broken: [{ severity: 'error', code: 'DEFINITION_INVALID', where: unit.id, message }] }
  }
}

function hasErrors(unit: CheckedUnit): boolean {
  return unit.problems.some(problem => problem.severity === 'error')
}

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
  const message = `Source "${source.id}" could not be loaded: ${withoutStop(messageOf(error))}. Its previous definitions stay in use.`
  return { severity: 'error', code: 'DEFINITION_INVALID', where: source.id, message }
}

function withoutStop(text: string): string {
  return text.replace(/\.$/, '')
}

/** An HTTP request to another server. Redirects are not followed. */
export interface WebRequest {
  readonly method: string
  readonly url: URL
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Whether the owner named the host in settings: then it may be on this machine or in a private network. */
  readonly isNamed: boolean
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** Outcome of a request. A reason is a sentence of ours, never text of the server. */
export type WebOutcome =
  | { readonly kind: 'answer'; readonly answer: WebAnswer }
  /** The address is forbidden. Nothing was sent. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** `no`: the server cannot have received the whole request. */
  | { readonly kind: 'failed'; readonly reason: string; readonly wasSent: 'no' | 'maybe' }
  /** The answer exceeds the limit; this is its beginning. */
  | { readonly kind: 'tooLong'; readonly answer: WebAnswer }
  /** The body cannot be decoded and is left out. */
  | { readonly kind: 'unreadable'; readonly reason: string; readonly answer: WebAnswer }

export interface WebAnswer {
  readonly status: number
  /** By lower-case name; repeated headers are joined with commas. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly receivedAt: number
}

/** HTTP requests to other servers, with private addresses blocked. */
export interface WebService {
  /** Rejects only with the reason of the signal. */
  send(request: WebRequest): Promise<WebOutcome>
}

export interface ForeignText {
  readonly parameter: string
  readonly text: string
  /** A whole argument, a line of the input, or something inside a larger value. */
  readonly from: 'argument' | 'input' | 'inside'
}

/** A program to run, without a shell. */
export interface ProgramRequest {
  readonly program: string
  readonly args: readonly string[]
  /** Texts chosen by the caller, whole and in parts, searched for paths into the data folder. */
  readonly foreign: readonly ForeignText[]
  /** Relative to the project folder, and inside of it. */
  readonly cwd: string
  /** Added to the few variables that every program gets. */
  readonly env: Readonly<Record<string, string>>
  readonly stdin?: string | undefined
  /** Limit of its output; it is killed beyond that. */
  readonly maxBytes: number
  readonly signal: AbortSignal
}

export type ProgramOutcome =
  | {
      readonly kind: 'ended'
      readonly code: number | null
      readonly stdout: Uint8Array
      readonly stderr: Uint8Array
      readonly isCut: boolean
    }
  /** It was not started because of its folder or arguments. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

/**
 * Programs on this machine. No program and no descendant outlives its run: descendants are found by process group and by a mark in
 * their environment. One that leaves both on purpose is not found.
 */
export interface ProgramService {
  /** Rejects with the reason of the signal, once all its processes have ended. */
  run(request: ProgramRequest): Promise<ProgramOutcome>
  probe(program: string): Probe
  /** A variable of our own environment, to pass to a program. */
  variable(name: string): string | undefined
}
