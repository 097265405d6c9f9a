import type { A2aFront } from '../../adapters/a2a/index.ts'
import type { ApiAccess, Mount } from '../../adapters/http/index.ts'
import type { HttpFront } from '../../adapters/mcp-server/index.ts'
import { createMetrics, type Metrics } from '../../adapters/metrics/index.ts'
import { promptFor } from '../../adapters/prompt/index.ts'
import { createIds, createSystemClock } from '../../adapters/system/index.ts'
import {
  AppError,
  type LentFiles,
  NAMES_ATTACHMENTS,
  type OperationState,
  type PROMPT_ROUTES,
  type Settings,
  type Skill,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type AgentSession, type Agents, agentViewOf } from '../../core/agents/index.ts'
import { attachmentHandlers, mostBytes } from '../../core/attachments/index.ts'
import { delegationHandlers } from '../../core/delegation/index.ts'
import { type ExternalPeers, externalPeerHandlers } from '../../core/external-peers/index.ts'
import { type Log, memoize } from '../../core/kernel/index.ts'
import { memoryHandlers } from '../../core/memory/index.ts'
import { chatHandlers, messageHandlers, readerOf } from '../../core/messages/index.ts'
import {
  type ApiCaller,
  createApiService,
  type Handlers,
  type Organisation,
  organisationHandlers,
  unknownWorkspace,
} from '../../core/organisation/index.ts'
import { VERSION } from '../package-info.ts'
import type { OpenedStore } from '../project/open-store.ts'
import type { Runtime } from './runtime.ts'

/** Access can end while a client is connected. */
type FolderApi = ApiAccess & Required<Pick<ApiAccess, 'onAccessChange'>>

type Workspace = Pick<WorkspaceRow, 'organisation' | 'workspace'>

/** The API over the store and the agents of this folder. */
export function apiFor({
  runtime,
  store: opened,
  peers,
  settings,
  onRequest,
}: {
  readonly runtime: Runtime
  readonly store: OpenedStore
  readonly peers: ExternalPeers
  readonly settings: Settings
  /** A client with a token made a request. */
  onRequest(): void
}): FolderApi {
  const { store, clock, memory, messages, organisation } = opened
  const { agents } = runtime.core
  const handlers: Handlers = {
    ...organisationHandlers({
      organisation,
      store,
      clock,
      skillsOf: place => skillsOf(runtime, place),
      version: VERSION,
    }),
    ...externalPeerHandlers(peers),
    ...attachmentHandlers(opened.attachments),
    ...memoryHandlers({ memory, organisation }),
    ...messageHandlers({ messages, organisation }),
    ...chatHandlers({ messages, organisation }),
    ...delegationHandlers({ delegations: opened.delegations, organisation }),
    ...promptHandlers(agents, organisation),
  }
  return {
    service: createApiService(handlers),
    identify(token) {
      onRequest()
      return organisation.identify(token)
    },
    onAccessChange: organisation.onAccessChange,
    releaseMessages: tokenId => messages.inbox.leave(readerOf(tokenId)),
    expectOrganisation: name => organisation.organisations.expect(name),
    clock,
    settings,
  }
}

/** The skills on an agent's card: its tools, without those that only the agent itself can use. */
export function skillsOf(
  { core: { agents, catalogue } }: Pick<Runtime, 'core'>,
  place: Workspace,
): Skill[] | undefined {
  if (!agents.isAgent(place)) return undefined
  const { capabilities } = catalogue.current()
  const { tools } = agents.session(place.workspace).view()
  const shown = tools.filter(({ capability }) => !capabilities.get(capability)?.inward)
  return shown.map(({ tool, capability }) => ({
    id: tool.name,
    name: tool.title ?? tool.name,
    description: tool.short,
    tags: [...new Set([capability, tool.section])],
  }))
}

