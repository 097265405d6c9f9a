import { execFile } from 'node:child_process'
import { mkdir, readdir, rename, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type FilesFixture, filesFixture, type Said } from '../../testing/files-fixture.ts'

const run = promisify(execFile)

/** Everything an agent can try with a path. */
async function tryAll(desk: FilesFixture, path: string): Promise<Said[]> {
  return [
    await desk.read({ path }),
    await desk.list({ path, depth: 5 }),
    await desk.search({ path, query: 'SECRET' }),
    await desk.write({ path, content: 'overwritten', createFolders: true }),
    await desk.write({ path: `${path}/new`, content: 'planted', createFolders: true }),
  ]
}

describe.each(['handles', 'paths'] as const)('the walls, walking by %s', walk => {
  it.each([
    '../outside/secret',
    '../../../../../../etc/passwd',
    'sub/../../outside/secret',
    '/etc/passwd',
    '/proc/self/cwd/package.json',
    '/proc/self/environ',
    '../work-secret/secret',
    '..',
    '/',
    'link-out',
    'link-out/secret',
    'link-secret',
    'sub/link-up/outside/secret',
    'link-root/etc/passwd',
    'link-proc/root/etc/passwd',
    'link-fd',
  ])('never lead outside by %s', async path => {
    const files = { 'outside/secret': 'SECRET', 'work-secret/secret': 'SECRET', 'work/sub/a': 'inside' }
    const desk = await filesFixture({ walk, files })
    const { project } = desk
    const links = {
      'link-out': project.path('outside'),
      'link-secret': '../outside/secret',
      'sub/link-up': '../..',
      'link-root': '/',
      'link-proc': '/proc/self',
      'link-fd': '/proc/self/fd/0',
    }
    for (const [name, target] of Object.entries(links)) await symlink(target, project.path(`work/${name}`))
    for (const said of await tryAll(desk, path)) {
      expect(said.ok).toBe(false)
      expect(JSON.stringify(said.result)).not.toContain('SECRET')
      expect(said.text).not.toContain(project.dir)
    }
    expect(await project.read('outside/secret')).toBe('SECRET')
    expect(await project.read('work-secret/secret')).toBe('SECRET')
    expect(await readdir(project.path('outside'))).toEqual(['secret'])
    expect((await readdir(project.dir)).sort()).toEqual(['.quartermaster', 'outside', 'work', 'work-secret'])
  })

  it.each(['%2e%2e/outside/secret', '．．/outside/secret', '..∕outside∕secret', '~/secret', '..\\outside\\secret'])(
    'take %s for a name inside',
    async path => {
      const desk = await filesFixture({ walk, files: { 'outside/secret': 'SECRET' } })
      expect(await desk.read({ path })).toMatchObject({ ok: false, text: expect.stringMatching(/^There is no /) })
      expect(await desk.write({ path, content: 'mine', createFolders: true })).toMatchObject({ ok: true })
      expect((await desk.read({ path })).data).toMatchObject({ text: 'mine' })
      expect(await desk.project.read('outside/secret')).toBe('SECRET')
    },
  )

  it('follow a link as far as it stays inside, also into another folder of the agent', async () => {
    const desk = await filesFixture({
      walk,
      files: { 'work/real/a': 'one', 'other/b': 'two' },
      dirs: ['./work', './other'],
    })
    await symlink('real', desk.project.path('work/link'))
    await symlink('../other', desk.project.path('work/over'))
    expect((await desk.read({ path: './work/link/a' })).data).toMatchObject({ text: 'one' })
    expect((await desk.read({ path: './work/over/b' })).data).toMatchObject({ text: 'two' })
    expect((await desk.list({ path: './work/over' })).data).toMatchObject({ entries: [{ path: './work/over/b' }] })
  })

  it('stand also when the folder itself is reached by a link', async () => {
    const desk = await filesFixture({ walk, files: { 'real/a': 'one', secret: 'SECRET' }, dirs: ['./alias'] })
    await symlink('real', desk.project.path('alias'))
    expect((await desk.read({ path: 'a' })).data).toMatchObject({ text: 'one' })
    expect((await desk.read({ path: 'alias/a' })).data).toMatchObject({ text: 'one' })
    expect((await desk.read({ path: '../secret' })).ok).toBe(false)
  })

  it('refuse links that lead in a circle', async () => {
    const desk = await filesFixture({ walk })
    await symlink('two', desk.project.path('work/one'))
    await symlink('one', desk.project.path('work/two'))
    for (const said of await tryAll(desk, 'one'))
      expect(said).toMatchObject({ ok: false, text: expect.stringContaining('in a circle') })
  })

  it('refuse pipes and sockets without waiting for the other end', async () => {
    const desk = await filesFixture({ walk })
    await run('mkfifo', [desk.project.path('work/pipe')])
    const server = createServer()
    await new Promise<void>(listening => server.listen(desk.project.path('work/socket'), listening))
    onTestFinished(() => void server.close())
    for (const path of ['pipe', 'socket']) {
      for (const said of await tryAll(desk, path)) expect(said.ok).toBe(false)
    }
    expect((await desk.search({ query: 'x' })).data).toMatchObject({ filesSearched: 0 })
  })

  it('keep composed and decomposed names apart where the file system does', async () => {
    const desk = await filesFixture({ walk, files: { 'work/caf\u00e9': 'composed' } })
    await desk.write({ path: 'cafe\u0301', content: 'decomposed' })
    expect((await desk.read({ path: 'cafe\u0301' })).data).toMatchObject({ text: 'decomposed' })
    expect((await desk.read({ path: 'caf\u00e9' })).data).toMatchObject({
      text: /darwin|win32/.test(process.platform) ? 'decomposed' : 'composed',
    })
  })
})

