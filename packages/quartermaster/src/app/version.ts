import { createRequire } from 'node:module'

// By its name, because this code is found at several depths below it.
const manifest = createRequire(import.meta.url)('quartermaster/package.json') as { version: string }

/** The version of this package. */
export const VERSION = manifest.version
