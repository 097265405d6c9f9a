import { describe, expect, it } from 'vitest'
import { runPage } from './console.ts'
import { fencesOf, readPage, readPages } from './pages.ts'

const PAGES = ['README.md', 'docs/first-tool.md', 'docs/recover-or-reload.md']

// The pages are written for a POSIX shell.
describe.skipIf(process.platform === 'win32')('what pages show', () => {
  it.each(PAGES)('is what happens: %s', { timeout: 240_000 }, async file => {
    const steps = await runPage(readPage(file))
    expect(steps.length).toBeGreaterThan(0)
    for (const { command, printed, shown } of steps) expect(`$ ${command}\n${printed}`).toBe(`$ ${command}\n${shown}`)
  })

  it('is run wherever a page shows it', () => {
    const showing = readPages().filter(page => fencesOf(page).some(({ language }) => language === 'console'))
    expect(showing.map(page => page.file)).toEqual(PAGES)
  })

  it('is found out when it is something else', async () => {
    const text = '```console\n$ echo one && echo two >&2\none\ntwo\n$ pwd\n/elsewhere\n```\n'
    expect(await runPage({ file: 'page.md', text })).toEqual([
      { command: 'echo one && echo two >&2', printed: 'one\ntwo', shown: 'one\ntwo' },
      { command: 'pwd', printed: '…', shown: '/elsewhere' },
    ])
  })
})
