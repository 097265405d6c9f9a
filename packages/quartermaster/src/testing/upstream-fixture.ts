import { onTestFinished } from 'vitest'
import { openDataFolder } from '../adapters/data-folder/index.ts'
import type { LeftBehind, Upstreams } from '../adapters/mcp-upstream/index.ts'
import { silentLog } from '../adapters/system/index.ts'
import { openProject } from '../app/project/project.ts'
import { createUpstreamControl } from '../app/upstreams/upstream-control.ts'
import { AppError, type Problem, type ReviewItem, type UpstreamStatus } from '../contracts/index.ts'
import type { CatalogueCapability, Tool } from '../core/catalogue/index.ts'
import { createFakeClock } from './fake-clock.ts'
import { tempProject } from './temp-project.ts'

/** The configuration of the project. */
export const CONFIG = 'quartermaster.config.json'

/** What is told of an upstream in this state. */
export const status = (name: string, state: UpstreamStatus['state']): UpstreamStatus => ({
  name,
  transport: 'stdio',
  target: 'server',
  state,
  reason: '',
  since: 0,
  tools: { offered: 2, held: 0 },
  prompts: 0,
  resources: 0,
  connections: 1,
  pids: [],
  restarts: 0,
})

/** The only definition that waits. */
export const ITEM: ReviewItem = {
  upstream: 'notes',
  kind: 'tool',
  name: 'read',
  calledAs: 'read',
  state: 'changed',
  hash: 'h',
  findings: [],
  changes: [],
  seenAt: 0,
}

export interface UpstreamFixtureOptions {
  files?: Record<string, unknown>
  /** Whether there is a `default`. */
  hasAgents?: boolean
  env?: Record<string, string>
  /** What each upstream's state is, look by look; the last one stays. */
  states?: Record<string, UpstreamStatus['state'][]>
  /** Capabilities that are no upstreams. */
  others?: string[]
  /** Tools, and the units that have their names. */
  tools?: Record<string, string>
  /** What waits, and what is wrong with definitions. */
  item?: ReviewItem
  problems?: Problem[]
  /** Upstreams that are held back a tool once it is looked at again what they say of others. */
  outspoken?: string[]
  /** What the store has of upstreams that are not there. */
  leftBehind?: LeftBehind[]
  /** Why what is known of upstreams cannot be read. */
  unreadable?: Error
  isMounted?: boolean
  /** Who keeps them; an `up` when absent. */
  from?: 'up' | 'process'
  /** Upstreams that have not been listed yet. */
  unseen?: string[]
  /** Whether taking in what upstreams bring never ends. */
  isReloadStuck?: boolean
  ownUrl?: string
}

/** The control over a real project folder, with upstreams that are only told about. */
export async function upstreamFixture({
  files = {},
  hasAgents = true,
  env = {},
  states = {},
  others = [],
  tools = {},
  item = ITEM,
  problems = [],
  outspoken = [],
  leftBehind = [],
  unreadable,
  isMounted = true,
  from = 'up',
  unseen = [],
  isReloadStuck = false,
  ownUrl,
}: UpstreamFixtureOptions = {}) {
  const agents = hasAgents ? { 'agents/default.json': '{ "capabilities": {} }' } : {}
  const folder = await tempProject({ [CONFIG]: '{}', ...agents, ...files })
  const project = await openProject({ from: folder.dir, env, watch: false, log: silentLog })
  onTestFinished(() => project.close())
  const clock = createFakeClock()
  const done: unknown[] = []
  const names = new Set<string>()
  const readAgents = async () => {
    for (const { name } of await project.agentFiles.load()) names.add(name)
  }
  await readAgents()
  const coming = structuredClone(states)
  let isLookedAt = false
  const look = (name: string) => {
    const left = coming[name] ?? ['up']
    const state = left.length > 1 ? left.shift() : left[0]
    const tools = isLookedAt && outspoken.includes(name) ? { tools: { offered: 1, held: 1 } } : {}
    const step = unseen.includes(name) ? { unseen: 'Try it now.' } : {}
    return { ...status(name, state ?? 'up'), ...tools, ...step }
  }
  type Unused = 'source' | 'configure' | 'mount' | 'clearTheWay' | 'dismiss' | 'recall' | 'start' | 'stop'
  const upstreams: Omit<Upstreams, Unused> = {
    statuses: () => (isMounted ? [...project.upstreams().keys()].map(look) : []),
    logs: (name, { limit }) => [{ at: 1, from: 'stderr', text: `${name} ${limit}` }],
    restart: async name => void done.push(['restart', name]),
    loginChanged: async owner => void done.push(['signedAnew', owner]),
    review: async name => (name === undefined || name === 'notes' ? [item] : []),
    decide: async choice => (done.push(choice), [item]),
    lookAgain: async () => void (isLookedAt = true),
    leftBehind: async () => leftBehind,
    forget: async name => void done.push({ forgotten: name }),
    async readAgain() {
      if (unreadable) throw unreadable
      return false
    },
    met: async () => {},
    isComing: () => false,
    onState: () => () => {},
    meet: () => {},
    meetNow: async () => false,
    connectAll: async () => false,
  }
  const offered = new Map(
    Object.entries(tools).map(([name, unit]) => [name, { name, unit, source: 'upstreams' } as unknown as Tool]),
  )
  /** What agents have: nothing of a server before that was taken in. */
  let isTakenIn = false
  let held: readonly string[] = []
  const capabilityOf = (name: string) => ({
    unit: `upstream:${name}`,
    tools: isTakenIn ? (held.includes(name) ? [{}] : [{}, {}]) : [],
    prompts: [],
    resources: [],
    hidden: [],
    unseen: isTakenIn ? undefined : 'It has not been reached yet.',
  })
  const capabilities = () =>
    new Map([...project.upstreams().keys()].map(name => [name, capabilityOf(name) as unknown as CatalogueCapability]))
  const control = createUpstreamControl({
    project,
    upstreams,
    from,
    agents: {
      has: name => names.has(name),
      reload: readAgents,
      entry(name) {
        if (!names.has(name)) throw new AppError('AGENT_NOT_FOUND', name)
        return { name, file: '', hash: '', problems: [] }
      },
    },
    clock,
    originOf: name => (others.includes(name) ? 'other' : project.upstreams().has(name) ? 'upstream' : undefined),
    generation: () => ({ capabilities: capabilities(), prompts: new Map(), owners: new Map(), tools: offered }),
    definitionProblems: () => problems,
    dependencies: () => [],
    reload: () => project.reload(),
    openStore: async () => {},
    async reloadDefinitions() {
      if (isReloadStuck) await new Promise(() => {})
      done.push('shown')
      isTakenIn = true
      held = isLookedAt ? outspoken : []
    },
    ownUrl: async () => ownUrl,
    ownHosts: () => project.allowedHosts(),
    ensureDataFolder: () => openDataFolder(project.dataDir).ensure(),
  })
  const json = async (file: string) => JSON.parse(await folder.read(file))
  return { control, project, clock, done, json, folder }
}
