import { createRequire } from 'node:module'
import { dirname } from 'node:path'

const load = createRequire(import.meta.url)
// By its name, because this code is found at several depths below it.
const MANIFEST = 'quartermaster/package.json'
const manifest = load(MANIFEST) as { version: string }

/** The version of this package. */
export const VERSION = manifest.version

/** The folder of this package. */
export const PACKAGE_DIR = dirname(load.resolve(MANIFEST))

// Compiled or run from the sources, the entries lie beside this file with its own ending.
const ENDING = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

/** What `quartermaster` and its subpaths mean in project code: this very package, so that there is never a second copy. */
export const PACKAGE_ENTRIES: Record<string, string> = {
  quartermaster: new URL(`../index.${ENDING}`, import.meta.url).href,
  'quartermaster/probes': new URL(`../probes.${ENDING}`, import.meta.url).href,
}

/** The folder of the built-in capabilities. */
export const CAPABILITIES_DIR = new URL('../capabilities', import.meta.url)

/** What comes written down with the product: the files among the sources, and what the build has packed of them. */
export const PAGES: { readonly dir: URL } | { readonly file: URL } =
  ENDING === 'ts'
    ? { dir: new URL('../../knowledge', import.meta.url) }
    : { file: new URL('../knowledge.json', import.meta.url) }
