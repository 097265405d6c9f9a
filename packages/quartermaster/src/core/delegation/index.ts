export type { Accepted, AcceptOptions } from './accepting.ts'
export type { PeerWords } from './answering.ts'
export {
  createDelegationService,
  createDelegations,
  type DelegationHandlersDeps,
  type DelegationServiceDeps,
  type Delegations,
  type DelegationsDeps,
  delegationHandlers,
  type WaitForEnd,
} from './delegations.ts'
export { DELEGATION_EVENTS, type DelegationEvent, isOpen, type ListedRow, nextStep } from './ledger.ts'
export { type BetweenPage, type BetweenQuery, type ListQuery, betweenCursor } from './listing.ts'
export { isQuestion } from './wording.ts'
