import { SWITCHED_OFF, type Upstreams } from '../../adapters/mcp-upstream/index.ts'
import type {
  AgentPrompt,
  DependencyOptions,
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
import {
  type Clock,
  neededLogin,
  sentence,
  upstreamDependency,
  upstreamOfDependency,
  upstreamUnit,
  withoutLoginStep,
} from '../../core/kernel/index.ts'
import type { Core } from '../bootstrap/build-core.ts'
import type { Project } from '../project/project.ts'

/** What the owner configured for a dependency. An upstream is switched off in its own entry. */
export function dependencyOptionsIn(
  { dependencyOptions, upstreams }: Pick<Project, 'dependencyOptions' | 'upstreams'>,
  name: string,
): DependencyOptions {
  const options = dependencyOptions(name)
  const upstream = upstreamOfDependency(name)
  const entry = upstream === undefined ? undefined : upstreams().get(upstream)
  // An invalid entry was not switched off on purpose.
  return entry && !entry.enabled && entry.wrong === undefined ? { ...options, enabled: false } : options
}

/** Dependencies, with those that are upstreams as `upstreams` shows them: health knows neither their logins nor the next step. */
export function asUpstreams(
  dependencies: readonly DependencyStatus[],
  statuses: readonly UpstreamStatus[],
): DependencyStatus[] {
  const byDependency = new Map(statuses.map(status => [upstreamDependency(status.name), status]))
  return dependencies.map(dependency => {
    const upstream = byDependency.get(dependency.name)
    return upstream ? asUpstream(dependency, upstream) : dependency
  })
}

function asUpstream({ fix: logs, ...known }: DependencyStatus, status: UpstreamStatus): DependencyStatus {
  const { name, state, reason, unseen, hasSpoken } = status
  if (state === 'off') return { ...known, ...(reason === SWITCHED_OFF ? { state: 'optedOut' } : {}), reason }
  if (state === 'needsLogin') {
    const { reason } = known
    return { ...known, reason: withoutLoginStep(reason, name), fix: neededLogin({ name, reason }) }
  }
  // A server that has written nothing has no log to read.
  const fix = unseen ?? (hasSpoken ? logs : undefined)
  return { ...known, state: dependencyState(known.state, status), ...(fix === undefined ? {} : { fix }) }
}

function dependencyState(
  ofHealth: DependencyStatus['state'],
  { state, unseen }: UpstreamStatus,
): DependencyStatus['state'] {
  if (unseen === undefined) return ofHealth
  // Health takes a server that has not answered in this process for up; whether it has tools is unknown.
  if (ofHealth === 'up' && (state === 'starting' || state === 'idle')) return 'unknown'
  // A server that never answered has nothing to recover.
  return ofHealth === 'recovering' && state === 'down' ? 'down' : ofHealth
}

/** Upstream states for the caller: in a process for one command nothing retries, so nothing recovers. */
export function withoutRetries(statuses: readonly UpstreamStatus[], from: StatusReport['from']): UpstreamStatus[] {
  const isLost = ({ state }: UpstreamStatus) => from === 'process' && state === 'recovering'
  return statuses.map(status => (isLost(status) ? { ...status, state: 'down' } : status))
}

type HealthFacts = Pick<DependencyStatus, 'name' | 'state' | 'reason' | 'since' | 'checkedAt' | 'isProving'>

/**
 * Upstreams with the state that health gives them. A flapping connection is up for moments; health decides whether and since
 * when the upstream is usable, and `status` and `upstreams` must agree.
 */
export function asHealthDecided(
  statuses: readonly UpstreamStatus[],
  dependencies: readonly HealthFacts[],
): UpstreamStatus[] {
  const byName = new Map(dependencies.map(dependency => [dependency.name, dependency]))
  return statuses.map(status => {
    const health = byName.get(upstreamDependency(status.name))
    // Other states, such as a needed login, are unknown to health.
    if (status.state !== 'up' && status.state !== 'recovering' && status.state !== 'down') return status
    if (health?.state !== 'recovering' && health?.state !== 'down') return status
    if (isJustUp(status, health))
      return { ...status, state: 'starting', reason: 'It answers, and its tools are about to be there.' }
    const { state, since } = health
    // The reason of a connection that is up does not explain why it is not usable.
    return { ...status, state, since, reason: status.state === 'up' ? health.reason : status.reason }
  })
}

/** Whether it came up after the last probe, and health is about to probe again. */
function isJustUp({ state, since }: UpstreamStatus, health: HealthFacts): boolean {
  return state === 'up' && health.state === 'down' && !health.isProving && (health.checkedAt ?? since + 1) <= since
}

/** Rechecks, and answers as `status` does: health takes a starting server for up, although it may never have answered. */
export async function recheckWithUpstreams(
  {
    core: { health, catalogue },
    upstreams,
  }: { core: Pick<Core, 'health' | 'catalogue'>; upstreams: Pick<Upstreams, 'statuses'> },
  { name, force, from }: { name: string; force: boolean; from: StatusReport['from'] },
  clock: Pick<Clock, 'now'>,
): Promise<RecheckAnswer> {
  const answer = await health.recheck(name, { force })
  const generation = catalogue.current()
  const requires = new Set(requirementsOf(parseAddress(name, generation), generation))
  const needed = health.dependencies().filter(dependency => requires.has(dependency.name))
  const now = Math.round(clock.now())
  const known = new Set(answer.missing.map(({ dependency }) => dependency))
  const more = asUpstreams(needed, withoutRetries(upstreams.statuses(), from))
    .filter(one => one.state !== 'up' && one.state !== 'recovering' && !known.has(one.name))
    .map(one => toMissing(one, now))
  if (more.length === 0) return answer
  return { ...answer, active: false, missing: [...answer.missing, ...more], nextRecheckAt: now }
}

function toMissing({ name, state, reason, since, fix }: DependencyStatus, now: number): MissingDependency {
  const missing = { dependency: name, state, reason, ageMs: Math.max(0, Math.round(now - since)), nextRecheckAt: now }
  return fix === undefined ? missing : { ...missing, fix }
}

/**
 * Upstreams with the numbers of definitions that agents have now. A definition listed a moment ago is not loaded yet, and one
 * whose name is taken or that is wrong never is.
 */
export function withOffered(
  statuses: readonly UpstreamStatus[],
  { capabilities }: Pick<Generation, 'capabilities'>,
  problems: readonly Problem[],
): UpstreamStatus[] {
  return statuses.map(status => {
    const unit = upstreamUnit(status.name)
    const own = problems.filter(one => one.where === unit)
    // A warning about a name leaves the definition in place.
    const clashes = own.filter(one => one.field === 'name' && one.severity === 'error')
    const found = capabilities.get(status.name)
    // If the name of the capability is taken, nothing of the upstream is loaded.
    const { tools, prompts, resources, hidden: absent } = found?.unit === unit ? found : NOTHING
    const known = new Set([
      ...tools.flatMap(({ name, ownName }) => [`tool:${name}`, `tool:${ownName}`]),
      // Definitions held for review are counted separately.
      ...absent.flatMap(({ name, isWrong }) => (isWrong ? [] : [`tool:${name}`])),
      ...prompts.map(({ name }) => `prompt:${name}`),
      ...resources.flatMap(({ key }) => [`resource:${key}`, `template:${key}`]),
    ])
    const leftOut = leftOutOf(own.filter(one => !clashes.includes(one) && !known.has(one.subject ?? '')))
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

const NOTHING = { tools: [], prompts: [], resources: [], hidden: [] }

const FIRST_LEFT_OUT = 5

/** The definitions left out, each with its first problem. */
function leftOutOf(problems: readonly Problem[]): UpstreamStatus['leftOut'] {
  const found = new Map<string, { definition: string; reason: string }>()
  for (const { code, subject = '', message } of problems) {
    const [, kind, name] = /^(tool|prompt|resource|template)(?::(.*))?$/s.exec(subject) ?? []
    if (code !== 'DEFINITION_INVALID' || kind === undefined) continue
    // A definition without a name is identified by its position, which the message contains.
    const definition = name === undefined ? kind : `${kind} "${name}"`
    const key = name === undefined ? message : subject
    if (!found.has(key)) found.set(key, { definition, reason: message })
  }
  return found.size === 0 ? undefined : { count: found.size, first: [...found.values()].slice(0, FIRST_LEFT_OUT) }
}

export function clashText({ message, fix }: Pick<Problem, 'message' | 'fix'>): string {
  return fix === undefined ? message : `${message} ${fix}`
}

/** Names the definition that gets the name of this one if it is rejected. */
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
export function unseenUpstreams({ upstreams }: { upstreams: Pick<Upstreams, 'statuses'> }): Unseen {
  return upstreams
    .statuses()
    .flatMap(({ name, reason, unseen: fix }) =>
      fix === undefined ? [] : [{ name, reason: withoutLoginStep(reason, name), fix }],
    )
}

/** A prompt as the owner reads it, with the next step for unlisted upstreams. Agents cannot do anything about them. */
export function withSteps(made: AgentPrompt, unseen: Unseen): AgentPrompt {
  if (!made.unseen) return made
  const byName = new Map(unseen.map(one => [one.name, one]))
  const withStep = made.unseen.map(one => {
    const known = byName.get(one.capability)
    return known ? { ...one, reason: `${sentence(known.reason)} ${known.fix}` } : one
  })
  return { ...made, unseen: withStep }
}
