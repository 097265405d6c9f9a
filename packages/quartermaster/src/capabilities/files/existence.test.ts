import { chmod, rm, symlink } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { type FilesFixture, type FixtureOptions, filesFixture, type Said } from '../../testing/files-fixture.ts'

/** Everything an agent can ask about a path, and what it is told, with the path itself left out. */
async function answersAbout(desk: FilesFixture, path: string): Promise<string[]> {
  const asked: [string, Said][] = [
    [path, await desk.read({ path })],
    [path, await desk.list({ path, depth: 3 })],
    [path, await desk.search({ path, query: 'SECRET' })],
    [path, await desk.write({ path, content: 'mine' })],
    [path, await desk.write({ path, content: 'mine', mode: 'create' })],
    [path, await desk.write({ path, content: 'mine', createFolders: true })],
    [`${path}/new`, await desk.write({ path: `${path}/new`, content: 'mine' })],
    [`${path}/new/a`, await desk.write({ path: `${path}/new/a`, content: 'mine', createFolders: true })],
  ]
  return asked.map(([path, said]) => JSON.stringify(said.result).replaceAll(JSON.stringify(path).slice(1, -1), 'PATH'))
}

const OUTSIDE = expect.stringContaining('\\"PATH\\" is outside of the folders you may use')

/** Compares all answers about both. Outside, they are one and the same. */
async function areAlike(desk: FilesFixture, existing: string, absent: string): Promise<string[]> {
  const answers = await answersAbout(desk, existing)
  expect(await answersAbout(desk, absent)).toEqual(answers)
  return [...new Set(answers)]
}

const LINKS = {
  out: '../outside',
  'to-file': '../outside/secret',
  'to-nothing': '../outside/nope',
  'to-nothing-far': '../outside/nope/nope',
  'to-circle': '../outside/circle',
  'to-link': 'to-nothing',
  'over-link': 'out/sub/../nope',
  data: '.quartermaster',
  token: '.quartermaster/admin.token',
  'no-token': '.quartermaster/nope',
}

/** A folder with the data folder in it, and links that lead out of it. */
async function deskWithLinks(options: FixtureOptions): Promise<FilesFixture> {
  const files = { 'outside/secret': 'SECRET', 'outside/sub/deep': 'SECRET', 'work/a': 'inside', 'other/a': 'inside' }
  const desk = await filesFixture({ files, dataDir: 'work/.quartermaster', ...options })
  await symlink('circle', desk.project.path('outside/circle'))
  for (const [name, target] of Object.entries(LINKS)) await symlink(target, desk.project.path(`work/${name}`))
  return desk
}

describe.each(['handles', 'paths'] as const)('what is not inside, walking by %s', walk => {
  it.each([
    ['a file of the data folder', '.quartermaster/admin.token', '.quartermaster/nope'],
    ['something in a file of it', '.quartermaster/admin.token/x', '.quartermaster/nope/x'],
    ['it and another spelling of it', '.quartermaster', '.Quartermaster'],
    ['a name that is too long', '.quartermaster/admin.token', `.quartermaster/${'n'.repeat(300)}`],
    ['a file of it through a link', 'data/admin.token', 'data/nope'],
    ['a link to a file of it', 'token', 'no-token'],
    ['a file outside by ..', '../outside/secret', '../outside/nope'],
    ['a folder outside by ..', '../outside/sub', '../nope/sub'],
    ['a file by an absolute path', '/etc/passwd', '/etc/nope'],
    ['a file through a link', 'out/secret', 'out/nope'],
    ['a folder through a link', 'out/sub', 'out/nope'],
    ['a file in a folder through a link', 'out/sub/deep', 'out/nope/deep'],
    ['something in a file through a link', 'out/secret/x', 'out/nope/x'],
    ['a name that is too long, through a link', 'out/secret', `out/${'n'.repeat(300)}`],
    ['a circle through a link', 'out/circle', 'out/nope'],
    ['a link to a file', 'to-file', 'to-nothing'],
    ['a link to something further in', 'to-file', 'to-nothing-far'],
    ['a link to a circle', 'to-circle', 'to-nothing'],
    ['a link to a link', 'to-file', 'to-link'],
    ['a link over a link', 'to-file', 'over-link'],
  ])('is answered alike whether it exists or not: %s', async (_what, existing, absent) => {
    for (const dirs of [['./work'], ['./work', './other'], ['./other', './work']]) {
      const desk = await deskWithLinks({ walk, dirs })
      expect(await areAlike(desk, existing, absent)).toEqual([OUTSIDE])
    }
  })

  it('is answered alike by an absolute path to the data folder', async () => {
    const desk = await deskWithLinks({ walk })
    const data = desk.project.path('work/.quartermaster')
    expect(await areAlike(desk, `${data}/admin.token`, `${data}/nope`)).toEqual([OUTSIDE])
  })

  it('is answered alike before the data folder exists', async () => {
    const [there, absent] = [await deskWithLinks({ walk }), await deskWithLinks({ walk, noData: true })]
    for (const path of ['.quartermaster', '.quartermaster/admin.token', 'data', 'data/x', 'token']) {
      expect(await answersAbout(absent, path)).toEqual(await answersAbout(there, path))
    }
  })

  it('is listed alike: a link to something outside and one to nothing', async () => {
    const desk = await filesFixture({ walk, files: { 'outside/secret': 'SECRET' } })
    const listings: unknown[] = []
    for (const target of ['../outside/secret', '../outside/nope', '../.quartermaster/admin.token']) {
      await symlink(target, desk.project.path('work/link'))
      listings.push((await desk.list()).data)
      await rm(desk.project.path('work/link'))
    }
    expect(listings[0]).toMatchObject({ entries: [], notes: [expect.stringMatching(/^1 not listed/)] })
    expect(listings).toEqual([listings[0], listings[0], listings[0]])
  })

  it.skipIf(process.getuid?.() === 0)('is answered alike when it is closed to this account', async () => {
    const desk = await deskWithLinks({ walk })
    await chmod(desk.project.path('outside/sub'), 0o000)
    try {
      expect(await areAlike(desk, 'out/sub/deep', 'out/nope/deep')).toEqual([OUTSIDE])
    } finally {
      await chmod(desk.project.path('outside/sub'), 0o700)
    }
  })

  it('is told from what is missing inside', async () => {
    const desk = await deskWithLinks({ walk })
    await symlink('nothing', desk.project.path('work/within'))
    for (const path of ['nope', 'nope/x', 'within']) {
      expect((await desk.read({ path })).text).toMatch(new RegExp(`^There is no "${path}"`))
    }
    expect((await desk.write({ path: 'within', content: '' })).text).toContain('is a link that leads nowhere')
  })
})
