export { type Approvals, createApprovals } from './consent/approvals.ts'
export { type ConsentGate, createConsentGate } from './consent/consent-decision.ts'
export {
  type ConsentService,
  type ConsentServices,
  createConsentServices,
  type GrantFilter,
  type LiveGrant,
} from './consent/consent-service.ts'
export type { Answerer, ConsentAnswer, ConsentedOnce } from './consent/grants.ts'
export type { SharedRequest } from './consent/requests.ts'
export {
  type ConcreteEffect,
  createTemplatedKind,
  type EffectKind,
  type EffectSurroundings,
  type EffectValues,
  type SqlConnection,
  type SqlConnections,
  type SqlValues,
  type TemplatedKindOptions,
  type TemplateRule,
} from './effects/effect-kinds.ts'
export {
  concreteEffects,
  customKind,
  type EffectKinds,
  kindsFor,
  LOOK_MS,
  type LookOptions,
  missingOf,
  takeBaseline,
  verifyEffects,
} from './effects/verify-effects.ts'
export {
  ANSWER_SECONDS,
  type Asked,
  type CallListeners,
  createElicitations,
  type Elicitation,
  type ElicitationContext,
  type Elicitations,
  type LogLevel,
  MOST_ROUNDS,
  MOST_WAITING,
  REPEAT_SECONDS,
  type Turn,
} from './elicitation/elicitation.ts'
export { type CallsDeps, createCalls, progressText } from './path/call.ts'
export { type CallRequest, type Calls, checkWhenDisabled } from './path/call-state.ts'
export { type ConsentStep, createConsentStep } from './path/consent-step.ts'
export { createEffectsStage, type EffectsStage } from './path/execute.ts'
export { createKeptResults, type KeptResults } from './path/kept-results.ts'
export { type RecoveredCalls, type RecoveryDeps, recoverAfterCrash } from './queue/crash-recovery.ts'
export {
  createLeaseKeeper,
  createLeaseTransitions,
  type LeaseKeeper,
  type LeaseTransitionsDeps,
} from './queue/lease-transitions.ts'
export { createResultNotifier, type NotifyResult, type ResultNotifier } from './queue/result-notifier.ts'
export { createWaitedOperations } from './queue/waited-operations.ts'
export type { ReadResult } from './read/read-output.ts'
export {
  createReadings,
  type PromptRequest,
  type ReadingRequest,
  type Readings,
  type ReadingsDeps,
  type ResourceReadRequest,
  type SuggestRequest,
} from './read/read-requests.ts'
export { createDeliveryTracker, type DeliveryTracker, type IsDelivered } from './record/delivery-tracker.ts'
export { createIdempotency, type Idempotency, type IdempotencyDeps } from './record/idempotency.ts'
export { createOperationAdmin, type OperationAdmin } from './record/operation-admin.ts'
export type { OperationEnd, OperationLog, OperationRecord, RunningOperation } from './record/operation-log.ts'
export { createOperationSeal, type OperationSeal } from './record/operation-row.ts'
export {
  awaitedIn,
  observeStorage,
  type Storage,
  type StorageAccess,
  type WhereAwaited,
} from './record/operation-storage.ts'
export {
  type AuditFilter,
  createOperations,
  createStoredOperations,
  type OperationFilter,
  type Operations,
  type OperationsDeps,
  type StoredOperationsDeps,
} from './record/operations.ts'
export { createPruner, type Pruner } from './record/pruner.ts'
export { waitingText } from './record/running-calls.ts'
export { createFailureVerifier, type FailureVerifier } from './record/verify-after-failure.ts'
