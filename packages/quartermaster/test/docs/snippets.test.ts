import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fencesOf, ROOT, readPages } from './pages.ts'

const fences = readPages().flatMap(page => fencesOf(page).map(fence => ({ ...fence, page: page.file })))

describe('snippets', () => {
  it('that name a file are that file', () => {
    const named = fences.filter(({ marks }) => marks.file !== undefined)
    expect(named.map(({ page }) => page)).toContain('README.md')
    for (const { page, marks, text } of named) {
      expect(text, `${page}: ${marks.file}`).toBe(readFileSync(join(ROOT, marks.file ?? ''), 'utf8'))
    }
  })

  it('of code all name a file, which is compiled and run', () => {
    const code = fences.filter(({ language }) => ['ts', 'js', 'typescript', 'javascript'].includes(language))
    expect(code.filter(({ marks }) => !marks.file?.startsWith('examples/')).map(({ page }) => page)).toEqual([])
  })

  it('of JSON can be read', () => {
    const texts = fences.filter(({ language }) => language === 'json').map(({ text }) => text)
    expect(texts.map(text => typeof JSON.parse(text))).toEqual(texts.map(() => 'object'))
  })
})
