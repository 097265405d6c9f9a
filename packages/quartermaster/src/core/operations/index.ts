export { type CallPathDeps, createCalls } from './call-path.ts'
export type { CallRequest, Calls, ConsentedOnce } from './call-request.ts'
export { createKeptResults, type KeptResults } from './kept-results.ts'
export { createRunningOperations, type OperationLog, type OperationRecord } from './operation-log.ts'
