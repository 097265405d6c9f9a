export type { MeetChoice } from './first-meetings.ts'
export type { UpstreamParts } from './late-parts.ts'
export { createMount } from './mount-port.ts'
export type { MountChanges } from './mounts.ts'
export { keyBeforeLogin } from './oauth/known-by-key.ts'
export type { LoginAttempt } from './oauth/oauth-login.ts'
export type { UpstreamAuth } from './oauth/upstream-auth.ts'
export { SWITCHED_OFF } from './switched-off.ts'
export { wrongEntry } from './target/wrong-entry.ts'
export { createUpstreams, type LeftBehind, type ReviewChoice, type Upstreams } from './upstreams.ts'

/** Loads what upstreams are made of; whoever has none does without it. */
export const loadUpstreamParts = () => import('./parts.ts')
