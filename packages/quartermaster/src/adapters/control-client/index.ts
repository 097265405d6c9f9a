export { type ControlClientOptions, createControlClient } from './control-client.ts'
