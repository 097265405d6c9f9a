export { mayReach, type Place, reachable, relationOf } from './access.ts'
export { type CardParts, cardOf } from './cards.ts'
export { createOrganisationDesk, type OrganisationDesk } from './desk.ts'
export type { DeskContext, DeskDeps } from './desk-handlers.ts'
export type { JoinCodes } from './join-codes.ts'
export { createOrganisation, type Organisation, type OrganisationDeps } from './organisation.ts'
export type { Persons } from './persons.ts'
export { type FolderPlace, type PlacedAgent, type Placements, placeAgents } from './placement.ts'
export type { PresenceBook } from './presence.ts'
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
export type { Workspaces } from './workspaces.ts'
