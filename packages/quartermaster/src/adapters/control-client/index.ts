export { createControlClient } from './control-client.ts'
export { type ControlClientOptions, createLenderClient } from './control-exchange.ts'
