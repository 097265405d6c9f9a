import { exposesDataFolder, type Upstreams } from '../adapters/mcp-upstream/index.ts'
import type { Finding, UpstreamStatus } from '../contracts/index.ts'
import type { Project } from './project.ts'

export interface UpstreamFindingsDeps {
  readonly upstreams: Pick<Upstreams, 'statuses'>
  readonly project: Pick<Project, 'upstreams' | 'upstreamsLeftOut' | 'projectDir' | 'dataDir'>
}

/** What is to be said of the MCP servers of others. Entries that are wrong are told with the configuration. */
export async function upstreamFindings({ upstreams, project }: UpstreamFindingsDeps): Promise<Finding[]> {
  const leftOut = project.upstreamsLeftOut()
  const statuses = upstreams.statuses().filter(({ name }) => !leftOut.has(name))
  const exposures = await Promise.all(statuses.map(({ name }) => exposureFinding(name, project)))
  return statuses.flatMap((status, i) => [stateFinding(status), ...heldFinding(status), ...(exposures[i] ?? [])])
}

function stateFinding({ name, state, reason, tools }: UpstreamStatus): Finding {
  const upstream = `Upstream "${name}"`
  switch (state) {
    case 'up':
      return {
        level: 'ok',
        what: `${upstream} is up; it offers ${tools.offered === 1 ? '1 tool' : `${tools.offered} tools`}.`,
      }
    case 'idle':
      return { level: 'ok', what: `${upstream} starts when it is needed.` }
    case 'off':
      return { level: 'ok', what: `${upstream} is switched off.` }
    case 'starting':
    case 'recovering':
      return {
        level: 'warning',
        what: `${upstream} is ${state}: ${reason}`,
        mend: `See what it says: quartermaster logs ${name}`,
      }
    case 'needsLogin':
      return {
        level: 'warning',
        what: `${upstream} wants someone to sign in: ${reason}`,
        mend: `Sign in: quartermaster login ${name}`,
      }
    case 'down':
      return {
        level: 'error',
        what: `${upstream} is down: ${reason}`,
        mend: `See what it said: quartermaster logs ${name}`,
      }
  }
}

function heldFinding({ name, tools: { held } }: UpstreamStatus): Finding[] {
  if (held === 0) return []
  const what = `Upstream "${name}": ${held === 1 ? '1 tool waits' : `${held} tools wait`} for someone to look at ${held === 1 ? 'it' : 'them'}.`
  return [{ level: 'warning', what, mend: `Look: quartermaster upstreams review ${name}` }]
}

async function exposureFinding(
  name: string,
  { upstreams, projectDir, dataDir }: UpstreamFindingsDeps['project'],
): Promise<Finding[]> {
  const config = upstreams().get(name)
  if (!config || 'url' in config || !config.enabled) return []
  const { args, cwd } = config
  const exposing = await exposesDataFolder({ args, cwd, projectDir, dataDir })
  if (exposing.length === 0) return []
  const what = `Upstream "${name}" is given a path that holds the data folder: whoever may use it may see your secrets and tokens.`
  return [
    {
      level: 'warning',
      what,
      where: `mcpServers.${name}.args`,
      mend: 'Give it a folder that holds only what it is to work on, or move the data folder with --data.',
    },
  ]
}
