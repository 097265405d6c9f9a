import { AppError, type DependencyOptions, messageOf, type Settings } from '../../contracts/index.ts'
import { type Dependency, type Generation, type ProbeFunction, type ProbeVerdict } from '../catalogue/index.ts'
import { type Clock, didYouMean } from '../kernel/index.ts'
import { isAvailable, type ProbeOutcome, type Records } from './records.ts'
import { afterProbe } from './state.ts'

interface ProbeOptions {
  readonly probe: ProbeFunction
  readonly timeoutMs: number
  readonly clock: Clock
  readonly isRequested: boolean
  readonly isAwaited: boolean
  hasSecret(name: string): boolean
}

/** Runs one probe with an enforced deadline. It never throws and never takes longer, whatever the probe does. */
async function runProbe({ probe, timeoutMs, clock, ...told }: ProbeOptions): Promise<ProbeOutcome> {
  const started = clock.now()
  const controller = new AbortController()
  const timedOut = `It did not answer within ${timeoutMs} ms.`
  let cancel = () => {}
  const deadline = new Promise<never>((_, reject) => {
    cancel = clock.after(timeoutMs, () => {
      const error = new Error(timedOut)
      reject(error)
      controller.abort(error)
    })
  })
  const at = () => ({ at: clock.now(), durationMs: clock.now() - started })
  try {
    const answer = await Promise.race([Promise.resolve(probe({ signal: controller.signal, ...told })), deadline])
    const verdict = toVerdict(answer)
    return verdict
      ? { kind: 'verdict', verdict, ...at() }
      : { kind: 'unknown', reason: 'Its probe gave no verdict.', ...at() }
  } catch (error) {
    const reason = controller.signal.aborted ? timedOut : `Its probe failed: ${messageOf(error)}`.slice(0, REASON_LIMIT)
    return { kind: 'unknown', reason, ...at() }
  } finally {
    cancel()
  }
}

/** Reasons appear in every list and every refused call. */
const REASON_LIMIT = 500

/** Normalizes a probe's answer: its author may have omitted the reason or returned anything. */
function toVerdict(answer: unknown): ProbeVerdict | undefined {
  const given = (typeof answer === 'object' && answer !== null ? answer : { up: answer }) as {
    [K in 'up' | 'reason' | 'recovering' | 'pending' | 'final']?: unknown
  }
  if (typeof given.up !== 'boolean') return undefined
  const reason =
    typeof given.reason === 'string' && given.reason !== '' ? given.reason.slice(0, REASON_LIMIT) : undefined
  if (given.up) return reason === undefined ? { up: true } : { up: true, reason }
  const verdict = { up: false as const, reason: reason ?? 'Its probe said no.' }
  const recovering = given.recovering === true && { recovering: true }
  const pending = given.pending === true && { pending: true }
  const final = given.final === true && { final: true }
  return { ...verdict, ...recovering, ...pending, ...final }
}

export interface ProbeRounds {
  /** Probes one dependency, or joins its running probe: never two at a time. */
  probe(dependency: Dependency, options?: LookOptions): Promise<void>
  isUnderWay(dependency: Dependency): boolean
  /**
   * Probes in parallel, parents before children; a child of an unavailable parent is not probed. `mayProbe` can exclude
   * dependencies (cool-down). Returns the probed names.
   */
  round(names: Iterable<string>, options: RoundOptions): Promise<Set<string>>
}

interface LookOptions {
  /** Whether a call or a person wants to know. */
  readonly isRequested?: boolean
  /** Whether calls wait for it. */
  readonly isAwaited?: boolean
}

interface RoundOptions {
  readonly dependencies: ReadonlyMap<string, Dependency>
  /** Whether a call or a person wants to know. */
  readonly isRequested?: boolean
  mayProbe?(dependency: Dependency): boolean
}

interface ProbeRoundsDeps {
  readonly records: Records
  readonly clock: Clock
  readonly settings: Settings
  options(name: string): DependencyOptions
  hasSecret(name: string): boolean
}

