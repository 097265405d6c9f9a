import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from './pages.ts'

const SOURCES = 'packages/quartermaster/src'
/** A row of the table: a step, one file, its functions. */
const ROW = /^\| [^|]+ \| `(?<file>[^`]+\.ts)` \| (?<functions>`[^|]+`) \|$/gm

it('the walk-through names files and functions that exist', () => {
  const rows = [...readFileSync(join(ROOT, 'docs/walk-through.md'), 'utf8').matchAll(ROW)]
  const steps = rows.map(({ groups }) => ({
    file: groups?.['file'] ?? '',
    functions: [...(groups?.['functions'] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name ?? ''),
  }))
  expect(steps.length).toBeGreaterThan(10)
  const missing = steps.flatMap(({ file, functions }) => {
    const path = join(ROOT, SOURCES, file)
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    const isThere = (name: string) => new RegExp(`\\bfunction\\*? ${name}\\b`).test(text)
    return functions.filter(name => !isThere(name)).map(name => `${file}: ${name}`)
  })
  expect(missing).toEqual([])
})
