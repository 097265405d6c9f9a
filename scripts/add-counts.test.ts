import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { tempProject } from '../packages/quartermaster/src/testing/temp-project.ts'

const SCRIPT = fileURLToPath(new URL('add-counts.mjs', import.meta.url))

async function add(...outputs: string[]) {
  const folder = await tempProject(Object.fromEntries(outputs.map((text, i) => [`run-${i}`, text])))
  const { status, stdout, stderr } = spawnSync(process.execPath, [
    SCRIPT,
    ...outputs.map((_, i) => folder.path(`run-${i}`)),
  ])
  return { status, stdout: String(stdout), stderr: String(stderr) }
}

it('adds the counts with which runs of the tests ended, in their form', async () => {
  const first =
    ' Test Files  1 failed | 2 passed (3)\n\u001b[2m      Tests \u001b[22m 1 failed\u001b[2m | \u001b[22m 9 passed (10)\n   Start at  10:00\n'
  const second = '      Tests  3 passed (3)\n again\n      Tests  4 passed | 2 skipped (6)\n'
  expect(await add(first, second)).toEqual({
    status: 0,
    stdout: '      Tests  1 failed | 13 passed | 2 skipped (16)\n',
    stderr: '',
  })
})

it('fails where one ended without a count', async () => {
  expect(await add('      Tests  4 passed (4)\n', 'Killed\n')).toEqual({
    status: 1,
    stdout: '      Tests  4 passed (4)\n',
    stderr: 'A run of the tests ended without a count.\n',
  })
})
