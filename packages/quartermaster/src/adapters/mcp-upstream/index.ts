export { createMount } from './capability-servers.ts'
export type { MountChanges, UpstreamParts } from './mounts.ts'
export type { LoginAttempt } from './oauth/login.ts'
export type { UpstreamAuth } from './oauth/upstream-auth.ts'
export { keyBeforeLogin, SWITCHED_OFF, wrongEntry } from './upstream-entry.ts'
export { createUpstreams, type LeftBehind, type ReviewChoice, type Upstreams } from './upstreams.ts'

/** Loads the modules of upstreams; without any upstream they are not loaded. */
export const loadUpstreamParts = () => import('./upstream.ts')
