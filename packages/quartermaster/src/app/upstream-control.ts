import type { Upstreams } from '../adapters/mcp-upstream/index.ts'
import {
  type AddedUpstream,
  AppError,
  type Control,
  type ControlInput,
  type RemovedUpstream,
  type UpstreamStatus,
} from '../contracts/index.ts'
import type { Agents } from '../core/agents/index.ts'
import type { Generation } from '../core/catalogue/index.ts'
import { type Clock, didYouMean } from '../core/kernel/index.ts'
import { withOfferedCounts } from './offered-count.ts'
import type { Project } from './project.ts'
import { exposureProblems } from './upstream-findings.ts'
import { grantUpstream, revokeUpstream, type UpstreamGrantDeps } from './upstream-grants.ts'
import { withOutlines } from './upstream-outline.ts'

/** The part of the control that is about the MCP servers of others. */
export type UpstreamControl = Pick<
  Control,
  'upstreams' | 'upstreamLogs' | 'restartUpstream' | 'reviewItems' | 'decideReview' | 'addUpstream' | 'removeUpstream'
>

export interface UpstreamControlDeps extends UpstreamGrantDeps {
  readonly project: Pick<
    Project,
    | 'upstreams'
    | 'upstreamsLeftOut'
    | 'upstreamSecrets'
    | 'configEditor'
    | 'agentFiles'
    | 'problems'
    | 'secrets'
    | 'projectDir'
    | 'dataDir'
  >
  /** Absent where none are mounted; then the configuration answers. */
  readonly upstreams: Pick<Upstreams, 'statuses' | 'logs' | 'restart' | 'review' | 'decide' | 'forget'> | undefined
  readonly agents: Pick<Agents, 'entry' | 'has' | 'reload'>
  readonly clock: Clock
  /** All definitions as they are now. */
  generation(): Pick<Generation, 'capabilities'>
  /** Takes the configuration in as it is now. */
  reload(): Promise<unknown>
  /** Makes the data folder, for its owner only. */
  ensureDataFolder(): Promise<void>
}

/** A server that is there says within this time what it has. Whoever adds one waits no longer: `upstreams` tells the rest. */
const FIRST_LOOK_MS = 8_000
const LOOK_EVERY_MS = 50
const USUAL_LINES = 100

export function createUpstreamControl(deps: UpstreamControlDeps): UpstreamControl {
  const { project, upstreams, clock } = deps
  const running = () => withOfferedCounts(upstreams?.statuses() ?? [], deps.generation())
  const statuses = (): UpstreamStatus[] => withOutlines(running(), project, clock.now())
  const find = (name: string) => statuses().find(status => status.name === name)

  function known(name: string): UpstreamStatus {
    const found = find(name)
    if (found) return found
    const names = statuses().map(status => status.name)
    const hint = didYouMean(name, names) || ` There are: ${names.join(', ') || 'none'}.`
    throw new AppError('NAME_UNKNOWN', `No upstream is named "${name}".${hint}`)
  }

  async function settled(name: string): Promise<UpstreamStatus | undefined> {
    for (const until = clock.now() + FIRST_LOOK_MS; ; ) {
      const status = find(name)
      if (status?.state !== 'starting' || clock.now() >= until) return status
      await new Promise<void>(resolve => clock.after(LOOK_EVERY_MS, resolve))
    }
  }

  return {
    upstreams: async () => statuses(),
    async upstreamLogs({ name, limit = USUAL_LINES }) {
      known(name)
      return upstreams?.logs(name, { limit }) ?? []
    },
    async restartUpstream({ name }) {
      known(name)
      await mounted(upstreams).restart(name)
      return (await settled(name)) ?? known(name)
    },
    async reviewItems({ name }) {
      if (name !== undefined) known(name)
      return (await upstreams?.review(name)) ?? []
    },
    async decideReview(choice) {
      known(choice.upstream)
      return mounted(upstreams).decide(choice)
    },
    async addUpstream(request) {
      refuseTaken(request.name, deps)
      const agents = wantedAgents(request, deps)
      const written = await write(request, deps)
      await deps.reload()
      const granted = await grantUpstream(request.name, agents, deps)
      const wrong = project.problems().filter(problem => problem.subject === `upstream:${request.name}`)
      const status = request.wait === false ? find(request.name) : await settled(request.name)
      const problems = [...wrong, ...granted.problems, ...(await exposureProblems(request.name, project))]
      return { name: request.name, ...written, ...(status && { status }), granted: granted.agents, problems }
    },
    async removeUpstream({ name, keepSecrets = false }) {
      const isOurs = deps.originOf(name) !== 'other'
      const { file, secrets } = await project.configEditor.removeUpstream(name)
      // Before the reload: an agent whose file names what is gone has no tools at all.
      const revoked = isOurs ? await revokeUpstream(name, deps) : { revokedFrom: [], stillNamedBy: [] }
      await deps.reload()
      // Whatever is added under this name later is met for the first time.
      if (isOurs) await upstreams?.forget(name)
      return { file, ...revoked, ...(await leftSecrets(secrets, keepSecrets, deps)) }
    },
  }
}

