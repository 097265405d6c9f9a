import { describe, expect, it } from 'vitest'
import { runPage } from './console.ts'
import { fencesOf, readPage, readPages } from './pages.ts'

const PAGES = ['README.md', 'docs/first-safe-call.md', 'docs/first-tool.md', 'docs/recover-or-reload.md']

// The pages are written for a POSIX shell.
describe.skipIf(process.platform === 'win32')('what pages show', () => {
  // Each mostly waits for what comes by itself.
  it.concurrent.each(PAGES)('is what happens: %s', async file => {
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

  it('means the operations of the run by the ids that the page has for them', async () => {
    const [one, two] = [`op_${'x'.repeat(24)}`, `op_${'y'.repeat(24)}`]
    const print = (number: number) => `printf 'op_%024d\\n' ${number}`
    const blocks = [`$ ${print(7)}`, one, `$ echo ${one} && ${print(8)}`, one, two, `$ ${print(8)}`, one]
    const steps = await runPage({ file: 'page.md', text: `\`\`\`console\n${blocks.join('\n')}\n\`\`\`\n` })
    expect(steps.map(({ printed, shown }) => [printed, shown])).toEqual([
      [one, one],
      [`${one}\n${two}`, `${one}\n${two}`],
      [two, one],
    ])
  })
})
