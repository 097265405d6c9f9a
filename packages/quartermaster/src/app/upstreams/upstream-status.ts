import type {
  AgentPrompt,
  DependencyStatus,
  MissingDependency,
  Problem,
  RecheckAnswer,
  ReviewItem,
  StatusReport,
  UpstreamStatus,
} from '../../contracts/index.ts'
import type { Generation } from '../../core/catalogue/index.ts'
import { parseAddress, requirementsOf } from '../../core/health/index.ts'
import { type Clock, sentence, upstreamDependency, upstreamUnit, withoutLoginStep } from '../../core/kernel/index.ts'
import type { Core } from '../bootstrap/build-core.ts'
import type { Runtime } from '../bootstrap/runtime.ts'
import { asUpstreams } from './upstream-dependencies.ts'

/** Upstream states for the caller: in a process for one command nothing retries, so nothing recovers. */
export function withoutRetries(statuses: readonly UpstreamStatus[], from: StatusReport['from']): UpstreamStatus[] {
  const isLost = ({ state }: UpstreamStatus) => from === 'process' && state === 'recovering'
  return statuses.map(status => (isLost(status) ? { ...status, state: 'down' } : status))
}

type HealthFacts = Pick<DependencyStatus, 'name' | 'state' | 'reason' | 'since' | 'checkedAt' | 'isProving'>

/**
 * Upstreams with the state of their tools. A connection may be up for a moment again and again; health decides whether and since
 * when it is usable, and both commands must give the same answer.
 */
export function asHealthDecided(
  statuses: readonly UpstreamStatus[],
  dependencies: readonly HealthFacts[],
): UpstreamStatus[] {
  const byName = new Map(dependencies.map(dependency => [dependency.name, dependency]))
  return statuses.map(status => {
    const felt = byName.get(upstreamDependency(status.name))
    if (!felt || !OWN.has(status.state) || (felt.state !== 'recovering' && felt.state !== 'down')) return status
    if (isJustUp(status, felt))
      return { ...status, state: 'starting', reason: 'It answers, and its tools are about to be there.' }
    const { state, since } = felt
    // What a connection that is up says of itself is no reason for this.
    return { ...status, state, since, reason: status.state === 'up' ? felt.reason : status.reason }
  })
}

/** It came up in this moment, and health, which knows it as it was before, is about to look. */
function isJustUp({ state, since }: UpstreamStatus, felt: HealthFacts): boolean {
  return state === 'up' && felt.state === 'down' && !felt.isProving && (felt.checkedAt ?? since + 1) <= since
}

/** Others tell of something that health does not know, such as that a person has to sign in. */
const OWN: ReadonlySet<UpstreamStatus['state']> = new Set(['up', 'recovering', 'down'])

interface UpstreamRecheckDeps {
  readonly core: Pick<Core, 'health' | 'catalogue'>
  readonly upstreams: Pick<Runtime['upstreams'], 'statuses'>
}

interface RecheckRequest {
  readonly name: string
  readonly force: boolean
  /** Who keeps servers. */
  readonly from: StatusReport['from']
}

/**
 * Checks again, and answers as `status` does: health takes a starting server for up, although it is unknown whether one is that
 * has never answered.
 */
export async function recheckWithUpstreams(
  { core: { health, catalogue }, upstreams }: UpstreamRecheckDeps,
  { name, force, from }: RecheckRequest,
  clock: Pick<Clock, 'now'>,
): Promise<RecheckAnswer> {
  const answer = await health.recheck(name, { force })
  const generation = catalogue.current()
  const requires = new Set(requirementsOf(parseAddress(name, generation), generation))
  const needed = health.dependencies().filter(dependency => requires.has(dependency.name))
  return withUnheard(answer, asUpstreams(needed, withoutRetries(upstreams.statuses(), from)), Math.round(clock.now()))
}

function withUnheard(answer: RecheckAnswer, needed: readonly DependencyStatus[], now: number): RecheckAnswer {
  const known = new Set(answer.missing.map(({ dependency }) => dependency))
  const unheard = needed.filter(({ name, state }) => !IS_THERE.has(state) && !known.has(name))
  if (unheard.length === 0) return answer
  const missing = [...answer.missing, ...unheard.map(one => toMissing(one, now))]
  return { ...answer, active: false, missing, nextRecheckAt: now }
}

const IS_THERE: ReadonlySet<DependencyStatus['state']> = new Set(['up', 'recovering'])

