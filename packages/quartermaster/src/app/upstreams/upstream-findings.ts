import type { Upstreams } from '../../adapters/mcp-upstream/index.ts'
import type { Finding, StatusReport, UpstreamStatus } from '../../contracts/index.ts'
import type { Catalogue } from '../../core/catalogue/index.ts'
import { loginStepIn, neededLogin, upstreamUnit, withoutLoginStep } from '../../core/kernel/index.ts'
import { isAnnotated } from '../../core/upstreams/index.ts'
import type { Project } from '../project/project.ts'
import { withOffered, withoutRetries } from './upstream-status.ts'

interface UpstreamFindingsDeps {
  readonly upstreams: Pick<Upstreams, 'statuses'>
  readonly core: { readonly catalogue: Pick<Catalogue, 'current' | 'problems'> }
  readonly project: Pick<Project, 'upstreams' | 'upstreamsLeftOut'>
  readonly from: StatusReport['from']
}

/** The findings about upstreams. Wrong entries and held definitions have findings of their own. */
export async function upstreamFindings(deps: UpstreamFindingsDeps): Promise<Finding[]> {
  const { upstreams, core, project, from } = deps
  const leftOut = project.upstreamsLeftOut()
  const running = withoutRetries(upstreams.statuses(), from).filter(({ name }) => !leftOut.has(name))
  const statuses = withOffered(running, core.catalogue.current(), core.catalogue.problems())
  return statuses.flatMap(status => [
    stateFinding(status, from),
    ...failingFindings(status),
    ...differenceFindings(status),
    ...unannotatedFindings(status.name, deps),
  ])
}

/** Nothing to fix: its package is, or has yet to be, downloaded. */
function fetchingFinding(status: UpstreamStatus, from: StatusReport['from']): Finding {
  const { name, state, reason } = status
  const fix = state === 'starting' ? waitingStep(status, from) : 'Have it started: quartermaster up'
  return { level: 'warning', what: `Upstream "${name}" is ${state}: ${reason}`, fix }
}

/** Nothing is known to be wrong. Without an `up` the server ends with the command. */
function waitingStep({ name, unseen }: UpstreamStatus, from: StatusReport['from']): string {
  if (unseen !== undefined) return unseen
  return from === 'up'
    ? 'See how it is: quartermaster upstreams'
    : `Wait for it: quartermaster upstreams restart ${name}, or: quartermaster up`
}

/** Only an `up` tries a server again and keeps its log. A server that has written nothing has no log. */
function fixOf({ name, hasSpoken }: UpstreamStatus, from: StatusReport['from']): string {
  if (from !== 'up') return `Correct what is said here, then try it: quartermaster upstreams restart ${name}`
  return hasSpoken ? `See what it said: quartermaster logs ${name}` : 'Correct what is said here; it is tried again.'
}

function stateFinding(status: UpstreamStatus, from: StatusReport['from']): Finding {
  const { name, state, reason, tools } = status
  if (status.isFetching) return fetchingFinding(status, from)
  const fix = fixOf(status, from)
  const upstream = `Upstream "${name}"`
  switch (state) {
    case 'up':
      return (
        refusalFinding(status) ?? {
          level: 'ok',
          what: `${upstream} is up; it offers ${tools.offered === 1 ? '1 tool' : `${tools.offered} tools`}.`,
        }
      )
    case 'idle':
      return { level: 'ok', what: `${upstream} starts when it is needed.` }
    case 'off':
      return { level: 'ok', what: `${upstream} is switched off.` }
    case 'elsewhere':
      return { level: 'ok', what: `${upstream} runs elsewhere: ${reason}` }
    case 'starting':
    case 'recovering':
      return {
        level: 'warning',
        what: `${upstream} is ${state}: ${reason}`,
        fix: state === 'starting' ? waitingStep(status, from) : fix,
      }
    case 'needsLogin':
      return {
        level: 'warning',
        what: `${upstream} needs a login: ${withoutLoginStep(reason, name)}`,
        fix: neededLogin(status),
      }
    case 'keyRefused':
      return { level: 'error', what: `${upstream} does not let us in: ${reason}` }
    case 'down':
      return {
        level: 'error',
        what: `${upstream} is down: ${reason}`,
        fix,
      }
  }
}

/** A server that answers may refuse its own tools, which only callers notice, until a call succeeds. */
function refusalFinding({ name, lastError }: UpstreamStatus): Finding | undefined {
  if (!lastError?.isStanding) return undefined
  const { message } = lastError
  const what = `Upstream "${name}" is up, but not for everything: ${withoutLoginStep(message, name)}`
  const fix = loginStepIn(message, name) ?? `Correct what is said here, then: quartermaster upstreams restart ${name}`
  return { level: 'warning', what, fix }
}

/** The state is that of the shared connection; a connection with an agent's own credentials may fail all the same. */
function failingFindings({ name, reason: ofAll, failing = [], hasSpoken }: UpstreamStatus): Finding[] {
  return failing
    .filter(({ reason }) => reason !== ofAll)
    .map(({ agent, reason }) => {
      const tried = `Correct what is said here; the next call of "${agent}" tries it again.`
      const fix = hasSpoken ? `See what it said: quartermaster logs ${name}` : tried
      return {
        level: 'warning',
        what: `Upstream "${name}" could not be reached for "${agent}": ${withoutLoginStep(reason, name)}`,
        fix: loginStepIn(reason, name) ?? fix,
      }
    })
}

/** Agents with a server of their own whose definitions differ from the reviewed ones. */
function differenceFindings({ name, differing = [] }: UpstreamStatus): Finding[] {
  return differing.map(({ agent, definitions }) => ({
    level: 'warning',
    what:
      `The server that "${agent}" has to itself at "${name}" describes ${definitions.join(', ')} otherwise than it was ` +
      `accepted, so "${agent}" cannot use that.`,
    fix: `If it is to be another server, give it an entry of its own in "mcpServers", and "${agent}" that capability.`,
  }))
}

/** Without annotations, and without a choice in the entry, only settings of single tools make a call ask a person. */
function unannotatedFindings(
  name: string,
  { core, project }: Pick<UpstreamFindingsDeps, 'core' | 'project'>,
): Finding[] {
  const found = core.catalogue.current().capabilities.get(name)
  const tools = found?.unit === upstreamUnit(name) ? found.tools : []
  const isSaid = project.upstreams().get(name)?.consent !== undefined
  if (isSaid || tools.length === 0 || tools.some(({ mcp }) => isAnnotated(mcp?.annotations))) return []
  return [
    {
      level: 'warning',
      what: `Upstream "${name}" says of none of its tools whether they change or destroy something, so none of them asks a person first because of that.`,
      fix: `Choose which do: quartermaster upstreams consent ${name} destructive (or changing, all, none)`,
    },
  ]
}
