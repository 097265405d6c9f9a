import { chmod, readdir, symlink } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { type FilesFixture, filesFixture, type Said } from '../../testing/files-fixture.ts'

/** Each tool, asked for a path. */
async function askAll(desk: FilesFixture, path: string): Promise<Said[]> {
  return [
    await desk.read({ path }),
    await desk.list({ path }),
    await desk.search({ path, query: 'x' }),
    await desk.write({ path, content: 'x' }),
    await desk.write({ path, content: 'x', createFolders: true }),
  ]
}

const MISSING =
  'The folder "./no/where" does not exist. A person has to create it, or correct "dirs" in this agent\'s file.'

describe.each(['handles', 'paths'] as const)('a folder that an agent was given, walking by %s', walk => {
  it('is named by every tool when it does not exist', async () => {
    const desk = await filesFixture({ walk, dirs: ['./no/where'] })
    const said = [...(await askAll(desk, 'a.md')), ...(await askAll(desk, '.')), await desk.list()]
    for (const each of said) expect(each).toMatchObject({ ok: false, text: MISSING })
    expect(await desk.search({ query: 'x' })).toMatchObject({ ok: false, text: MISSING })
    expect((await readdir(desk.project.dir)).sort()).toEqual(['.quartermaster', 'work'])
  })

  it('is named by every tool when it is missing among others, and they stay usable', async () => {
    const desk = await filesFixture({ walk, dirs: ['./work', './no/where'], files: { 'work/a.md': 'x' } })
    for (const each of await askAll(desk, './no/where/a.md')) {
      expect(each).toMatchObject({ ok: false, text: expect.stringContaining(MISSING) })
    }
    expect((await desk.list()).data).toMatchObject({ entries: [{ path: './work' }], notes: [MISSING] })
    expect((await desk.search({ query: 'x' })).text).toContain(MISSING)
    expect(await desk.read({ path: 'a.md' })).toMatchObject({ ok: true })
    expect(await desk.write({ path: './work/b.md', content: 'x' })).toMatchObject({ ok: true })
    expect((await readdir(desk.project.path('work'))).sort()).toEqual(['a.md', 'b.md'])
  })

  it('is told with all others when none of them can be used', async () => {
    const desk = await filesFixture({ walk, dirs: ['./no/where', './.quartermaster', './file'], files: { file: 'x' } })
    for (const said of [await desk.list(), await desk.search({ query: 'x' })]) {
      expect(said.ok).toBe(false)
      expect(said.text).toContain(MISSING)
      expect(said.text).toContain('"./.quartermaster" belongs to the gateway itself and is closed. A person has to')
      expect(said.text).toContain('"./file" is not a folder. A person has to correct "dirs" in this agent\'s file.')
    }
  })

  it('is closed in the data folder, whether it exists or not', async () => {
    const desk = await filesFixture({ walk, dirs: ['./.quartermaster/nope'] })
    for (const each of await askAll(desk, 'a.md')) {
      expect(each).toMatchObject({
        ok: false,
        text:
          '"./.quartermaster/nope" belongs to the gateway itself and is closed. ' +
          'A person has to correct "dirs" in this agent\'s file.',
      })
    }
  })

  it('is named when it is a link in a circle', async () => {
    const desk = await filesFixture({ walk, dirs: ['./circle'] })
    await symlink('circle', desk.project.path('circle'))
    for (const each of await askAll(desk, 'a.md')) expect(each.text).toContain('"./circle" is a link that leads in a')
  })

  it.skipIf(process.getuid?.() === 0)('is named when it is closed to this account', async () => {
    const desk = await filesFixture({ walk, dirs: ['./closed/inner'], files: { 'closed/inner/a.md': 'x' } })
    await chmod(desk.project.path('closed'), 0o000)
    try {
      for (const each of await askAll(desk, 'a.md')) expect(each.text).toContain('"./closed/inner" is closed to the')
    } finally {
      await chmod(desk.project.path('closed'), 0o700)
    }
  })

  it('is listed whole, also when a link in it leads back to it', async () => {
    const desk = await filesFixture({ walk, files: { 'work/b': 'x', 'work/sub/c': 'x' } })
    await symlink('.', desk.project.path('work/a'))
    const { entries } = (await desk.list({ depth: 3 })).data
    expect(entries).toMatchObject([{ path: 'a' }, { path: 'b' }, { path: 'sub' }, { path: 'sub/c' }])
  })
})
