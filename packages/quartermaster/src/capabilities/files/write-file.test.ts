import { chmod, link, readdir, stat, symlink } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { filesFixture } from '../../testing/files-fixture.ts'

describe.each(['handles', 'paths'] as const)('write_file, walking by %s', walk => {
  it('makes a file, and replaces it', async () => {
    const desk = await filesFixture({ walk })
    const first = await desk.write({ path: 'a.md', content: 'Übung' })
    expect(first.data).toEqual({ path: 'a.md', size: 6, created: true })
    const second = await desk.write({ path: 'a.md', content: 'two' })
    expect(second.data).toEqual({ path: 'a.md', size: 3, created: false })
    expect(await desk.project.read('work/a.md')).toBe('two')
    expect(await readdir(desk.project.path('work'))).toEqual(['a.md'])
  })

  it('keeps the mode of a replaced file and leaves other names of it alone', async () => {
    const desk = await filesFixture({ walk, files: { 'work/a.sh': 'old' } })
    await chmod(desk.project.path('work/a.sh'), 0o750)
    await link(desk.project.path('work/a.sh'), desk.project.path('hard'))
    await desk.write({ path: 'a.sh', content: 'new' })
    expect((await stat(desk.project.path('work/a.sh'))).mode & 0o7777).toBe(0o750)
    expect(await desk.project.read('hard')).toBe('old')
  })

  it('creates only where nothing is, also when many try at once', async () => {
    const desk = await filesFixture({ walk })
    const tries = Array.from({ length: 20 }, (_, index) =>
      desk.write({ path: 'one', content: `${index}`, mode: 'create' }),
    )
    const said = await Promise.all(tries)
    const winner = said.findIndex(each => each.ok)
    expect(said.filter(each => each.ok)).toHaveLength(1)
    expect(await desk.project.read('work/one')).toBe(`${winner}`)
    expect(said.find(each => !each.ok)?.text).toContain('"one" exists already and was left alone')
    expect(await readdir(desk.project.path('work'))).toEqual(['one'])
  })

  it('shows readers the old content or the new one, never a part', async () => {
    const desk = await filesFixture({ walk, files: { 'work/a': 'x'.repeat(50_000) } })
    const writes = Array.from({ length: 40 }, (_, index) =>
      desk.write({ path: 'a', content: (index % 2 ? 'x' : 'y').repeat(50_000) }),
    )
    const reads = Array.from({ length: 40 }, () => desk.project.read('work/a'))
    for (const text of await Promise.all(reads)) expect(text).toMatch(/^(x{50000}|y{50000})$/)
    await Promise.all(writes)
    expect(await readdir(desk.project.path('work'))).toEqual(['a'])
  })

  it('makes the folders on the way when told to', async () => {
    const desk = await filesFixture({ walk })
    const without = await desk.write({ path: 'x/y/a', content: '' })
    expect(without.text).toBe(
      'The folder of "x/y/a" does not exist. Set createFolders to make it, or look with list_files.',
    )
    expect((await desk.write({ path: 'x/y/a', content: '1', createFolders: true })).ok).toBe(true)
    expect(await desk.project.read('work/x/y/a')).toBe('1')
  })

  it('writes where the path leads from the project, when only that folder exists', async () => {
    const desk = await filesFixture({ walk })
    expect((await desk.write({ path: 'work/a', content: '1' })).data).toMatchObject({ path: 'a' })
    expect(await desk.project.read('work/a')).toBe('1')
  })

  it('writes bytes given as base64, and refuses what is not', async () => {
    const desk = await filesFixture({ walk })
    await desk.write({ path: 'b', content: 'AAH/\n/g==', encoding: 'base64' })
    expect((await desk.read({ path: 'b' })).data).toMatchObject({ kind: 'binary', size: 4 })
    for (const content of ['not base64!', 'A', '=AAA', 'AA=A']) {
      expect((await desk.write({ path: 'c', content, encoding: 'base64' })).text).toBe(
        'The content is not valid base64.',
      )
    }
    expect((await desk.write({ path: 'c', content: 'half \ud800' })).ok).toBe(false)
  })

  it('refuses more than the largest size and touches nothing', async () => {
    const desk = await filesFixture({ walk, maxFileBytes: 10 })
    const said = await desk.write({ path: 'x/a', content: 'x'.repeat(11), createFolders: true })
    expect(said.text).toContain('The content has 11 bytes; a file may have 10 bytes.')
    expect(await readdir(desk.project.path('work'))).toEqual([])
  })

  it('follows a link only to a file inside, and keeps the link', async () => {
    const desk = await filesFixture({ walk, files: { 'work/real/a': 'old', 'outside/b': 'old' } })
    await symlink('real/a', desk.project.path('work/in'))
    await symlink(desk.project.path('outside/b'), desk.project.path('work/out'))
    await symlink(desk.project.path('outside'), desk.project.path('work/away'))
    await symlink('real/nothing', desk.project.path('work/dangling'))
    expect((await desk.write({ path: 'in', content: 'new' })).ok).toBe(true)
    expect(await desk.project.read('work/real/a')).toBe('new')
    expect((await desk.write({ path: 'out', content: 'new' })).text).toContain('is outside of the folders')
    expect((await desk.write({ path: 'away/c', content: 'new' })).text).toContain('is outside of the folders')
    expect((await desk.write({ path: 'away/d/c', content: 'new', createFolders: true })).ok).toBe(false)
    expect((await desk.write({ path: 'dangling', content: 'new' })).text).toContain('is a link that leads nowhere')
    expect(await readdir(desk.project.path('work/real'))).toEqual(['a'])
    expect(await readdir(desk.project.path('outside'))).toEqual(['b'])
    expect(await desk.project.read('outside/b')).toBe('old')
  })

  it('leaves nothing behind when it is aborted', async () => {
    const desk = await filesFixture({ walk, files: { 'work/a': 'old' } })
    const reason = new Error('gone')
    // The first look is before anything is touched, the second before the file takes its name.
    let looks = 0
    const signal = { throwIfAborted: () => void (++looks === 2 && raise(reason)) } as AbortSignal
    await expect(desk.write({ path: 'a', content: 'new' }, { signal })).rejects.toBe(reason)
    expect(await readdir(desk.project.path('work'))).toEqual(['a'])
    expect(await desk.project.read('work/a')).toBe('old')
  })

  it('refuses to write over a folder or through a file', async () => {
    const desk = await filesFixture({ walk, files: { 'work/sub/a': 'old' } })
    expect((await desk.write({ path: 'sub', content: '' })).text).toBe('"sub" is a folder; give the path of a file.')
    expect((await desk.write({ path: '.', content: '' })).text).toBe('"." is a folder; give the path of a file.')
    const through = await desk.write({ path: 'sub/a/b', content: '', createFolders: true })
    expect(through.text).toBe('"sub/a/b" goes through something that is not a folder.')
  })
})

function raise(error: Error): never {
  throw error
}
