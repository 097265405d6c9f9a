import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ROOT } from './ensure.mjs'
import { sharedRuns } from './shared-runs.mjs'

const product = {
  file: 'tool.ts',
  text: "short: 'The quick brown fox ' +\n  'jumps over the lazy dog, twice.',\nname: 'fox'",
}

it('reports a run across lines, case, punctuation and literals, once and as long as it is', () => {
  const others = [
    { file: 'none.txt', text: 'Quick brown fox jumps over a lazy dog.' },
    { file: 'one.txt', text: 'He said:\nthe QUICK "brown" fox\njumps over the lazy cat.' },
  ]
  expect(sharedRuns([product], others)).toEqual([
    {
      words: 'the quick brown fox jumps over the lazy',
      count: 8,
      file: 'tool.ts',
      line: 1,
      other: 'one.txt',
      otherLine: 2,
    },
  ])
  expect(sharedRuns([product], others, 9)).toEqual([])
})

it('finds what a folder has from the texts of the product, and says where', () => {
  const folder = mkdtempSync(join(tmpdir(), 'shared-runs-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(ROOT, 'scripts/shared-runs.mjs'), ...args], { encoding: 'utf8' })
  writeFileSync(join(folder, 'own.txt'), 'Seven purple submarines argue about unrelated umbrella stands.')
  const line = readFileSync(join(ROOT, 'docs/concepts.md'), 'utf8')
    .split('\n')
    .find(one => one.split(' ').length > 12)
  writeFileSync(join(folder, 'copied.txt'), `Before.\n${line}\n`)
  const found = run(folder)
  expect(found.stdout).not.toContain('own.txt')
  expect([found.status, found.stdout]).toEqual([
    1,
    expect.stringMatching(/^docs\/concepts\.md:\d+ shares \d+ words with copied\.txt:2: /m),
  ])
  expect(run()).toMatchObject({ status: 2, stderr: expect.stringContaining('Usage:') })
})
