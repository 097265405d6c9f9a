import { execFile } from 'node:child_process'
import { symlink, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { type FilesFixture, filesFixture, type Said } from '../../testing/files-fixture.ts'

const entries = (said: Said) => said.data.entries as { path: string; kind: string; size?: number; leadsTo?: string }[]
const shown = (said: Said) => entries(said).map(entry => entry.path)

async function allPages(desk: FilesFixture, input: object): Promise<string[][]> {
  const pages: string[][] = []
  let cursor: string | undefined
  do {
    const said = await desk.list({ ...input, ...(cursor && { cursor }) })
    pages.push(shown(said))
    cursor = said.data.nextCursor as string | undefined
  } while (cursor !== undefined)
  return pages
}

const TREE = { 'work/b.md': 'bb', 'work/a/x.ts': '', 'work/a/deep/y.md': '', 'work/c': '', 'work/.hidden': '' }

describe('list_files', () => {
  it('shows a folder, sorted, with kind, size and time', async () => {
    const desk = await filesFixture({ files: TREE })
    const said = await desk.list()
    expect(shown(said)).toEqual(['.hidden', 'a', 'b.md', 'c'])
    expect(entries(said)[1]).toMatchObject({ kind: 'folder' })
    expect(entries(said)[2]).toMatchObject({ kind: 'file', size: 2, modified: expect.stringMatching(/^\d{4}-.*Z$/) })
    expect(said.data).toMatchObject({ path: '.', more: false, notes: [] })
  })

  it('looks as deep as it is told, folders before what is in them', async () => {
    const desk = await filesFixture({ files: TREE })
    expect(shown(await desk.list({ depth: 3 }))).toEqual([
      '.hidden',
      'a',
      'a/deep',
      'a/deep/y.md',
      'a/x.ts',
      'b.md',
      'c',
    ])
    expect(shown(await desk.list({ path: 'a', depth: 2 }))).toEqual(['a/deep', 'a/deep/y.md', 'a/x.ts'])
    expect(shown(await desk.list({ depth: 10, glob: '*.md' }))).toEqual(['a/deep/y.md', 'b.md'])
    expect(shown(await desk.list({ depth: 10, glob: 'a/**/*.md' }))).toEqual(['a/deep/y.md'])
  })

  it('gives every entry exactly once over pages of any size', async () => {
    const desk = await filesFixture({ files: TREE })
    const whole = shown(await desk.list({ depth: 10 }))
    for (const limit of [1, 2, 3, 4, 6, 7]) {
      const pages = await allPages(desk, { depth: 10, limit })
      expect(pages.flat()).toEqual(whole)
      expect(pages).toHaveLength(Math.ceil(whole.length / limit))
    }
  })

  it('says when the list is cut, and goes on although files came and went', async () => {
    const desk = await filesFixture({ files: { 'work/a': '', 'work/b': '', 'work/d': '' } })
    const first = await desk.list({ limit: 2 })
    expect(first.data).toMatchObject({ more: true })
    expect(first.text).toContain('There is more: go on with cursor')
    await desk.project.write('work/c', '')
    expect(shown(await desk.list({ limit: 2, cursor: first.data.nextCursor }))).toEqual(['c', 'd'])
    expect(await desk.list({ cursor: 'nonsense' })).toMatchObject({ ok: false })
  })

  it('shows all folders of the agent as "." where there are several, as they were written', async () => {
    const desk = await filesFixture({ files: { 'work/a': '', 'other/b': '' }, dirs: ['./work', './gone', './other/'] })
    const said = await desk.list()
    expect(shown(said)).toEqual(['./work', './other'])
    expect(said.text).toContain('The folder "./gone" does not exist.')
    expect(said.text).not.toContain(desk.project.dir)
    expect(shown(await desk.list({ depth: 2 }))).toEqual(['./work', './work/a', './other', './other/b'])
    expect((await allPages(desk, { depth: 2, limit: 1 })).flat()).toEqual([
      './work',
      './work/a',
      './other',
      './other/b',
    ])
    expect((await desk.read({ path: './other/b' })).ok).toBe(true)
  })

  it('shows links with what they lead to, and follows none', async () => {
    const desk = await filesFixture({ files: { 'work/real/a': '', 'outside/b': '' } })
    await symlink('real', desk.project.path('work/link'))
    await symlink('loop', desk.project.path('work/loop'))
    await symlink('nothing', desk.project.path('work/dangling'))
    await symlink(desk.project.path('outside'), desk.project.path('work/out'))
    await symlink(desk.project.path('.quartermaster'), desk.project.path('work/data'))
    const said = await desk.list({ depth: 5 })
    expect(shown(said)).toEqual(['link', 'real', 'real/a'])
    expect(entries(said)[0]).toMatchObject({ kind: 'link', leadsTo: 'folder' })
    expect(said.text).toContain('[4 not listed: closed, leading outside, or with names that cannot be used.]')
  })

  it('hides leftovers of writes and names that cannot be asked for', async () => {
    const desk = await filesFixture({ files: { 'work/a': '', 'work/.quartermaster-00112233445566ff.tmp': 'half' } })
    await writeFile(desk.project.path('work/two\nlines'), '')
    await promisify(execFile)('mkfifo', [desk.project.path('work/pipe')])
    const said = await desk.list()
    expect(entries(said).map(({ path, kind }) => [path, kind])).toEqual([
      ['a', 'file'],
      ['pipe', 'other'],
    ])
    expect(said.data).toMatchObject({ notes: [expect.stringContaining('1 not listed')] })
  })

  it('says what else to use for a file, and what is wrong with an empty answer', async () => {
    const desk = await filesFixture({ files: { 'work/a': '', 'work/sub/b': '' } })
    expect(await desk.list({ path: 'a' })).toMatchObject({ ok: false, text: '"a" is not a folder; use read_file.' })
    expect((await desk.list({ glob: '*.nope' })).text).toBe('Nothing matches "*.nope".')
  })
})
