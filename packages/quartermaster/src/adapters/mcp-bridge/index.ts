export { type BridgeOptions, runBridge } from './bridge.ts'
export type { FindOptions, Gateway } from './link.ts'