/** Last, when nothing that runs needs them any more. */
async function leftSecrets(
  names: readonly string[],
  keepSecrets: boolean,
  { project: { configEditor, secrets } }: UpstreamControlDeps,
): Promise<Pick<RemovedUpstream, 'removedSecrets' | 'keptSecrets'>> {
  const there = names.filter(name => secrets.get(name) !== undefined)
  const uses = keepSecrets ? new Map<string, string[]>() : await configEditor.secretUses(there)
  const kept = there.filter(name => keepSecrets || uses.get(name)?.length !== 0)
  const removedSecrets = await configEditor.removeSecrets(there.filter(name => !kept.includes(name)))
  return { removedSecrets, keptSecrets: kept.map(name => ({ name, usedBy: [...(uses.get(name) ?? [])] })) }
}

function mounted<T>(upstreams: T | undefined): T {
  if (upstreams !== undefined) return upstreams
  throw new AppError('DEPENDENCY_UNAVAILABLE', 'No upstream runs here. Start them: quartermaster up')
}

function refuseTaken(name: string, { originOf }: UpstreamControlDeps): void {
  if (originOf(name) !== 'other') return
  throw new AppError(
    'NAME_TAKEN',
    `There is a capability "${name}" already, and it is no upstream. Choose another name.`,
  )
}

/** Checked before anything is written, where they were named. */
function wantedAgents({ grant }: ControlInput<'addUpstream'>, { agents }: UpstreamControlDeps): readonly string[] {
  if (grant === false) return []
  if (grant === undefined) return agents.has('default') ? ['default'] : []
  for (const name of grant) agents.entry(name)
  return [...new Set(grant)]
}

/** Secrets first, so that no entry refers to one that is not there; taken back when the entry is refused. */
async function write(
  { name, entry, secrets = {}, replace = false }: ControlInput<'addUpstream'>,
  { project: { configEditor }, ensureDataFolder }: UpstreamControlDeps,
): Promise<Pick<AddedUpstream, 'file' | 'outcome' | 'secrets'>> {
  if (Object.keys(secrets).length > 0) await ensureDataFolder()
  const { names, added } = await configEditor.addSecrets(secrets)
  try {
    const { file, outcome } = await configEditor.setUpstream(name, renamed(entry, names), { replace })
    return { file, outcome, secrets: Object.values(names) }
  } catch (error) {
    await configEditor.removeSecrets(added)
    throw error
  }
}

/** The entry with its references to secrets under the names these have now. */
function renamed<T>(value: T, names: Readonly<Record<string, string>>): T {
  const text = JSON.stringify(value).replace(/\$\{secret:([\w.-]+)\}/g, (whole, name: string) => {
    const now = Object.hasOwn(names, name) ? names[name] : undefined
    return now === undefined ? whole : `\${secret:${now}}`
  })
  return JSON.parse(text) as T
}
