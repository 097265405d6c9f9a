export { inProcessServer, type InProcessServerDeps } from './in-process-server.ts'
