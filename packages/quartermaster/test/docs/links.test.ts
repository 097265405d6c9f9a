import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { anchorsOf, type Page, proseOf, ROOT, readPages, targetOf } from './pages.ts'

const LINK = /\[[^\]]*\]\(([^)\s]+)\)/g

function brokenLinks(page: Page): string[] {
  const links = [...proseOf(page).matchAll(LINK)].map(match => match[1] ?? '')
  return links.filter(link => !/^[a-z]+:/.test(link) && !resolves(page, link)).map(link => `${page.file}: ${link}`)
}

function resolves(page: Page, link: string): boolean {
  const { file, anchor } = targetOf(page, link)
  if (!existsSync(join(ROOT, file))) return false
  if (anchor === '') return true
  return anchorsOf({ file, text: readFileSync(join(ROOT, file), 'utf8') }).has(anchor)
}

describe('links', () => {
  it('lead to files and headings that exist, on every page', () => {
    expect(readPages().flatMap(brokenLinks)).toEqual([])
  })

  it('reach every page from the README', () => {
    const pages = new Map(readPages().map(page => [page.file, page]))
    const reached = new Set(['README.md'])
    for (const file of reached) {
      const page = pages.get(file)
      if (!page) continue
      for (const [, link = ''] of proseOf(page).matchAll(LINK)) reached.add(targetOf(page, link).file)
    }
    expect([...pages.keys()].filter(file => !reached.has(file))).toEqual([])
  })

  it.each([
    ['a file that is not there', 'see [x](docs/nowhere.md)'],
    ['a heading that is not there', '# Here\nsee [x](#there)'],
    ['a heading of another page', 'see [x](LICENSE#nothing)'],
  ])('are found out when they lead to %s', (_what, text) => {
    expect(brokenLinks({ file: 'README.md', text })).toHaveLength(1)
  })
})
