export type { Accepted, AcceptOptions } from './accepting.ts'
export type { PeerWords } from './answering.ts'
export { type BetweenPage, type BetweenQuery, placeBehind } from './between.ts'
export { createDelegationDesk, type DelegationDeskDeps } from './delegation-desk.ts'
export { type DelegationHandlersDeps, delegationHandlers } from './delegation-handlers.ts'
export {
  createDelegations,
  type Delegations,
  type DelegationsDeps,
  type WaitForEnd,
} from './delegations.ts'
export type { ListedRow } from './facts.ts'
export type { ListQuery } from './listing.ts'
export { DELEGATION_EVENTS, type DelegationEvent, isOpen, nextStep } from './machine.ts'
export { isQuestion } from './question.ts'
