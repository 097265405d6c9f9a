// @ts-check
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HELD_MS, watchLoop } from '../lib/event-loop.mjs'
import { figure } from '../lib/figure.mjs'
import { residentMb } from '../lib/memory.mjs'
import { product } from '../lib/product.mjs'
import { highest, median } from '../lib/statistics.mjs'

/** "A small fraction of a build." */
const FRACTION = 0.1

/**
 * A project folder of TypeScript files: built once, reloaded as it is, and reloaded after one edit.
 * @param {object} options
 * @param {number} options.files
 * @param {number} options.repeats
 */
export async function run({ files, repeats }) {
  const dir = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
  try {
    await writeProject(dir, files)
    return await measure(dir, files, repeats)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/**
 * @param {string} dir
 * @param {number} files
 * @param {number} repeats
 */
async function measure(dir, files, repeats) {
  const { value: quartermaster, ...build } = await observed(() => product.createQuartermaster({ dir }))
  const resident = residentMb()
  try {
    const tools = quartermaster.tools({ section: 'shelf_0' })
    if (tools.length !== 2) throw new Error(`shelf_0 has ${tools.length} tools instead of 2.`)
    const same = await repeated(repeats, () => reloaded(quartermaster, 0))
    const edited = await repeated(repeats, async i => {
      await writeFile(fileOf(dir, i % files), capabilityText(i % files, `edit ${i}`))
      return reloaded(quartermaster, 3)
    })
    return [
      figure(`${files} files, first build`, build.ms, 'ms'),
      figure(`${files} files, first build, processor time without the bundler's`, build.cpuMs, 'ms'),
      figure(`${files} files, first build, event loop held at most`, build.heldMs, 'ms', HELD_MS),
      figure(`${files} files, resident memory after the build`, resident, 'MB'),
      figure('nothing changed', median(same.ms), 'ms'),
      figure('nothing changed', median(same.ms) / build.ms, 'of a build', FRACTION),
      figure('nothing changed, event loop held at most', highest(same.heldMs), 'ms', HELD_MS),
      figure('one edited file', median(edited.ms), 'ms'),
      figure('one edited file', median(edited.ms) / build.ms, 'of a build', FRACTION),
      figure('one edited file, event loop held at most', highest(edited.heldMs), 'ms', HELD_MS),
    ]
  } finally {
    await quartermaster.stop()
  }
}

/**
 * @param {import('../../packages/quartermaster/src/index.ts').Quartermaster} quartermaster
 * @param {number} expected How many definitions have changed.
 */
async function reloaded(quartermaster, expected) {
  const { value: report, ...times } = await observed(() => quartermaster.reload())
  const { changed, rejected } = report
  if (changed.length === expected && rejected.length === 0) return times
  throw new Error(`${changed.length} definitions changed instead of ${expected}. ${JSON.stringify(rejected[0])}`)
}

/**
 * @template T
 * @param {() => Promise<T>} work
 */
async function observed(work) {
  const loop = watchLoop()
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  const value = await work()
  const ms = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpu)
  return { value, ms, cpuMs: (user + system) / 1000, heldMs: await loop.longestMs() }
}

/**
 * @param {number} times
 * @param {(i: number) => Promise<{ ms: number, heldMs: number }>} work
 */
async function repeated(times, work) {
  /** @type {{ ms: number[], heldMs: number[] }} */
  const all = { ms: [], heldMs: [] }
  for (let i = 0; i < times; i++) {
    const { ms, heldMs } = await work(i)
    all.ms.push(ms)
    all.heldMs.push(heldMs)
  }
  return all
}

/**
 * @param {string} dir
 * @param {number} files
 */
async function writeProject(dir, files) {
  await mkdir(join(dir, 'capabilities'))
  await mkdir(join(dir, 'agents'))
  await writeFile(join(dir, 'quartermaster.config.json'), '{}')
  await writeFile(join(dir, 'agents', 'default.json'), JSON.stringify({ capabilities: { shelf_0: {} } }))
  await writeFile(join(dir, 'capabilities', '_text.ts'), HELPER)
  for (let i = 0; i < files; i++) await writeFile(fileOf(dir, i), capabilityText(i, 'first'))
}

/**
 * @param {string} dir
 * @param {number} i
 */
function fileOf(dir, i) {
  return join(dir, 'capabilities', `shelf_${i}.ts`)
}

const HELPER = `export function titled(shelf: string, words: readonly string[]): string {
  return \`\${shelf}: \${words.join(', ')}\`
}
`

/**
 * @param {number} i
 * @param {string} edition
 */
function capabilityText(i, edition) {
  return `import { defineCapability, defineTool } from 'quartermaster'
import { titled } from './_text.ts'

const search = defineTool({
  name: 'search_${i}',
  short: 'Searches shelf ${i} (${edition}).',
  mutates: false,
  input: {
    type: 'object',
    properties: { query: { type: 'string' }, limit: { type: 'integer', minimum: 1 } },
    required: ['query'],
  },
  handler: ({ query }) => titled('${i}', [query]),
})

const put = defineTool({
  name: 'put_${i}',
  short: 'Puts something on shelf ${i} (${edition}).',
  input: { type: 'object', properties: { title: { type: 'string' }, copies: { type: 'integer' } }, required: ['title'] },
  handler: ({ title }) => titled('${i}', [title]),
})

export default defineCapability({ key: 'shelf_${i}', short: 'Shelf ${i}.', tools: [search, put] })
`
}
