import type { UpstreamAuth } from '../adapters/mcp-upstream/index.ts'
import type { Finding } from '../contracts/index.ts'
import type { Agents } from '../core/agents/index.ts'
import type { Project } from './project.ts'

export interface LoginFindingsDeps {
  upstreamAuth(): Promise<Pick<UpstreamAuth, 'agentsAt'>>
  readonly core: { readonly agents: Pick<Agents, 'has'> }
  readonly project: Pick<Project, 'upstreams'>
}

/** Logins of agents that are gone. Nobody uses them, and whoever is given such a name has what was somebody else's. */
export async function loginFindings({ upstreamAuth, core, project }: LoginFindingsDeps): Promise<Finding[]> {
  const names = [...project.upstreams()].flatMap(([name, config]) => ('url' in config ? [name] : []))
  if (names.length === 0) return []
  const auth = await upstreamAuth()
  const look = async (name: string) => ({ name, agents: await auth.agentsAt(name) })
  // What is wrong with the store is told by whoever looks at that.
  const found = await Promise.all(names.map(look)).catch(() => [])
  return found.flatMap(({ name, agents }) =>
    agents.filter(agent => !core.agents.has(agent)).map(agent => orphan(name, agent)),
  )
}

function orphan(name: string, agent: string): Finding {
  return {
    level: 'warning',
    what: `There is a login of "${agent}" at "${name}" and no agent "${agent}", so nobody uses it.`,
    fix: `Forget it: quartermaster logout ${name} --agent ${agent}`,
  }
}
