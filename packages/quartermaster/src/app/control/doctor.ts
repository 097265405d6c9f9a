import type { LeftBehind, UpstreamAuth, Upstreams } from '../../adapters/mcp-upstream/index.ts'
import { secretsProblems } from '../../adapters/project-files/index.ts'
import {
  type AgentSummary,
  DEFAULT_ORGANISATION,
  type DependencyStatus,
  type Finding,
  type Problem,
  type StatusReport,
  type UpstreamConfig,
} from '../../contracts/index.ts'
import type { Agents } from '../../core/agents/index.ts'
import { checkExamples, type Generation } from '../../core/catalogue/index.ts'
import type { ExternalPeers, PeerTrouble } from '../../core/external-peers/index.ts'
import { neededDependencies } from '../../core/health/index.ts'
import { didYouMean, withoutHidden } from '../../core/kernel/index.ts'
import { fewOfEach } from '../../core/knowledge/index.ts'
import { askableConsent } from '../../core/upstreams/index.ts'
import type { Runtime } from '../bootstrap/runtime.ts'
import type { Project } from '../project/project.ts'
import { checkStore } from '../project/store-choice.ts'
import { upstreamFindings } from '../upstreams/upstream-findings.ts'
import { docsProblems } from './docs.ts'

/** Checks everything that can be wrong, and says how to fix each problem. */
export async function diagnose(
  runtime: Runtime,
  outside: PeerFindingsDeps & { readonly from: StatusReport['from'] },
): Promise<Finding[]> {
  const { core, project } = runtime
  const known = [
    ...runtime.problems(),
    ...(await checkExamples(core.catalogue.current())),
    ...fewOfEach(await docsProblems(runtime)),
  ]
  // The secrets file is not watched, so it may have become wrong for the next start.
  const problems = [...known, ...(await secretsProblems(project.dataDir)).filter(problem => !isAmong(known, problem))]
  const dependencies = core.health.dependencies().filter(({ name }) => !isOfUpstream(runtime, name))
  const needed = neededDependencies(core.catalogue.current())
  const agents = core.agents.list()
  const store = await checkStore(project.dataDir, project.storeChoice)
  return [
    ok(`Configuration: ${project.configFile ?? 'none; everything has its default'}.`),
    ...problems.map(problemFinding),
    store.finding,
    ...dependencies.map(status => dependencyFinding(status, { isNeeded: needed.has(status.name) })),
    ...(await upstreamFindings({ ...runtime, from: outside.from })),
    ...entryFindings(project.upstreams(), namesOf(agents)),
    ...(await loginFindings(runtime)),
    ...(store.isReadable ? await leftBehindFindings(runtime) : []),
    ...(await peerFindings(outside)),
    ...consentFindings(core.catalogue.current()),
    ok(
      `${core.catalogue.current().tools.size} tools in ${core.catalogue.current().capabilities.size} capabilities are defined.`,
    ),
    ...agentFindings(agents),
  ]
}

/** What `doctor` says when the configuration cannot even be read. */
export function diagnoseConfig(problems: readonly Problem[]): Finding[] {
  return problems.map(problemFinding)
}

function isAmong(problems: readonly Problem[], { where, message }: Problem): boolean {
  return problems.some(other => other.where === where && other.message === message)
}

/** Upstreams have findings of their own, which say more. */
function isOfUpstream({ core, upstreams }: Runtime, dependency: string): boolean {
  return core.catalogue.current().dependencies.get(dependency)?.source === upstreams.source.id
}

const NO_AGENTS: Finding = {
  level: 'warning',
  what: 'No agent is configured, so no tool can be called.',
  fix: 'Run `quartermaster init`, or `quartermaster grant NAME CAPABILITY --create`.',
}

/** Problems of the other agents are reported with their files. */
function agentFindings(agents: readonly AgentSummary[]): Finding[] {
  if (agents.length === 0) return [NO_AGENTS]
  const fine = namesOf(agents.filter(({ problems }) => problems.length === 0))
  return fine.length === 0 ? [] : [ok(`Agents: ${fine.join(', ')}.`)]
}