export function createProbeRounds({ records, clock, settings, options, hasSecret }: ProbeRoundsDeps): ProbeRounds {
  const underWay = new Map<string, Promise<void>>()

  async function look(dependency: Dependency, wishes: Required<LookOptions>): Promise<void> {
    const timeoutMs = options(dependency.name).probeTimeoutMs ?? dependency.timeoutMs ?? settings.probeTimeoutMs
    const outcome = await runProbe({ probe: dependency.probe, timeoutMs, clock, ...wishes, hasSecret })
    records.update(dependency, record => afterProbe(record, outcome, records.policy(dependency)))
  }

  function probe(dependency: Dependency, { isRequested = false, isAwaited = false }: LookOptions = {}): Promise<void> {
    if (dependency.isUsed?.() === false) return Promise.resolve()
    const key = `${dependency.name}@${dependency.hash}`
    const begin = () => look(dependency, { isRequested, isAwaited }).finally(() => underWay.delete(key))
    const current = underWay.get(key) ?? begin()
    underWay.set(key, current)
    return current
  }

  async function round(
    names: Iterable<string>,
    { dependencies, isRequested = false, mayProbe = () => true }: RoundOptions,
  ): Promise<Set<string>> {
    const probed = new Set<string>()
    const started = new Map<string, Promise<void>>()
    const probeInOrder = (name: string): Promise<void> => {
      const known = started.get(name) ?? probeOnce(name)
      started.set(name, known)
      return known
    }
    const probeOnce = async (name: string): Promise<void> => {
      const dependency = dependencies.get(name)
      if (!dependency || dependency.isUsed?.() === false || records.record(dependency).state === 'optedOut') return
      const parents = dependency.dependsOn.flatMap(parent => dependencies.get(parent) ?? [])
      await Promise.all(
        parents.filter(parent => records.record(parent).state !== 'up').map(parent => probeInOrder(parent.name)),
      )
      if (!parents.every(parent => isReachable(parent, dependencies))) return
      if (!mayProbe(dependency)) return
      probed.add(name)
      await probe(dependency, { isRequested })
    }
    await Promise.all([...names].map(probeInOrder))
    return probed
  }

  /** Whether it and all its ancestors are available. */
  function isReachable(
    dependency: Dependency,
    dependencies: ReadonlyMap<string, Dependency>,
    seen = new Set<string>(),
  ): boolean {
    if (seen.has(dependency.name)) return true
    seen.add(dependency.name)
    if (!isAvailable(records.record(dependency).state)) return false
    return dependency.dependsOn.every(name => {
      const parent = dependencies.get(name)
      return parent !== undefined && isReachable(parent, dependencies, seen)
    })
  }

  return { probe, round, isUnderWay: dependency => underWay.has(`${dependency.name}@${dependency.hash}`) }
}

type AddressKind = 'tool' | 'dependency' | 'capability'

export interface Address {
  readonly kind: AddressKind
  readonly name: string
}

/** Resolves `weather`, `tool:weather`, `dependency:mail` or `capability:files`. */
export function parseAddress(text: string, generation: Generation): Address {
  const indexes = { tool: generation.tools, dependency: generation.dependencies, capability: generation.capabilities }
  const [prefix, rest] = split(text)
  const kinds = prefix ? [prefix] : (Object.keys(indexes) as AddressKind[])
  const hits = kinds.filter(kind => indexes[kind].has(rest))
  if (hits.length > 1) {
    const ways = hits.map(kind => `"${kind}:${rest}"`).join(' or ')
    const addresses = hits.map(kind => `${kind}:${rest}`)
    throw new AppError('NAME_AMBIGUOUS', `"${rest}" names a ${hits.join(' and a ')}. Say ${ways}.`, {
      details: { addresses },
    })
  }
  const [kind] = hits
  if (kind) return { kind, name: rest }
  const hint = didYouMean(
    rest,
    kinds.flatMap(one => [...indexes[one].keys()]),
  )
  if (prefix === 'tool') throw new AppError('TOOL_NOT_FOUND', `There is no tool "${rest}".${hint}`)
  if (prefix === 'dependency') throw new AppError('DEPENDENCY_UNKNOWN', `There is no dependency "${rest}".${hint}`)
  if (prefix === 'capability') throw new AppError('CAPABILITY_UNKNOWN', `There is no capability "${rest}".${hint}`)
  throw new AppError('NAME_UNKNOWN', `No tool, dependency or capability is named "${rest}".${hint}`)
}

export function requirementsOf({ kind, name }: Address, generation: Generation): readonly string[] {
  if (kind === 'dependency') return [name]
  if (kind === 'tool') return generation.tools.get(name)?.requires ?? []
  const capability = generation.capabilities.get(name)
  if (capability?.unseen !== undefined) return dependenciesOf(capability.unit, generation)
  const parts = capability ? [...capability.tools, ...capability.prompts, ...capability.resources] : []
  return [...new Set(parts.flatMap(part => part.requires))]
}

/** Tools of a unit that is not listed yet are unknown, so these are its own dependencies. */
function dependenciesOf(own: string, { dependencies }: Generation): string[] {
  return [...dependencies.values()].filter(({ unit }) => unit === own).map(({ name }) => name)
}

function split(text: string): [AddressKind | undefined, string] {
  const match = /^(tool|dependency|capability):(.*)$/.exec(text)
  return match ? [match[1] as AddressKind, match[2] as string] : [undefined, text]
}
