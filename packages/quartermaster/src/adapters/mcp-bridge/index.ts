export { type Bridge, createBridge, type OpenFiles, readClient, runBridge, within } from './bridge.ts'
export { failureAnswer, isPassing, notUnderstood } from './errors.ts'
export type { Incoming } from './exchange.ts'
export { createPause, type FindOptions, type Gateway, type Link, type Pause } from './link.ts'