function namesOf(agents: readonly AgentSummary[]): string[] {
  return agents.map(({ name }) => name)
}

function ok(what: string): Finding {
  return { level: 'ok', what }
}

function problemFinding({ severity, message, where, fix }: Problem): Finding {
  const finding: Finding = { level: severity, what: message, where }
  return fix === undefined ? finding : { ...finding, fix }
}

function dependencyFinding(status: DependencyStatus, { isNeeded }: { isNeeded: boolean }): Finding {
  const { name, state, reason, fix } = status
  if (state === 'up') return ok(`Dependency "${name}" is up.`)
  if (state === 'optedOut') return ok(`Dependency "${name}" is switched off. ${reason}`)
  // Nothing requires this dependency, so it may be absent on purpose.
  const level = state === 'recovering' || !isNeeded ? 'warning' : 'error'
  const what = `Dependency "${name}" is ${state}${isNeeded ? '' : ', which disables nothing'}: ${reason}`
  return {
    level,
    what,
    fix: fix ?? `Correct what the reason says, then run \`quartermaster recheck dependency:${name}\`.`,
  }
}

/** Consent operations whose reason has invisible characters, so that a person would not read it as written. */
export function consentFindings({ consentOperations }: Pick<Generation, 'consentOperations'>): Finding[] {
  return [...consentOperations.values()]
    .filter(({ reason }) => withoutHidden(reason) !== reason)
    .map(({ name, reason }) => ({
      level: 'warning',
      what: `The reason of the consent operation "${name}" has characters that cannot be seen: ${withoutHidden(JSON.stringify(reason))}`,
      fix: 'Take them out: a person decides by this text.',
    }))
}

/** Names in entries of `mcpServers` that match nothing: the settings under them have no effect. */
export function entryFindings(upstreams: ReadonlyMap<string, UpstreamConfig>, agents: readonly string[]): Finding[] {
  return [...upstreams].flatMap(([name, config]) => [
    ...Object.keys(config.agents)
      .filter(agent => !agents.includes(agent))
      .map(agent => strangeAgent(name, agent, agents)),
    ...strangeConsent(name, config),
  ])
}

/** The intended agent still gets in: its calls use the credentials of the entry itself. */
function strangeAgent(upstream: string, agent: string, agents: readonly string[]): Finding {
  const hint = didYouMean(agent, agents)
  return {
    level: 'warning',
    where: `mcpServers.${upstream}.agents.${agent}`,
    what: `The entry of "${upstream}" has credentials of "${agent}" and there is no agent "${agent}", so they are unused.${hint}`,
    fix: 'Correct the name, or take it out. Until then all agents call with the credentials of the entry itself.',
  }
}

function strangeConsent(upstream: string, config: UpstreamConfig): Finding[] {
  const known = askableConsent(upstream, config)
  const strange = Object.keys(config.consentOperations ?? {}).filter(operation => !known.includes(operation))
  return strange.map(operation => ({
    level: 'warning',
    where: `mcpServers.${upstream}.consentOperations.${operation}`,
    what: `No tool of "${upstream}" asks for the consent operation "${operation}".${didYouMean(operation, known)}`,
    fix: 'Correct the name, or take it out. A tool asks for it by "consent" under "tools" in the same entry.',
  }))
}

/** Stored data of upstreams whose entry was removed by hand: it is unused, and nothing else reports it. */
export async function leftBehindFindings({
  upstreams,
  project,
}: {
  readonly upstreams: Pick<Upstreams, 'leftBehind'>
  readonly project: Pick<Project, 'storeChoice'>
}): Promise<Finding[]> {
  // The finding about the store reports what is wrong with it.
  const all = await upstreams.leftBehind().catch(() => [])
  const isShared = project.storeChoice.databaseUrl !== undefined
  const signedIn = all.filter(({ logins }) => logins > 0)
  const pinned = all.filter(({ logins, pins }) => logins === 0 && pins > 0)
  return [
    ...signedIn.map(one => loginFinding(one, { isShared })),
    ...pinFindings(
      pinned.map(({ name }) => name),
      { isShared },
    ),
  ]
}

