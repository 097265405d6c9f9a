import { ensureInstalledIn } from '../scripts/ensure.mjs'

// Nothing to do once it is there; a test file that comes earlier waits here.
await ensureInstalledIn('interop')
