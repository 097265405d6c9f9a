// Everything that is loaded only when there is an upstream.
export { createMounted, type MountedDeps } from './mounted.ts'
export { createUpstreamAuth } from './oauth/upstream-auth.ts'
export { foreseenFailure } from './stdio/foreseen-failure.ts'
