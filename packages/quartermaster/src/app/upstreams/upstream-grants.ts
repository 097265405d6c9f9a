import { writeFirstAgent } from '../../adapters/project-files/index.ts'
import {
  type AddedUpstream,
  type CapabilityConfig,
  messageOf,
  type Problem,
  type RemovedUpstream,
} from '../../contracts/index.ts'
import type { AgentEntry, Agents } from '../../core/agents/index.ts'
import type { Project } from '../project/project.ts'

export interface UpstreamGrantDeps {
  readonly project: Pick<Project, 'agentFiles' | 'projectDir'>
  readonly agents: Pick<Agents, 'reload'>
  /** The origin of the capability of this name, if there is one. */
  originOf(capability: string): 'upstream' | 'other' | undefined
}

/** The agents that get an upstream. */
export interface Recipients {
  readonly names: readonly string[]
  /** The project has no agent, so the first one is created. */
  readonly areFirst?: boolean
}

interface GrantedUpstream extends Pick<AddedUpstream, 'granted' | 'alsoHave' | 'madeAgent'> {
  readonly problems: Problem[]
}

/** Grants an upstream in the agents' files. A file that cannot be changed does not stop the others. */
export async function grantUpstream(
  name: string,
  { names, areFirst = false }: Recipients,
  { project, agents, originOf }: UpstreamGrantDeps,
): Promise<GrantedUpstream> {
  // An agent's file must not name a capability that does not exist.
  if (originOf(name) !== 'upstream') return { granted: [], problems: [] }
  const granted: string[] = []
  const problems: Problem[] = []
  for (const agent of names) {
    try {
      if (areFirst) await writeFirstAgent({ dir: project.projectDir })
      await project.agentFiles.edit(agent, config => {
        const has = Object.hasOwn(config.capabilities, name)
        return has ? config : { ...config, capabilities: { ...config.capabilities, [name]: {} } }
      })
      granted.push(agent)
    } catch (error) {
      problems.push(notGranted(name, agent, error))
    }
  }
  if (granted.length > 0) await agents.reload()
  const alsoHave = (await holdersOf(name, project.agentFiles)).filter(agent => !names.includes(agent))
  return {
    granted,
    ...(alsoHave.length > 0 && { alsoHave }),
    ...(areFirst && granted[0] !== undefined && { madeAgent: granted[0] }),
    problems,
  }
}

/** The outcome of granting an upstream that was not added. Agents that have it already are left out. */
export async function previewGrant(
  name: string,
  { names, areFirst = false }: Recipients,
  agentFiles: Project['agentFiles'],
): Promise<GrantedUpstream> {
  const files = await agentFiles.load()
  const broken = files.filter(file => names.includes(file.name) && !file.config)
  const alsoHave = await holdersOf(name, agentFiles)
  const granted = names.filter(agent => !broken.some(file => file.name === agent) && !alsoHave.includes(agent))
  return {
    granted,
    ...(alsoHave.length > 0 && { alsoHave }),
    ...(areFirst && granted[0] !== undefined && { madeAgent: granted[0] }),
    problems: broken.map(file => notGranted(name, file.name, file.problems[0]?.message ?? 'its file is wrong.')),
  }
}

async function holdersOf(name: string, agentFiles: Project['agentFiles']): Promise<string[]> {
  const files = await agentFiles.load()
  return files.flatMap(file => (file.config && Object.hasOwn(file.config.capabilities, name) ? [file.name] : []))
}

function notGranted(name: string, agent: string, error: unknown): Problem {
  return {
    severity: 'warning',
    code: 'AGENT_INVALID',
    where: `agents/${agent}.json`,
    subject: `agent:${agent}`,
    message: `"${agent}" cannot be given "${name}": ${messageOf(error)}`,
    fix: `Correct its file, then: quartermaster grant ${agent} ${name}`,
  }
}

type RevokedUpstream = Pick<RemovedUpstream, 'revokedFrom' | 'taken' | 'stillNamedBy' | 'problems'>

/** Removes a removed upstream from agents' files. A file that cannot be changed does not stop the others. */
export async function revokeUpstream(
  name: string,
  agents: readonly AgentEntry[],
  { project: { agentFiles } }: UpstreamGrantDeps,
): Promise<RevokedUpstream> {
  const taken: [agent: string, had: CapabilityConfig][] = []
  const failed: { readonly agent: string; readonly problem: Problem }[] = []
  for (const { name: agent, config, wrong = {} } of agents) {
    if (config && !Object.hasOwn({ ...config.capabilities, ...wrong }, name)) continue
    try {
      const had = await takeOut(name, agent, agentFiles)
      if (had) taken.push([agent, had])
    } catch (error) {
      // `doctor` reports a wrong file that does not name the upstream.
      const isConcerned = config !== undefined || (await agentFiles.mayName(agent, name))
      if (isConcerned) failed.push({ agent, problem: notRevoked(name, agent, error) })
    }
  }
  return {
    revokedFrom: taken.map(([agent]) => agent),
    taken: Object.fromEntries(taken),
    stillNamedBy: failed.map(({ agent }) => agent),
    problems: failed.map(({ problem }) => problem),
  }
}

/** Answers the removed configuration, with references unresolved: their values are never shown. */
async function takeOut(
  name: string,
  agent: string,
  agentFiles: Project['agentFiles'],
): Promise<CapabilityConfig | undefined> {
  let had: CapabilityConfig | undefined
  await agentFiles.edit(agent, config => {
    if (!Object.hasOwn(config.capabilities, name)) return config
    const { [name]: taken, ...capabilities } = config.capabilities
    had = taken
    return { ...config, capabilities }
  })
  return had
}

function notRevoked(name: string, agent: string, error: unknown): Problem {
  const where = `agents/${agent}.json`
  return {
    severity: 'warning',
    code: 'AGENT_INVALID',
    where,
    subject: `agent:${agent}`,
    message: `"${name}" could not be taken from "${agent}", whose file still names it: ${messageOf(error)}`,
    fix: `Correct what is said here, and take "${name}" out of "capabilities" in ${where}.`,
  }
}
