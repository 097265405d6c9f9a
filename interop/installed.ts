import { ensureInstalledIn } from '../scripts/ensure.mjs'

// Nothing to do once it is there; a test file that comes earlier waits here.
await ensureInstalledIn('interop')

// Only to install leaves the machine, and every Node process would read them before it does anything.
process.env.NODE_EXTRA_CA_CERTS = ''
