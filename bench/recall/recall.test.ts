import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

// The benchmark measures the build, so there has to be one of these sources.
beforeAll(() => node('scripts/ensure.mjs'))

it('says in a line what is wrong with a folder that is not one of conversations', async () => {
  for (const args of [['bench/recall'], ['--folder', 'bench/recall'], ['--folder', 'nowhere']])
    await expect(node('bench/recall/index.mjs', ...args)).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^[^\n]*--folder [^\n]*\n$/),
    })
})

it('finds more of the sample’s evidence than plain BM25 does', async () => {
  const { stdout } = await node('--expose-gc', 'bench/recall/index.mjs', '--rows', '400', '--json')
  const { figures } = JSON.parse(stdout) as { figures: { part: string; what: string; measured: number }[] }
  const of = (what: string, from = 'quality') =>
    figures.find(figure => figure.part === from && figure.what === what)?.measured ?? Number.NaN
  expect(of('questions', 'held-out')).toBe(177)
  for (const depth of [5, 10])
    expect(of(`recall@${depth}`, 'held-out')).toBeGreaterThan(of(`recall@${depth} of plain BM25`, 'held-out'))
  expect(of('questions')).toBe(207)
  for (const set of ['', 'companions, ', 'friends, ', 'letters, ', 'notes, ', 'operations, '])
    for (const depth of [5, 10])
      expect(of(`${set}recall@${depth}`)).toBeGreaterThan(of(`${set}recall@${depth} of plain BM25`))
  expect(figures.some(({ what }) => what.startsWith('400 memories, recall'))).toBe(true)
})
