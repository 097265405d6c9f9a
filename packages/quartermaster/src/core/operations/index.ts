export { type CallPathDeps, createCalls } from './call-path.ts'
export type { CallRequest, Calls, ConsentedOnce, LogLevel } from './call-request.ts'
export { type Admission, createAdmission } from './consent/admission.ts'
export { type Approvals, createApprovals } from './consent/approvals.ts'
export {
  type Answerer,
  type ConsentAnswer,
  type ConsentDesk,
  createConsentDesk,
  type GrantFilter,
} from './consent/consent-desk.ts'
export { type ConsentGate, createConsentGate } from './consent/consent-gate.ts'
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
export { createEffectsStage, type EffectsStage } from './effects-stage.ts'
export { createEndsTeller, type EndsTeller, type TellEnd } from './ends-teller.ts'
export type { Audience, Exchange, ExchangeContext, Turn } from './exchange.ts'
export { ANSWER_SECONDS, createExchanges, type Exchanges, MOST_WAITING } from './exchanges.ts'
export { createIdempotency, type Idempotency, type IdempotencyDeps } from './idempotency.ts'
export { createKeptResults, type KeptResults } from './kept-results.ts'
export { createLeaseKeeper, type LeaseKeeper } from './lease-keeper.ts'
export { type LeftBehindDeps, settleLeftBehind } from './left-behind.ts'
export { createOperationDesk, type OperationDesk } from './operation-desk.ts'
export type { OperationEnd, OperationLog, OperationRecord, RunningOperation } from './operation-log.ts'
export {
  type AuditFilter,
  createOperations,
  type OperationFilter,
  type Operations,
  type OperationsDeps,
} from './operations.ts'
export { progressText } from './progress-text.ts'
export { createPruner, type Pruner } from './pruner.ts'
export type { ReadResult } from './reading-output.ts'
export type { PromptRequest, ReadingRequest, Readings, ResourceReadRequest, SuggestRequest } from './reading-request.ts'
export { createReadings, type ReadingsDeps } from './readings.ts'
export type { Storage, StorageAccess } from './storage.ts'
export { createStoredOperations, type StoredOperationsDeps } from './stored-operations.ts'
export { createWaitedOperations } from './waited-operations.ts'
