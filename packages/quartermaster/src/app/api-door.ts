import type { ApiDoor } from '../adapters/http/index.ts'
import type { Settings, Skill, WorkspaceRow } from '../contracts/index.ts'
import { attachmentHandlers } from '../core/attachments/index.ts'
import { delegationHandlers } from '../core/delegation/index.ts'
import { type ExternalPeers, externalPeerHandlers } from '../core/external-peers/index.ts'
import { memoryHandlers } from '../core/memory/index.ts'
import { chatHandlers, messageHandlers, readerOf } from '../core/messages/index.ts'
import { createApiDesk, type Handlers, organisationHandlers } from '../core/organisation/index.ts'
import type { OpenedStore } from './open-store.ts'
import { promptHandlers } from './prompt-handlers.ts'
import type { Runtime } from './runtime.ts'
import { VERSION } from './version.ts'

export interface ApiDoorParts {
  readonly runtime: Pick<Runtime, 'core'>
  readonly store: Pick<
    OpenedStore,
    'store' | 'clock' | 'attachments' | 'delegations' | 'memory' | 'messages' | 'organisation'
  >
  readonly peers: ExternalPeers
  readonly settings: Settings
  /** Somebody with a token is there. */
  onVisit(): void
}

/** Access can end while somebody is there. */
export type OpenedDoor = ApiDoor & Required<Pick<ApiDoor, 'onAccessChange'>>

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
    desk: createApiDesk(handlers),
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
  const { tools } = agents.seat(place.workspace).view()
  const shown = tools.filter(({ capability }) => !capabilities.get(capability)?.inward)
  return shown.map(({ tool, capability }) => ({
    id: tool.name,
    name: tool.title ?? tool.name,
    description: tool.short,
    tags: [...new Set([capability, tool.section])],
  }))
}
