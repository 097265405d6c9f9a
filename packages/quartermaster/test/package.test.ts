import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))

/** What npm would put into the package. */
async function packedFiles(): Promise<string[]> {
  const options = { cwd: PACKAGE, shell: process.platform === 'win32', maxBuffer: 16 * 1024 * 1024 }
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], options)
  const [packed] = JSON.parse(stdout) as { files: { path: string }[] }[]
  return packed?.files.map(({ path }) => path) ?? []
}

it('the package holds the build, the schemas, what it is and its licence, and nothing of how it was made', async () => {
  const files = await packedFiles()
  expect(files).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'package.json', 'dist/bin/quartermaster.js']))
  const others = files.filter(path => !/^(?:README\.md|LICENSE|package\.json|(?:dist|schemas)\/.*)$/.test(path))
  expect([others, files.filter(path => path.split('/').some(part => part.startsWith('.')))]).toEqual([[], []])
})

it('the package has the licence of the whole', async () => {
  const licence = await readFile(new URL('../../../LICENSE', import.meta.url), 'utf8')
  expect(await readFile(new URL('../LICENSE', import.meta.url), 'utf8')).toBe(licence)
})
