import type { A2aFront } from '../../adapters/a2a/index.ts'
import type { ApiDoor, Mount } from '../../adapters/http/index.ts'
import { promptFor } from '../../adapters/prompt/index.ts'
import { createIds } from '../../adapters/system/index.ts'
import {
  AppError,
  type LentFiles,
  NAMES_ATTACHMENTS,
  type PROMPT_ROUTES,
  type Settings,
  type Skill,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type AgentSession, type Agents, agentViewOf } from '../../core/agents/index.ts'
import { attachmentHandlers, mostBytes } from '../../core/attachments/index.ts'
import type { Tool } from '../../core/catalogue/index.ts'
import { delegationHandlers } from '../../core/delegation/index.ts'
import { type ExternalPeers, externalPeerHandlers } from '../../core/external-peers/index.ts'
import { type Log, remembered } from '../../core/kernel/index.ts'
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

interface ApiDoorParts {
  readonly runtime: Pick<Runtime, 'core'>
  readonly store: Pick<
    OpenedStore,
    'store' | 'clock' | 'attachments' | 'delegations' | 'memory' | 'messages' | 'organisation'
  >
  readonly peers: ExternalPeers
  readonly settings: Settings
  /** A client with a token made a request. */
  onVisit(): void
}

/** Access can end while a client is connected. */
type OpenedDoor = ApiDoor & Required<Pick<ApiDoor, 'onAccessChange'>>

/** The API over the store and the agents of this folder. */
export function apiDoor(parts: ApiDoorParts): OpenedDoor {
  const { runtime, store: opened, settings, onVisit } = parts
  const { store, clock, memory, messages, organisation } = opened
  const skillsOf: Parameters<typeof organisationHandlers>[0]['skillsOf'] = place => skillsIn(runtime, place)
  const handlers: Handlers = {
    ...organisationHandlers({ organisation, store, clock, skillsOf, version: VERSION }),
    ...externalPeerHandlers(parts.peers),
    ...attachmentHandlers(opened.attachments),
    ...memoryHandlers({ memory, organisation }),
    ...messageHandlers({ messages, organisation }),
    ...chatHandlers({ messages, organisation }),
    ...delegationHandlers({ delegations: opened.delegations, organisation }),
    ...promptHandlers({ agents: runtime.core.agents, organisation }),
  }
  return {
    service: createApiService(handlers),
    identify(token) {
      onVisit()
      return organisation.identify(token)
    },
    onAccessChange: organisation.onAccessChange,
    letGo: tokenId => messages.inbox.leave(readerOf(tokenId)),
    expectOrganisation: name => organisation.organisations.expect(name),
    clock,
    settings,
  }
}

/** What an agent can be asked for is what its view has, but for what only it has a use for. */
export function skillsIn(
  { core: { agents, catalogue } }: Pick<Runtime, 'core'>,
  place: Pick<WorkspaceRow, 'organisation' | 'workspace'>,
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

interface PromptHandlersDeps {
  readonly agents: Pick<Agents, 'findSession'>
  readonly organisation: Pick<Organisation, 'workspaces'>
}

/** How the prompt of an agent is answered. */
function promptHandlers(deps: PromptHandlersDeps): Handlers<keyof typeof PROMPT_ROUTES> {
  return {
    async agentPrompt(visitor, { params: { name }, query: { shell, withoutDisabled } }) {
      const session = await sessionFor(visitor, name, deps)
      return promptFor(agentViewOf(session), { shell: shell === 'true', withoutDisabled: withoutDisabled === 'true' })
    },
  }
}

/** Only the owner learns what another workspace can do, and whether it exists at all. */
async function sessionFor(
  visitor: ApiCaller,
  name: string,
  { agents, organisation }: PromptHandlersDeps,
): Promise<AgentSession> {
  const row = await organisation.workspaces.seek(visitor.organisation, name)
  const isOwn = visitor.kind === 'workspace' && visitor.workspace.id === row?.id
  if (visitor.kind === 'workspace' && !isOwn) throw notItsOwn(visitor.workspace.workspace)
  const session =
    visitor.kind === 'owner' || isOwn ? agents.findSession(row ?? { ...visitor, workspace: name }) : undefined
  if (!session) throw unknownWorkspace(name)
  return session
}

function notItsOwn(own: string): AppError {
  return new AppError('NAME_UNKNOWN', `This token reads its own prompt and no other: that of "${own}".`)
}

interface A2aParts {
  readonly store: Pick<OpenedStore, 'clock' | 'delegations' | 'messages' | 'organisation'>
  readonly settings: Settings
  readonly log: Log
  /** Who may use the API may use this. */
  readonly door: Required<Pick<ApiDoor, 'identify' | 'onAccessChange'>>
  skillsOf(place: Pick<WorkspaceRow, 'organisation' | 'workspace'>): Skill[] | undefined
}

/** Every workspace as an A2A agent, and everything below it. */
export function a2aMounts(parts: A2aParts): Mount[] {
  // With the first request: most that start never have one.
  const front = remembered(() => openFront(parts))
  const handle: Mount['handle'] = async (request, gone) => (await front()).answer(request, gone)
  return [
    { path: '/a2a/:workspace', handle },
    // Clients that look for the card below an address have the address with a slash.
    { path: '/a2a/:workspace/', handle },
    { path: '/a2a/:workspace/:rest{.+}', handle },
  ]
}

async function openFront({ store, settings, log, door, skillsOf }: A2aParts): Promise<A2aFront> {
  const { createA2aFront } = await import('../../adapters/a2a/index.ts')
  return createA2aFront({
    ...store,
    ...door,
    ids: createIds(),
    log,
    settings,
    skillsOf,
    version: VERSION,
  })
}

/** What a bridge is told that hands in files for an agent. */
export function lentFiles({ core, project, folders, upstreams }: LentFilesParts): (agent: string) => LentFiles {
  return agent => {
    const { config = { capabilities: {} } } = core.agents.entry(agent)
    // What a server of others says of its inputs is about paths and ids of its own.
    const own = [...core.catalogue.current().tools.values()].filter(({ source }) => source !== upstreams.source.id)
    return {
      workspaceDir: folders({ ...config, name: agent }).workspaceDir,
      maxBytes: mostBytes(project.settings),
      inputs: own.flatMap(inputsOf),
    }
  }
}

type LentFilesParts = Pick<Runtime, 'core' | 'project' | 'folders' | 'upstreams'>

function inputsOf({ name: tool, inputSchema: { properties } }: Tool): LentFiles['inputs'] {
  const marked = Object.entries(properties ?? {}).filter(([, schema]) => isMarked(schema))
  return marked.map(([input]) => ({ tool, input }))
}

function isMarked(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && NAMES_ATTACHMENTS in schema
}
