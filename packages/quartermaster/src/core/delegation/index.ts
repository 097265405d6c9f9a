export type { Accepted, AcceptOptions } from './accepting.ts'
export type { PeerWords } from './answering.ts'
export {
  createDelegationService,
  createDelegations,
  type Delegations,
  delegationHandlers,
} from './delegations.ts'
export { DELEGATION_EVENTS, type DelegationEvent, isOpen, type ListedRow, nextStep } from './ledger.ts'
export { type BetweenPage, type BetweenQuery, betweenCursor, type ListQuery } from './listing.ts'
export { isQuestion } from './wording.ts'
