export { type BridgeOptions, type OpenFiles, runBridge } from './bridge.ts'
export type { FindOptions, Gateway } from './link.ts'
