export { type Approvals, createApprovals } from './consent/approvals.ts'
export {
  type Answerer,
  type ConsentAnswer,
  type ConsentDesk,
  type ConsentDesks,
  createConsentDesks,
  type GrantFilter,
  type LiveGrant,
} from './consent/consent-desk.ts'
export { type ConsentGate, createConsentGate } from './consent/consent-gate.ts'
export type { ConsentedOnce } from './consent/consented-once.ts'
export type { SharedRequest } from './consent/open-requests.ts'
export { customKind, kindsFor } from './effects/custom-kind.ts'
export type { ConcreteEffect, EffectKind, EffectSurroundings, EffectValues } from './effects/effect-kind.ts'
export type { SqlConnection, SqlConnections, SqlValues } from './effects/sql-connections.ts'
export { createTemplatedKind, type TemplatedKindOptions, type TemplateRule } from './effects/templated-kind.ts'
export {
  concreteEffects,
  type EffectKinds,
  LOOK_MS,
  type LookOptions,
  missingOf,
  takeBaseline,
  verifyEffects,
} from './effects/verify-effects.ts'
export type { Audience, LogLevel } from './exchange/audience.ts'
export type { Exchange, ExchangeContext, Turn } from './exchange/exchange.ts'
export {
  ANSWER_SECONDS,
  type Asked,
  createExchanges,
  type Exchanges,
  MOST_ROUNDS,
  MOST_WAITING,
  REPEAT_SECONDS,
} from './exchange/exchanges.ts'
export { type Admission, createAdmission } from './path/admission.ts'
export { type CallPathDeps, createCalls } from './path/call-path.ts'
export { type CallRequest, type Calls, checkWhenDisabled } from './path/call-request.ts'
export { createEffectsStage, type EffectsStage } from './path/effects-stage.ts'
export { createKeptResults, type KeptResults } from './path/kept-results.ts'
export { progressText } from './path/progress-text.ts'
export { createEndsTeller, type EndsTeller, type TellEnd } from './queue/ends-teller.ts'
export { createForeignSteps, type ForeignStepsDeps } from './queue/foreign-steps.ts'
export { createLeaseKeeper, type LeaseKeeper } from './queue/lease-keeper.ts'
export { type LeftBehind, type LeftBehindDeps, settleLeftBehind } from './queue/left-behind.ts'
export { createWaitedOperations } from './queue/waited-operations.ts'
export type { ReadResult } from './readings/reading-output.ts'
export type {
  PromptRequest,
  ReadingRequest,
  Readings,
  ResourceReadRequest,
  SuggestRequest,
} from './readings/reading-request.ts'
export { createReadings, type ReadingsDeps } from './readings/readings.ts'
export { awaitedIn, type WhereAwaited } from './record/awaited.ts'
export { hearingStorage } from './record/hearing-storage.ts'
export { createIdempotency, type Idempotency, type IdempotencyDeps } from './record/idempotency.ts'
export { createLastLook, type LastLook } from './record/last-look.ts'
export { createOperationDesk, type OperationDesk } from './record/operation-desk.ts'
export type { OperationEnd, OperationLog, OperationRecord, RunningOperation } from './record/operation-log.ts'
export { createOperationSeal, type OperationSeal } from './record/operation-seal.ts'
export {
  type AuditFilter,
  createOperations,
  type OperationFilter,
  type Operations,
  type OperationsDeps,
} from './record/operations.ts'
export { createPruner, type Pruner } from './record/pruner.ts'
export { createReceipts, type IsHeard, type Receipts } from './record/receipts.ts'
export type { Storage, StorageAccess } from './record/storage.ts'
export { createStoredOperations, type StoredOperationsDeps } from './record/stored-operations.ts'
export { waitingText } from './record/waiting-answer.ts'
