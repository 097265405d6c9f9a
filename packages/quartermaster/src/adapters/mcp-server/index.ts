export { type InProcessServerDeps, inProcessServer } from './in-process-server.ts'
