import { ensureInstalledIn } from '../scripts/ensure.mjs'

/** Installs what the tests of this folder run: suites and clients that the product itself never needs. */
export default (): Promise<void> => ensureInstalledIn('interop')
