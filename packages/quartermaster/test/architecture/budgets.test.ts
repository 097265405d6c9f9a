import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Budgets, lowered, measure, overBudget, type Project } from './budgets.ts'
import { readFiles, readSources } from './sources.ts'
import { countTests } from './test-count.ts'
import { discouragedWordsIn, forbiddenWordsIn } from './words.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const FILE = here('budgets.json')

describe('the budgets', () => {
  it('hold, and are lowered where less is there (npm run budgets -- --write)', () => {
    const measured = measure({
      sources: readSources(here('../../src')),
      tests: readSources(here('..')),
      docs: readFiles(here('../../../../docs'), /\.md$/),
    })
    const asked = process.env['BUDGETS']
    if (asked) process.stdout.write(`${toText(measured)}\n`)
    if (asked === 'write') writeFileSync(FILE, `${toText(lowered(measured, readBudgets()))}\n`)
    expect(overBudget(measured, readBudgets())).toEqual([])
  })
})

const readBudgets = (): Budgets => JSON.parse(readFileSync(FILE, 'utf8'))

/** A line for each row. */
function toText(budgets: Budgets): string {
  const rows = Object.entries(budgets).map(([row, counts]) => `  ${JSON.stringify(row)}: ${JSON.stringify(counts)}`)
  return `{\n${rows.join(',\n')}\n}`
}

const lines = (count: number, text = '// A line.') => `${text}\n`.repeat(count)
const SMALL: Record<string, string> = {
  'index.ts': "export * from './core/health/index.ts'\n",
  'core/health/index.ts': "export { probe } from './probe.ts'\n",
  'core/health/probe.ts': lines(110, 'export const probe = 1'),
  'core/health/probe.test.ts':
    "import { it } from 'vitest'\nimport { probe } from './index.ts'\nit('works', () => probe)\n",
}
const DOCS = { 'health.md': 'Three words here', 'reference/cli.md': 'Generated words do not count' }

function project(planted: Record<string, string> = {}, docs: Record<string, string> = {}): Project {
  const files = (texts: Record<string, string>) => new Map(Object.entries(texts))
  return { sources: files({ ...SMALL, ...planted }), tests: files({}), docs: files({ ...DOCS, ...docs }) }
}

describe('a budget', () => {
  const budgets = measure(project())

  it('has a row for each context, and is kept by what it was measured from', () => {
    expect(Object.keys(budgets)).toEqual(['core/health', 'entry', 'all', 'tests', 'docs'])
    expect(budgets['core/health']).toEqual({
      files: 2,
      lines: 111,
      biggestFolder: 2,
      fragments: 0,
      insideTests: 0,
      forbiddenWords: 0,
      discouragedNames: 0,
    })
    expect(budgets['docs']).toEqual({ words: 3, forbiddenWords: 0 })
    expect(overBudget(budgets, budgets)).toEqual([])
  })

  it.each<[string, Record<string, string>, Record<string, string>, string]>([
    ['a file more', { 'core/health/more.ts': lines(100) }, {}, 'core/health: files is 3 and may be 2 at most'],
    [
      'a file too long to read in one sitting',
      { 'core/health/probe.ts': lines(501) },
      {},
      'all: biggestFile is 501 and may be 500 at most',
    ],
    ['a fuller folder', { 'core/health/more.ts': '' }, {}, 'core/health: biggestFolder is 3 and may be 2 at most'],
    [
      'a paragraph in a file of its own',
      { 'core/health/probe.ts': lines(99) + "import './small.ts'\n", 'core/health/small.ts': lines(59) },
      {},
      'core/health: fragments is 1 and may be 0 at most',
    ],
    [
      'a test of an internal',
      {
        'core/health/more.test.ts':
          "import { it } from 'vitest'\nimport './probe.ts'\nit.each([1, 2])('works', () => 1)\n",
      },
      {},
      'core/health: insideTests is 2 and may be 0 at most',
    ],
    ['a new context', { 'core/desks/index.ts': '' }, {}, 'core/desks: files is 1 and may be 0 at most'],
    [
      'a word in a comment',
      { 'core/health/probe.ts': lines(99) + '// Nobody knows.\n' },
      {},
      'core/health: forbiddenWords is 1 and may be 0 at most',
    ],
    [
      'a word in a name',
      { 'app/up.ts': 'const remoteGuests = 1\n' },
      {},
      'app: forbiddenWords is 1 and may be 0 at most',
    ],
    [
      'a word in the name of a file',
      { 'app/config-desk.ts': '\n' },
      {},
      'app: forbiddenWords is 1 and may be 0 at most',
    ],
    [
      'an export with an empty name',
      { 'app/up.ts': 'export function waitingRoom() {}\n' },
      {},
      'app: discouragedNames is 1 and may be 0 at most',
    ],
    [
      'a word in a test',
      { 'core/health/probe.test.ts': `${SMALL['core/health/probe.test.ts']}// anew\n` },
      {},
      'tests: forbiddenWords is 1 and may be 0 at most',
    ],
    ['a longer guide', {}, { 'more.md': 'word' }, 'docs: words is 4 and may be 3 at most'],
    ['a word in a guide', {}, { 'health.md': 'Somebody mends it' }, 'docs: forbiddenWords is 2 and may be 0 at most'],
    [
      'paragraphs that make the files shorter',
      { 'core/health/probe.ts': lines(50) },
      {},
      'all: medianLines is 50 and has to be 110 at least',
    ],
  ])('is broken by %s', (_what, planted, docs, said) => {
    expect(overBudget(measure(project(planted, docs)), budgets)).toContain(said)
  })

  it('is lowered by what got better, and never raised', () => {
    const better = measure(project({ 'core/health/probe.ts': lines(70) }))
    expect(lowered(better, budgets)).toMatchObject({
      'core/health': { lines: 71 },
    })
    const worse = measure(project({ 'core/health/probe.ts': lines(130) }))
    expect(lowered(worse, budgets)).toMatchObject({ 'core/health': { lines: 111 } })
  })
})

describe('the words', () => {
  it.each([
    ['remoteGuests', ['guests']],
    ['WAITING_SEATS and desk-lamp', ['seats', 'desk']],
    ['a stand-in for StandIns', ['stand-in', 'standins']],
    ['The passage mends nothing anew.', ['passage', 'mends', 'anew']],
    ['recommend amended herds-of-shelves', ['herds', 'shelves']],
  ])('that say nothing are found in %j', (text, found) => {
    expect(forbiddenWordsIn(text)).toEqual(found)
  })

  it('may stay where there is a reason', () => {
    expect(forbiddenWordsIn('the table "seats"; a seat', [{ text: /"seats"/g, reason: 'stored' }])).toEqual(['seat'])
  })

  it('that may stand in a sentence name nothing', () => {
    expect([discouragedWordsIn('standing-room.ts'), discouragedWordsIn('matterCounts')]).toEqual([
      ['standing', 'room'],
      ['matter', 'counts'],
    ])
    expect(discouragedWordsIn('countLetters')).toEqual(['letters'])
    expect([discouragedWordsIn('always-count'), discouragedWordsIn('frontMatter')]).toEqual([[], []])
  })
})

it('tests are counted with those of tables', () => {
  const text = `const LIST = [1, 2, 3] as const
    it('one', () => {}); it.skipIf(true)('two', () => {}); test('three', () => {})
    it.each(LIST)('four %s', () => {}); it.each([[1], [2]])('five', () => {}); it.each(found())('many', () => {})`
  expect(countTests('a.test.ts', text)).toBe(1 + 1 + 1 + 3 + 2 + 1)
})
