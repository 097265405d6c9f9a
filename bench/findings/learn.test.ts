import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TIMEOUT_MS = 120_000

const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

it('the product weighs wording as it is learned from the texts', { timeout: TIMEOUT_MS }, async () => {
  // Features are those of the build, so there has to be one of these sources.
  await node('scripts/ensure.mjs')
  await expect(node('bench/findings/learn.mjs', '--check')).resolves.toMatchObject({ stderr: '' })
})
