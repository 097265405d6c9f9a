export { type CallPathDeps, createCalls } from './call-path.ts'
export type { CallRequest, Calls, ConsentedOnce, LogLevel } from './call-request.ts'
export type { Audience, Exchange, ExchangeContext, Turn } from './exchange.ts'
export { ANSWER_SECONDS, createExchanges, type Exchanges, MOST_WAITING } from './exchanges.ts'
export { createKeptResults, type KeptResults } from './kept-results.ts'
export { type LeftBehindDeps, settleLeftBehind } from './left-behind.ts'
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