/** Nothing is in the way of looking again at once. */
function toMissing({ name, state, reason, since, fix }: DependencyStatus, now: number): MissingDependency {
  const missing = { dependency: name, state, reason, ageMs: Math.max(0, Math.round(now - since)), nextRecheckAt: now }
  return fix === undefined ? missing : { ...missing, fix }
}

/**
 * Upstreams with what agents have of them, which is what is loaded now: what was seen a moment ago is still to come, and what
 * could not be taken in, be it for its name or for what is wrong with it, does not.
 */
export function withOffered(
  statuses: readonly UpstreamStatus[],
  { capabilities }: Pick<Generation, 'capabilities'>,
  problems: readonly Problem[],
): UpstreamStatus[] {
  return statuses.map(status => {
    const unit = upstreamUnit(status.name)
    // What a name is only warned of for is there.
    const clashes = problems.filter(one => one.where === unit && one.field === 'name' && one.severity === 'error')
    const found = capabilities.get(status.name)
    // Where its own name is taken, by a capability or by something else, nothing of it is there.
    const { tools, prompts, resources, leftOut: absent } = found?.unit === unit ? found : NOTHING
    const isClash = (one: Problem) => clashes.includes(one)
    const known = new Set([
      ...tools.flatMap(({ name, ownName }) => [`tool:${name}`, `tool:${ownName}`]),
      // What waits for a person is counted by itself.
      ...absent.flatMap(({ name, isWrong }) => (isWrong ? [] : [`tool:${name}`])),
      ...prompts.map(({ name }) => `prompt:${name}`),
      ...resources.flatMap(({ key }) => [`resource:${key}`, `template:${key}`]),
    ])
    const leftOut = leftOutOf(
      problems.filter(one => one.where === unit && !isClash(one) && !known.has(one.subject ?? '')),
    )
    return {
      ...status,
      tools: { ...status.tools, offered: tools.length },
      prompts: prompts.length,
      resources: resources.length,
      ...(leftOut ? { leftOut } : {}),
      ...(clashes.length > 0 ? { clashes: clashes.map(clashText) } : {}),
    }
  })
}

const NOTHING = { tools: [], prompts: [], resources: [], leftOut: [] }

const FIRST_LEFT_OUT = 5

/** Of several things that are wrong with one definition the first is told. */
function leftOutOf(problems: readonly Problem[]): UpstreamStatus['leftOut'] {
  const found = new Map<string, { definition: string; reason: string }>()
  for (const { code, subject = '', message } of problems) {
    const [, kind, name] = /^(tool|prompt|resource|template)(?::(.*))?$/s.exec(subject) ?? []
    if (code !== 'DEFINITION_INVALID' || kind === undefined) continue
    // One without a name is known by its place, which the message says.
    const definition = name === undefined ? kind : `${kind} "${name}"`
    const key = name === undefined ? message : subject
    if (!found.has(key)) found.set(key, { definition, reason: message })
  }
  return found.size === 0 ? undefined : { count: found.size, first: [...found.values()].slice(0, FIRST_LEFT_OUT) }
}

export function clashText({ message, fix }: Pick<Problem, 'message' | 'fix'>): string {
  return fix === undefined ? message : `${message} ${fix}`
}

/** Who gets the name that agents call something by, when it is offered no more. */
export function heirText(
  { upstream, kind, name }: Pick<ReviewItem, 'upstream' | 'kind' | 'name'>,
  problems: readonly Problem[],
): string | undefined {
  const isHeir = ({ where, subject, field }: Problem) =>
    field === 'name' && subject === `${kind}:${name}` && where !== upstreamUnit(upstream)
  const heir = problems.find(isHeir)?.where
  return heir && `Rejected, it leaves its name to ${heir}: calls of "${name}" go there.`
}

type Unseen = NonNullable<StatusReport['unseen']>

/** The upstreams that were never listed, with the reason and the next step. */
export function unseenUpstreams({ upstreams }: { upstreams: Pick<Runtime['upstreams'], 'statuses'> }): Unseen {
  return upstreams
    .statuses()
    .flatMap(({ name, reason, unseen: fix }) =>
      fix === undefined ? [] : [{ name, reason: withoutLoginStep(reason, name), fix }],
    )
}

/** A prompt as its owner reads it: agents cannot do anything about a server, so to them no step is told. */
export function withSteps(made: AgentPrompt, unseen: Unseen): AgentPrompt {
  if (!made.unseen) return made
  const byName = new Map(unseen.map(one => [one.name, one]))
  const told = made.unseen.map(one => {
    const known = byName.get(one.capability)
    return known ? { ...one, reason: `${sentence(known.reason)} ${known.fix}` } : one
  })
  return { ...made, unseen: told }
}
