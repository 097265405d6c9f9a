import { importsOf } from './imports.ts'
import { targetOf } from './rules.ts'
import { isForTests, type Sources } from './sources.ts'
import { countTests } from './test-count.ts'
import { discouragedWordsIn, forbiddenWordsIn } from './words.ts'

/** Figures by row, and in a row by what is counted. A row is a context, or `all`, `tests`, `docs`. */
export type Budgets = Readonly<Record<string, Readonly<Record<string, number>>>>

export interface Project {
  readonly sources: Sources
  /** Tests and their fixtures outside of the sources. */
  readonly tests: Sources
  readonly docs: Sources
}

/** The figures of a project. */
export function measure({ sources, tests, docs }: Project): Budgets {
  const product = new Map([...sources].filter(([path]) => !isForTests(path)))
  const importers = importersOf(product)
  const rows = groupBy([...product.keys()], contextOf).map(([context, paths]) => {
    const text = (path: string) => product.get(path) ?? ''
    const folders = groupBy(paths, folderOf)
    const isFragment = (path: string) =>
      !isFace(path) && linesOf(text(path)) < FRAGMENT && importers.get(path)?.size === 1
    const inside = [...sources].filter(([path]) => contextOf(path) === context && isInsideTest(path, sources))
    return [
      context,
      {
        files: paths.length,
        lines: sum(paths, path => linesOf(text(path))),
        biggestFolder: Math.max(...folders.map(([, files]) => files.length)),
        fragments: paths.filter(isFragment).length,
        insideTests: sum(inside, ([path, body]) => countTests(path, body)),
        forbiddenWords: sum(paths, path => forbiddenWordsIn(`${path} ${text(path)}`).length),
        discouragedNames: sum(paths, path => discouragedNamesIn(path, text(path))),
      },
    ] as const
  })
  const forTests = [...[...sources].filter(([path]) => isForTests(path)), ...tests]
  return {
    ...Object.fromEntries(rows.sort(([a], [b]) => (a < b ? -1 : 1))),
    all: {
      biggestFile: Math.max(...[...product.values()].map(linesOf)),
      medianLines: median([...product].filter(([path]) => !isFace(path)).map(([, text]) => linesOf(text))),
    },
    tests: { forbiddenWords: sum(forTests, pair => forbiddenWordsIn(pair.join(' ')).length) },
    docs: {
      words: sum([...docs].filter(isWrittenByHand), ([, text]) => text.split(/\s+/).length),
      forbiddenWords: sum([...docs.values()], text => forbiddenWordsIn(text).length),
    },
  }
}

/** Smaller files that only one other imports are paragraphs of it. */
const FRAGMENT = 60

/** The one figure that must not be lower than its budget. */
const FLOOR = 'medianLines'

/** Figures that may change up to these when files are merged or shrink, whatever they are today. */
const FIXED: Readonly<Record<string, number>> = { biggestFile: 500, medianLines: 110 }

/** What is worse than its budget, a sentence each. What has no budget yet has none to spend. */
export function overBudget(measured: Budgets, budgets: Budgets): string[] {
  return figures(measured).flatMap(({ row, what, count }) => {
    const budget = FIXED[what] ?? budgets[row]?.[what] ?? 0
    if (what === FLOOR) return count < budget ? [`${row}: ${what} is ${count} and has to be ${budget} at least`] : []
    return count > budget ? [`${row}: ${what} is ${count} and may be ${budget} at most`] : []
  })
}

/** The better of both, figure by figure; rows of which there is nothing left go. */
export function lowered(measured: Budgets, budgets: Budgets): Budgets {
  const rows: Record<string, Record<string, number>> = {}
  for (const { row, what, count } of figures(measured)) {
    if (what in FIXED) continue
    const budget = budgets[row]?.[what] ?? count
    ;(rows[row] ??= {})[what] = Math.min(count, budget)
  }
  return rows
}

function figures(budgets: Budgets) {
  return Object.entries(budgets).flatMap(([row, counts]) =>
    Object.entries(counts).map(([what, count]) => ({ row, what, count })),
  )
}

/** `core/health`, `adapters/http`, and otherwise the first folder; what stands in none is an entry point. */
function contextOf(path: string): string {
  const [first = '', second = '', third] = path.split('/')
  if (second === '') return 'entry'
  return (first === 'core' || first === 'adapters') && third !== undefined ? `${first}/${second}` : first
}

function folderOf(path: string): string {
  return path.replace(/[^/]*$/, '')
}

function isFace(path: string): boolean {
  return /(^|\/)index\.ts$/.test(path)
}

function importersOf(product: Sources): Map<string, Set<string>> {
  const importers = new Map<string, Set<string>>()
  for (const [path, text] of product) {
    for (const specifier of importsOf(path, text).specifiers) {
      const target = targetOf(path, specifier)
      if (target !== undefined) importers.set(target, (importers.get(target) ?? new Set()).add(path))
    }
  }
  return importers
}

/** Whether a test knows a file that is not the face of its folder. */
function isInsideTest(path: string, sources: Sources): boolean {
  if (!path.endsWith('.test.ts')) return false
  const targets = importsOf(path, sources.get(path) ?? '').specifiers.flatMap(name => targetOf(path, name) ?? [])
  return targets.some(target => folderOf(target) === folderOf(path) && !isFace(target) && !isForTests(target))
}

function discouragedNamesIn(path: string, text: string): number {
  const exported = [...text.matchAll(EXPORTED)].map(([, name = '']) => name)
  return sum([path.replace(/^.*\//, ''), ...exported], name => discouragedWordsIn(name).length)
}

const EXPORTED = /^export (?:abstract |async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm

/** What is generated has the words of the sources. */
function isWrittenByHand([path]: readonly [string, string]): boolean {
  return !/^reference\/(?:cli\.md|api\.md|tools\/|capabilities\/)/.test(path)
}

function linesOf(text: string): number {
  return text.split('\n').length - 1
}

function median(counts: readonly number[]): number {
  return counts.toSorted((a, b) => a - b)[Math.floor(counts.length / 2)] ?? 0
}

function sum<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((total, item) => total + count(item), 0)
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return [...groups]
}
