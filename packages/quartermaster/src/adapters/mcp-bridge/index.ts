export type { OpenFiles } from './attaching.ts'
export { type BridgeOptions, runBridge } from './bridge.ts'
export type { Gateway } from './gateway.ts'
export type { FindOptions } from './link.ts'
