// @ts-check
import { fileURLToPath } from 'node:url'
import { run as measure } from './quality.mjs'

/** The same figures over conversations that nothing was chosen by. */
export const run = () => measure({ folder: fileURLToPath(new URL('held-out', import.meta.url)) })