describe.each(['handles', 'paths'] as const)('the data folder, walking by %s', walk => {
  const paths = ['data', './data', 'data/admin.token', 'alias', 'alias/admin.token', 'token', 'sub/../data/admin.token']

  it('is never inside, though it lies in the folder', async () => {
    const desk = await filesFixture({ walk, files: { 'work/sub/a': 'x' }, dataDir: 'work/data' })
    await symlink('data', desk.project.path('work/alias'))
    await symlink('data/admin.token', desk.project.path('work/token'))
    for (const path of [...paths, desk.project.path('work/data/admin.token')]) {
      for (const said of await tryAll(desk, path)) {
        expect(said.ok).toBe(false)
        expect(JSON.stringify(said.result)).not.toContain('TOP-SECRET')
      }
    }
    expect(await readdir(desk.project.path('work/data'))).toEqual(['admin.token'])
    expect(await desk.project.read('work/data/admin.token')).toBe('TOP-SECRET')
  })

  it('is not shown, not searched and not suggested', async () => {
    const desk = await filesFixture({ walk, files: { 'work/a': 'SECRET', 'work/sub/b': '' }, dataDir: 'work/sub/data' })
    const listed = await desk.list({ depth: 10 })
    expect(listed.text).not.toContain('data')
    expect((await desk.search({ query: 'secret' })).data).toMatchObject({ matches: [{ path: 'a' }] })
    expect((await desk.search({ query: 'admin' })).data).toMatchObject({ matches: [] })
    expect((await desk.read({ path: 'sub/dat' })).text).toBe(
      'There is no "sub/dat" in the folders you may use: "./work". See list_files.',
    )
  })

  it('is known under another name, when it was configured by a link', async () => {
    const desk = await filesFixture({ walk, dataDir: 'configured' })
    await rm(desk.project.path('configured'), { recursive: true })
    await desk.project.write('work/hidden/admin.token', 'TOP-SECRET')
    await symlink('work/hidden', desk.project.path('configured'))
    for (const said of await tryAll(desk, 'hidden/admin.token')) expect(said.ok).toBe(false)
    expect((await desk.list({ depth: 3 })).data).toMatchObject({ entries: [] })
  })

  it('cannot be an agent\u2019s folder, and neither can what is in it', async () => {
    for (const dir of ['./.quartermaster', './.quartermaster/inner', './door']) {
      const desk = await filesFixture({ walk, dirs: [dir], files: { '.quartermaster/inner/key': 'TOP-SECRET' } })
      await symlink('.quartermaster/inner', desk.project.path('door'))
      for (const said of [await desk.list(), ...(await tryAll(desk, 'key')), ...(await tryAll(desk, 'admin.token'))]) {
        expect(said).toMatchObject({ ok: false, text: expect.stringContaining('belongs to the gateway itself') })
      }
    }
  })

  it('cannot be made by an agent before it exists, in no spelling', async () => {
    const desk = await filesFixture({ walk, noData: true, dataDir: 'work/.quartermaster' })
    for (const path of [
      '.quartermaster',
      '.quartermaster/admin.token',
      '.Quartermaster/admin.token',
      'x/../.QUARTERMASTER/a/b',
    ]) {
      expect(await desk.write({ path, content: 'mine', createFolders: true })).toMatchObject({ ok: false })
    }
    expect(await readdir(desk.project.path('work'))).toEqual([])
  })

  it('stays closed when it is moved to another place inside', async () => {
    const desk = await filesFixture({ walk, dataDir: 'work/data' })
    await mkdir(desk.project.path('work/sub'))
    await rename(desk.project.path('work/data'), desk.project.path('work/sub/moved'))
    await symlink('sub/moved', desk.project.path('work/data'))
    for (const said of await tryAll(desk, 'sub/moved/admin.token')) expect(said.ok).toBe(false)
  })
})
