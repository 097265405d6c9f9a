import { ensureInstalledIn } from '../scripts/ensure.mjs'

/**
 * Begins to install what the tests of this folder run: suites and clients that the product itself never needs. Each of
 * them waits for it by `installed.ts`, which also tells what went wrong.
 */
export default function begin(): void {
  ensureInstalledIn('interop').catch(() => {
    // Whoever needs it tries again, and fails with the reason.
  })
}