/** An unused credential, which anyone with the store and its key can read. */
function loginFinding({ name, logins }: LeftBehind, { isShared }: { isShared: boolean }): Finding {
  const [there, used] = logins === 1 ? ['is a login', 'it'] : [`are ${logins} logins`, 'them']
  const here = isShared ? 'no agent here uses' : 'no agent uses'
  const elsewhere = isShared ? 'Where another node on this database has it, leave it. Otherwise put' : 'Put'
  return {
    level: 'warning',
    what: `There ${there} at "${name}", and the configuration has no such upstream, so ${here} ${used}.`,
    fix: `${elsewhere} its entry back, or forget all that is known of it: quartermaster remove ${name}`,
  }
}

/** Servers that capabilities named once leave pins as well, so there may be many. */
const MOST_NAMED = 5

/** No problem: an entry may be removed for a day. */
function pinFindings(names: readonly string[], { isShared }: { isShared: boolean }): Finding[] {
  if (names.length === 0) return []
  const named = names.slice(0, MOST_NAMED).map(name => `"${name}"`)
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : ''
  const which = names.length === 1 ? names[0] : 'NAME'
  const where = isShared ? ', where no other node on this database has it' : ''
  const what =
    `There are pins of ${named.join(', ')}${more}, and the configuration has no such upstream. They count again when it has; ` +
    `to have them forgotten${where}: quartermaster remove ${which}`
  return [{ level: 'ok', what }]
}

/** Logins of removed agents. They are unused, and a new agent of the same name would get the login of another. */
export async function loginFindings({
  upstreamAuth,
  core,
  project,
}: {
  upstreamAuth(): Promise<UpstreamAuth>
  readonly core: { readonly agents: Pick<Agents, 'has'> }
  readonly project: Pick<Project, 'upstreams'>
}): Promise<Finding[]> {
  const names = [...project.upstreams()].flatMap(([name, config]) => ('url' in config ? [name] : []))
  if (names.length === 0) return []
  const auth = await upstreamAuth()
  const look = async (name: string) => ({ name, agents: await auth.agentsAt(name) })
  // The finding about the store reports what is wrong with it.
  const found = await Promise.all(names.map(look)).catch(() => [])
  return found.flatMap(({ name, agents }) =>
    agents.filter(agent => !core.agents.has(agent)).map(agent => orphan(name, agent)),
  )
}

function orphan(name: string, agent: string): Finding {
  return {
    level: 'warning',
    what: `There is a login of "${agent}" at "${name}" and no agent "${agent}", so it is unused.`,
    fix: `Forget it: quartermaster logout ${name} --agent ${agent}`,
  }
}

interface PeerFindingsDeps {
  peers(): Promise<Pick<ExternalPeers, 'status'>>
  /** Whether the store answers; absent where it is not open. */
  storeAnswers?(): Promise<boolean>
}

/** A2A agents elsewhere. Only an `up` connects to them, and a store that does not answer has a finding of its own. */
export async function peerFindings({ peers: open, storeAnswers }: PeerFindingsDeps): Promise<Finding[]> {
  if (!(await storeAnswers?.())) return []
  const { reached, troubles } = await (await open()).status()
  const names = reached.map(({ workspace }) => workspace)
  const fine: Finding[] = names.length === 0 ? [] : [{ level: 'ok', what: `External peers: ${names.join(', ')}.` }]
  return [...fine, ...troubles.map(troubleFinding)]
}

function troubleFinding({ organisation, name, why, reachedAt, tasks }: PeerTrouble): Finding {
  const where = organisation === DEFAULT_ORGANISATION ? '' : ` --organisation ${organisation}`
  const since = reachedAt === null ? '' : ` since ${new Date(reachedAt).toISOString()}`
  const waiting = tasks === 0 ? '' : ` ${tasks === 1 ? 'One task waits' : `${tasks} tasks wait`} for it.`
  return {
    level: 'warning',
    what: `External peer "${name}" has not been reached${since}: ${why}${waiting}`,
    fix: `Correct what is said here; it is tried again automatically, and at once with: quartermaster peers refresh ${name}${where}`,
  }
}
