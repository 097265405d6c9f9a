import { ensureInstalledIn } from '../../scripts/ensure.mjs'

/** Installs the agents. */
export default (): Promise<void> => ensureInstalledIn('interop/agents')
