import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fencesOf, ROOT, readPages } from './pages.ts'

const snippets = readPages().flatMap(page =>
  fencesOf(page)
    .filter(({ marks }) => marks.file !== undefined)
    .map(fence => ({ page: page.file, file: fence.marks.file ?? '', text: fence.text })),
)

describe('snippets', () => {
  it('that name a file are that file', () => {
    expect(snippets.map(({ page }) => page)).toContain('README.md')
    for (const { page, file, text } of snippets) {
      expect(text, `${page}: ${file}`).toBe(readFileSync(join(ROOT, file), 'utf8'))
    }
  })
})