function promptHandlers(agents: Agents, organisation: Organisation): Handlers<keyof typeof PROMPT_ROUTES> {
  /** Only the owner learns what another workspace can do, and whether it exists. */
  async function sessionFor(caller: ApiCaller, name: string): Promise<AgentSession> {
    const row = await organisation.workspaces.seek(caller.organisation, name)
    const isOwn = caller.kind === 'workspace' && caller.workspace.id === row?.id
    if (caller.kind === 'workspace' && !isOwn) {
      const own = caller.workspace.workspace
      throw new AppError('NAME_UNKNOWN', `This token reads its own prompt and no other: that of "${own}".`)
    }
    const mayRead = caller.kind === 'owner' || isOwn
    const session = mayRead ? agents.findSession(row ?? { ...caller, workspace: name }) : undefined
    if (!session) throw unknownWorkspace(name)
    return session
  }

  return {
    async agentPrompt(caller, { params: { name }, query: { shell, withoutDisabled } }) {
      const session = await sessionFor(caller, name)
      return promptFor(agentViewOf(session), { shell: shell === 'true', withoutDisabled: withoutDisabled === 'true' })
    },
  }
}

/** Every workspace as an A2A agent, at its path and below. */
export function a2aMounts({
  store,
  settings,
  log,
  api,
  skillsOf,
}: {
  readonly store: OpenedStore
  readonly settings: Settings
  readonly log: Log
  /** A token that gives access to the API gives access to A2A. */
  readonly api: FolderApi
  skillsOf(place: Workspace): Skill[] | undefined
}): Mount[] {
  // Loaded with the first request: most processes never get one.
  const front = memoize(async (): Promise<A2aFront> => {
    const { createA2aFront } = await import('../../adapters/a2a/index.ts')
    return createA2aFront({ ...store, ...api, ids: createIds(), log, settings, skillsOf, version: VERSION })
  })
  const handle: Mount['handle'] = async (request, gone) => (await front()).answer(request, gone)
  return [
    { path: '/a2a/:workspace', handle },
    // Clients that look for the card below an address write the address with a slash.
    { path: '/a2a/:workspace/', handle },
    { path: '/a2a/:workspace/:rest{.+}', handle },
  ]
}

/** What a bridge needs to upload the files that its agent names. */
export function lentFiles({ core, project, folders, upstreams }: Runtime): (agent: string) => LentFiles {
  return agent => {
    const { config = { capabilities: {} } } = core.agents.entry(agent)
    // The inputs of an upstream's tools are paths and ids of its own.
    const tools = [...core.catalogue.current().tools.values()].filter(({ source }) => source !== upstreams.source.id)
    return {
      workspaceDir: folders({ ...config, name: agent }).workspaceDir,
      maxBytes: mostBytes(project.settings),
      inputs: tools.flatMap(({ name: tool, inputSchema: { properties } }) =>
        Object.entries(properties ?? {}).flatMap(([input, schema]) => (namesFiles(schema) ? [{ tool, input }] : [])),
      ),
    }
  }
}

function namesFiles(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && NAMES_ATTACHMENTS in schema
}

/** The metrics of an `up`. */
export function createMetricsFor(
  { core: { catalogue, health, operations, emitter } }: Runtime,
  store: OpenedStore,
  peers: ExternalPeers,
  mcp: HttpFront,
): Metrics {
  return createMetrics({
    emitter,
    sources: {
      capabilityOf: tool => catalogue.current().tools.get(tool)?.capability,
      running: () => operations.running().length,
      waiting: inTime(async () => {
        // Counted by the index of expiry: everything that waits has one.
        const count = (state: OperationState) => store.store.count('operations', { state, expiresAt: { not: null } })
        const [approval, retry] = await Promise.all([count('waitingForApproval'), count('queued')])
        return { approval, retry }
      }),
      externalPeers: inTime(async () => {
        const { reached, troubles } = await peers.status()
        return { reached: reached.length, unreached: troubles.length }
      }),
      front: () => mcp.counts(),
      generation: () => catalogue.current().number,
      tools() {
        const tools = [...catalogue.current().tools.values()]
        const active = tools.filter(tool => health.availability(tool).active).length
        return { active, disabled: tools.length - active }
      },
      dependencies: () => health.dependencies(),
      store: () => store.statistics(),
    },
  })
}

/** Metrics are needed most when the store is stuck. */
const METRICS_WAIT_MS = 250

/** Answers `undefined` if reading takes too long. Single-flight: scrapes of a stuck store must not pile up. */
function inTime<T>(read: () => Promise<T>): () => Promise<T | undefined> {
  let reading: Promise<T> | undefined
  return () => {
    const work = (reading ??= read().finally(() => {
      reading = undefined
    }))
    return new Promise((resolve, reject) => {
      const cancel = createSystemClock().after(METRICS_WAIT_MS, () => resolve(undefined))
      work.then(resolve, reject).finally(cancel)
    })
  }
}
