import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })
const bench = (...args: string[]) => node('--expose-gc', 'bench/search/index.mjs', '--documents', '50', ...args)
const lines = (rows: readonly object[]) => rows.map(row => JSON.stringify(row)).join('\n')

const TOOLS = [
  { id: 'a', name: 'send_mail', description: 'Sends a mail.', parameters: [{ name: 'to', description: 'Recipient' }] },
  { id: 'b', name: 'get_weather', description: 'Weather for a place.', group: 'outdoors', parameters: [] },
  { id: 'c', name: 'plot_chart', description: 'Plots a chart.' },
]
const QUERIES = [
  { query: 'mail to a recipient', relevant: ['a'], tag: 'office' },
  { query: 'how is the weather. plot it as a chart.', relevant: ['b', 'c'], tag: 'field' },
  { query: 'mail', relevant: ['a', 'b'], tag: 'field' },
]

let folder: string

beforeAll(async () => {
  // The benchmark measures the build, so there has to be one of these sources.
  await node('scripts/ensure.mjs')
  folder = await mkdtemp(join(tmpdir(), 'bench-search-'))
  await writeFile(join(folder, 'tools.jsonl'), `${lines(TOOLS)}\n`)
  await writeFile(join(folder, 'queries.one.jsonl'), lines(QUERIES.slice(0, 1)))
  await writeFile(join(folder, 'queries.two.jsonl'), lines(QUERIES.slice(1)))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the search benchmark', () => {
  it('prints recall, nDCG, times and memory as JSON', async () => {
    const { stdout } = await bench('--data', folder, '--json')
    const { figures } = JSON.parse(stdout) as { figures: { part: string; what: string; measured: number }[] }
    const measured = Object.fromEntries(figures.map(({ what, measured }) => [what, measured]))
    expect([...new Set(figures.map(({ part }) => part))]).toEqual(['quality', 'examples', 'units', 'speed'])
    expect(measured['all, questions']).toBe(3)
    // One of the two tools of the last question is not found: it counts half.
    expect(measured['all, recall@5']).toBeCloseTo(250 / 3)
    expect(measured['several needs, all of them within 10']).toBeCloseTo(50)
    expect(measured['office, nDCG@10']).toBeCloseTo(100)
    expect(measured['field, nDCG@10']).toBeCloseTo((100 + 100 / (1 + 1 / Math.log2(3))) / 2)
    expect(measured['all, with examples where there are any, recall@5']).toBeCloseTo(250 / 3)
    expect(measured['units, among units, questions']).toBeGreaterThan(0)
    expect(measured['tools, among units and tools, with examples, questions']).toBe(3)
    expect(measured['50 documents, search, p99']).toBeGreaterThan(0)
  })

  it('prints a table for people', async () => {
    const { stdout } = await bench('--data', folder, '--only', 'quality,speed')
    expect(stdout).toMatch(/quality: all, recall@10 +83.3 %/)
    expect(stdout).toMatch(/speed: 50 documents, search, p99 +\S+ ms +10 ms +(ok|over)/)
  })

  it('says what is missing when it is not told where the data is', async () => {
    await expect(bench()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('--data FOLDER') })
  })
})
