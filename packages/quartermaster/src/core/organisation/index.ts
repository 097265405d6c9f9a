export {
  type ApiDesk,
  createApiDesk,
  createWorkspaceDesk,
  type DeskContext,
  type DeskDeps,
  type Handlers,
  organisationHandlers,
  visible,
  workspaceOf,
} from './admin.ts'
export { type FolderPlace, type PlacedAgent, type Placements, placeAgents, type Seats } from './agent-workspaces.ts'
export {
  createOrganisation,
  noPeer,
  type Organisation,
  type OrganisationDeps,
  reachedPeer,
  type Visitor,
  type WorkspaceVisitor,
} from './organisation.ts'
export { type JoinCodes, type Persons } from './persons.ts'
export { type CardParts, cardOf, type PresenceBook } from './presence.ts'
export {
  type Bearer,
  createTokens,
  type Holding,
  isFor,
  type TokenHolder,
  type TokenOwner,
  type TokenRequest,
  type Tokens,
  type TokensDeps,
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
