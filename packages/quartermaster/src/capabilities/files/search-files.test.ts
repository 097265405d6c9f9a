import { symlink, writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { filesFixture, type Said } from '../../testing/files-fixture.ts'

const matches = (said: Said) =>
  said.data.matches as { path: string; in: string; line?: number; column?: number; text?: string; before?: string[] }[]
const places = (said: Said) => matches(said).map(match => (match.line ? `${match.path}:${match.line}` : match.path))

describe('search_files', () => {
  it('finds plain text in names and contents, whatever its case', async () => {
    const files = { 'work/a.md': 'one\nTwo invoices\r\nthree', 'work/sub/invoice.txt': 'nothing', 'work/b.md': '-' }
    const desk = await filesFixture({ files })
    const said = await desk.search({ query: 'INVOICE' })
    expect(places(said)).toEqual(['a.md:2', 'sub/invoice.txt'])
    expect(matches(said)[0]).toMatchObject({ in: 'content', column: 5, text: 'Two invoices' })
    expect(said.data).toMatchObject({ filesSearched: 3, complete: true })
    expect(matches(await desk.search({ query: 'INVOICE', caseSensitive: true }))).toEqual([])
  })

  it('takes plain text literally and an expression in RE2 syntax', async () => {
    const desk = await filesFixture({ files: { 'work/a': 'f(x) = [a-z]+\nfoo' } })
    expect(places(await desk.search({ query: '[a-z]+' }))).toEqual(['a:1'])
    expect(places(await desk.search({ query: '^f\\w+$', regex: true }))).toEqual(['a:2'])
    const bad = await desk.search({ query: '(?=x)', regex: true })
    expect(bad.ok).toBe(false)
    expect(bad.text).toContain('is no regular expression in RE2 syntax (no lookaround, no backreferences)')
    expect((await desk.search({ query: 'a.{900}|b.{900}', regex: true })).text).toContain('too large an expression')
  })

  it('takes no longer for expressions made to be slow', async () => {
    const desk = await filesFixture({ files: { 'work/a': `${'a'.repeat(30_000)}\n` } })
    expect(matches(await desk.search({ query: '(a+)+$b', regex: true }))).toEqual([])
  })

  it('shows lines around a match', async () => {
    const desk = await filesFixture({ files: { 'work/a': '1\n2\n3 here\n4\n5' } })
    const said = await desk.search({ query: 'here', context: 1 })
    expect(matches(said)[0]).toMatchObject({ before: ['2'], after: ['4'] })
    expect(said.text).toContain('a-2- 2\na:3: 3 here\na-4- 4')
  })

  it('cuts a long line around the match', async () => {
    const long = `${'x'.repeat(50_000)}needle${'y'.repeat(50_000)}`
    const desk = await filesFixture({ files: { 'work/min.js': long } })
    for (const regex of [false, true]) {
      const [match] = matches(await desk.search({ query: 'needle', regex }))
      expect(match).toMatchObject({ column: 50_001, text: expect.stringMatching(/^…x{100,}needley{100,}…$/) })
    }
  })

  it('narrows by path and glob, and searches a single file', async () => {
    const files = { 'work/a.md': 'word', 'work/src/a.ts': 'word', 'work/src/a.md': 'word' }
    const desk = await filesFixture({ files })
    expect(places(await desk.search({ query: 'word', glob: '*.ts' }))).toEqual(['src/a.ts:1'])
    expect(places(await desk.search({ query: 'word', path: 'src' }))).toEqual(['src/a.md:1', 'src/a.ts:1'])
    expect(places(await desk.search({ query: 'word', path: 'src/a.md' }))).toEqual(['src/a.md:1'])
  })

  it('leaves .git and node_modules out unless told otherwise', async () => {
    const files = { 'work/.git/config': 'word', 'work/node_modules/x/index.js': 'word', 'work/a': 'word' }
    const desk = await filesFixture({ files })
    const said = await desk.search({ query: 'word' })
    expect(places(said)).toEqual(['a:1'])
    expect(said.data).toMatchObject({ skipped: { ignoredFolders: 2 } })
    expect(places(await desk.search({ query: 'word', includeIgnored: true }))).toHaveLength(3)
    expect(places(await desk.search({ query: 'word', path: 'node_modules' }))).toHaveLength(1)
  })

  it('says how many files it skipped, and why', async () => {
    const desk = await filesFixture({
      files: { 'work/large': 'word'.repeat(100), 'work/a': 'word' },
      maxFileBytes: 100,
    })
    await writeFile(desk.project.path('work/binary'), Buffer.from('word\0word'))
    const said = await desk.search({ query: 'word' })
    expect(places(said)).toEqual(['a:1'])
    expect(said.data).toMatchObject({ skipped: { binary: 1, tooLarge: 1 }, complete: true })
    expect(said.text).toContain('1 files searched; 1 skipped that are no text; 1 skipped that are too large')
  })

  it('stops at the limit and says so, unless that was all', async () => {
    const desk = await filesFixture({ files: { 'work/a': 'word\nword\nword\n' } })
    expect((await desk.search({ query: 'word', limit: 2 })).data).toMatchObject({
      complete: false,
      stoppedBy: 'matches',
    })
    expect((await desk.search({ query: 'word', limit: 3 })).data).toMatchObject({ complete: true })
  })

  it('answers with what it has when the time is over', async () => {
    const desk = await filesFixture({ files: { 'work/a': 'word' } })
    const said = await desk.search({ query: 'word' }, { deadline: Date.now() })
    expect(said).toMatchObject({ ok: true, data: { matches: [], complete: false, stoppedBy: 'time' } })
  })

  it('gives up when the call is aborted, also in the middle of a file', async () => {
    const desk = await filesFixture({ files: { 'work/a': 'aaaa bbbb cccc\n'.repeat(300_000) } })
    const controller = new AbortController()
    const searching = desk.search({ query: '(a|b|c)+ x', regex: true }, { signal: controller.signal })
    setImmediate(() => controller.abort(new Error('gone')))
    await expect(searching).rejects.toThrow('gone')
  })

  it('lets others run meanwhile', async () => {
    const desk = await filesFixture({ files: { 'work/a': 'aaaa bbbb cccc\n'.repeat(100_000) } })
    let turns = 0
    const counter = setInterval(() => turns++, 1)
    await desk.search({ query: '[abc]+ [abc]+ x', regex: true })
    clearInterval(counter)
    expect(turns).toBeGreaterThan(2)
  })

  it('searches all folders where there are several, follows no link and never sees the data folder', async () => {
    const files = { 'work/a': 'TOP-SECRET', 'other/b': 'TOP-SECRET', 'outside/c': 'TOP-SECRET' }
    const desk = await filesFixture({ files, dirs: ['./work', './other', './missing'], dataDir: 'work/data' })
    await symlink(desk.project.path('outside'), desk.project.path('work/out'))
    await symlink('a', desk.project.path('work/link'))
    const said = await desk.search({ query: 'top-secret' })
    expect(places(said)).toEqual(['./work/a:1', './other/b:1'])
    expect(said.text).toContain('The folder "./missing" does not exist.')
  })
})
