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
