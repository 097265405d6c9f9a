export { mayReach, type Place, reachable, relationOf } from './access.ts'
export { type CardParts, cardOf } from './cards.ts'
export { type ApiDesk, createApiDesk, organisationHandlers } from './desk.ts'
export type { DeskContext, DeskDeps, Handlers } from './desk-handlers.ts'
export { visible } from './desk-workspaces.ts'
export { isNamed } from './is-named.ts'
export type { JoinCodes } from './join-codes.ts'
export { createOrganisation, type Organisation, type OrganisationDeps } from './organisation.ts'
export type { Persons } from './persons.ts'
export { type FolderPlace, type PlacedAgent, type Placements, placeAgents } from './placement.ts'
export type { NamedPlace } from './places.ts'
export type { PresenceBook } from './presence.ts'
export { noPeer, reachedPeer } from './reached-peer.ts'
export type { Seats } from './seats.ts'
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
export type { Visitor, WorkspaceVisitor } from './visitors.ts'
export { createWorkspaceDesk, workspaceOf } from './workspace-desk.ts'
export { refusedDraft, unknownWorkspace, type Workspaces } from './workspaces.ts'
