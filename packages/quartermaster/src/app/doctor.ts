import { secretsProblems } from '../adapters/project-files/index.ts'
import type { AgentSummary, DependencyStatus, Finding, Problem, StatusReport } from '../contracts/index.ts'
import { checkExamples } from '../core/catalogue/index.ts'
import { neededDependencies } from '../core/health/index.ts'
import { fewOfEach } from '../core/knowledge/index.ts'
import { consentFindings } from './consent-findings.ts'
import { docsProblems } from './docs-control.ts'
import { entryFindings } from './entry-findings.ts'
import { leftBehindFindings } from './left-behind-findings.ts'
import { loginFindings } from './login-findings.ts'
import { type PeerFindingsDeps, peerFindings } from './peer-findings.ts'
import type { Runtime } from './runtime.ts'
import { upstreamFindings } from './upstream-findings.ts'

export interface DiagnoseOptions extends PeerFindingsDeps {
  /** Who looks. */
  readonly from: StatusReport['from']
}

/** Looks at everything that can be wrong, and says how to fix each. */
export async function diagnose(runtime: Runtime, outside: DiagnoseOptions): Promise<Finding[]> {
  const { core, project } = runtime
  const known = [
    ...runtime.problems(),
    ...(await checkExamples(core.catalogue.current())),
    ...fewOfEach(await docsProblems(runtime)),
  ]
  // Nothing watches this file, so it may be unfit for the next start without anybody having noticed.
  const problems = [...known, ...(await secretsProblems(project.dataDir)).filter(problem => !isAmong(known, problem))]
  const dependencies = core.health.dependencies().filter(({ name }) => !isOfUpstream(runtime, name))
  const needed = neededDependencies(core.catalogue.current())
  const agents = core.agents.list()
  // Loaded here, because nothing else that needs no store needs its parts.
  const { lookAtStore } = await import('./store-finding.ts')
  const store = await lookAtStore(project.dataDir, project.storeChoice)
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

/** Upstreams are told about by themselves, with more to say. */
function isOfUpstream({ core, upstreams }: Runtime, dependency: string): boolean {
  return core.catalogue.current().dependencies.get(dependency)?.source === upstreams.source.id
}

const NO_AGENTS: Finding = {
  level: 'warning',
  what: 'No agent is configured, so nobody can call anything.',
  fix: 'Run `quartermaster init`, or `quartermaster grant NAME CAPABILITY --create`.',
}

/** What is wrong with the others is told with their files. */
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
  // What nothing requires is used where it is there and done without where it is not: somebody may well want it so.
  const level = state === 'recovering' || !isNeeded ? 'warning' : 'error'
  const what = `Dependency "${name}" is ${state}${isNeeded ? '' : ', which disables nothing'}: ${reason}`
  return {
    level,
    what,
    fix: fix ?? `Correct what the reason says, then run \`quartermaster recheck dependency:${name}\`.`,
  }
}
