export {
  type ApiService,
  createApiService,
  createWorkspaceService,
  type Handlers,
  organisationHandlers,
  type RequestContext,
  visible,
  workspaceOf,
} from './admin.ts'
export {
  type AgentWorkspaces,
  type Placements,
  placeAgents,
} from './agent-workspaces.ts'
export {
  type ApiCaller,
  createOrganisation,
  noPeer,
  type Organisation,
  reachedPeer,
  type WorkspaceCaller,
} from './organisation.ts'
export { type JoinCodes, type Persons } from './persons.ts'
export { type CardParts, cardOf, type PresenceBook } from './presence.ts'
export {
  type Bearer,
  createTokens,
  type Holding,
  isFor,
  type Tokens,
} from './tokens.ts'
export {
  isNamed,
  mayReach,
  type NamedPlace,
  type Place,
  reachable,
  refusedDraft,
  relationOf,
  unknownWorkspace,
  type Workspaces,
} from './workspaces.ts'
