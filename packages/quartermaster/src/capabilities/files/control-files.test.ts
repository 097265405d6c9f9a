import { mkdir, readdir, rm, symlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type FilesFixture, type FixtureOptions, filesFixture } from '../../testing/files-fixture.ts'
import { fold } from '../shared/text.ts'

const PROJECT = {
  'quartermaster.config.json': 'original',
  'agents/me.json': 'original',
  'capabilities/tool.ts': 'original',
  'knowledge/deep/unit.md': 'original',
  'notes/a.md': 'original',
}

/** An agent that was given the whole project folder. */
const openFixture = (options: FixtureOptions = {}) => filesFixture({ dirs: ['.'], files: PROJECT, ...options })

const refused = (path: string) =>
  `"${path}" was not written: it belongs to the project's control files ` +
  '(quartermaster.config.json, agents, capabilities, knowledge), which decide what agents may do. ' +
  'A person has to make this change, or allow this agent all such changes with "editProject": true ' +
  'under "files" in its file.'

/** What is said to every way of writing; once, when it is always the same. */
async function writing(desk: FilesFixture, path: string): Promise<string[]> {
  const said = new Set<string>()
  for (const how of [{}, { createFolders: true }, { mode: 'create' }, { mode: 'create', createFolders: true }]) {
    const { ok, text } = await desk.write({ path, content: 'mine', ...how })
    said.add(ok ? `Written: ${text}` : text)
  }
  return [...said]
}

/** What is no longer as it was. */
async function changes(desk: FilesFixture): Promise<string[]> {
  const names = await readdir(desk.project.dir, { recursive: true })
  const changed = names.filter(name => /new|\.tmp$/.test(name))
  for (const file of Object.keys(PROJECT)) if ((await desk.project.read(file)) !== 'original') changed.push(file)
  return changed
}

describe.each(['handles', 'paths'] as const)('the control files of the project, walking by %s', walk => {
  it.each([
    'quartermaster.config.json',
    'agents/me.json',
    'agents/new.json',
    'agents/new/deep.json',
    'capabilities/tool.ts',
    'capabilities/new.ts',
    'knowledge/deep/unit.md',
    'knowledge/deep/new.md',
    './agents/../agents//new.json',
    'notes/../agents/me.json',
    'Agents/new.json',
    'AGENTS/me.json',
    'agent\u017f/new.json',
    'age\u200bnts/new.json',
    '\u212anowledge/new.md',
    'Quartermaster.Config.JSON',
    'quartermaster.con\ufb01g.json',
  ])('are not written as %s', async path => {
    const desk = await openFixture({ walk })
    expect(await writing(desk, path)).toEqual([refused(path)])
    expect(await changes(desk)).toEqual([])
  })

  it('are not written by an absolute path, or from a folder around the project', async () => {
    const desk = await openFixture({ walk })
    const absolute = desk.project.path('agents/me.json')
    expect(await writing(desk, absolute)).toEqual([refused(absolute)])
    const wide = await openFixture({ walk, dirs: ['..'] })
    const further = `${basename(wide.project.dir)}/agents/new.json`
    expect(await writing(wide, further)).toEqual([refused(further)])
    expect([...(await changes(desk)), ...(await changes(wide))]).toEqual([])
  })

  it('are not written through links', async () => {
    const desk = await openFixture({ walk })
    const links = { door: '../agents', deep: '../knowledge/deep', config: '../quartermaster.config.json', up: '..' }
    for (const [name, target] of Object.entries(links)) await symlink(target, desk.project.path(`notes/${name}`))
    for (const path of ['door/me.json', 'door/new.json', 'door/new/a', 'deep/new.md', 'config', 'up/agents/new.json']) {
      expect(await writing(desk, `notes/${path}`)).toEqual([refused(`notes/${path}`)])
    }
    expect(await changes(desk)).toEqual([])
  })

  it('are not written where they really are, when the project has links to them', async () => {
    const desk = await openFixture({
      walk,
      files: { 'shared/people/me.json': 'original', 'shared/config': 'original' },
    })
    await symlink('shared/people', desk.project.path('agents'))
    await symlink('shared/config', desk.project.path('quartermaster.config.json'))
    await symlink('shared/later/skills', desk.project.path('knowledge'))
    for (const path of ['people/me.json', 'people/new.json', 'config', 'later/skills/new.md', 'Later/Skills/new.md']) {
      expect(await writing(desk, `shared/${path}`)).toEqual([refused(`shared/${path}`)])
    }
    expect((await readdir(desk.project.path('shared'))).sort()).toEqual(['config', 'people'])
    expect(await readdir(desk.project.path('shared/people'))).toEqual(['me.json'])
  })

  it('are not made before they exist', async () => {
    const desk = await openFixture({ walk, files: {} })
    for (const path of [
      'agents',
      'agents/me.json',
      'Agents/me.json',
      'agents/a/b/c',
      'capabilities/x.ts',
      'knowledge/x.md',
      'quartermaster.config.json',
      'quartermaster.config.json/x',
    ]) {
      expect(await writing(desk, path)).toEqual([refused(path)])
    }
    expect((await readdir(desk.project.dir)).sort()).toEqual(['.quartermaster', 'work'])
  })

  it('are not written by an agent whose folder is one of them', async () => {
    for (const dir of ['./agents', './knowledge/deep', './door']) {
      const desk = await openFixture({ walk, dirs: [dir] })
      await symlink('agents', desk.project.path('door'))
      expect(await writing(desk, 'new.json')).toEqual([refused('new.json')])
      expect(await changes(desk)).toEqual([])
    }
  })

  it('are known when they were made since the last call', async () => {
    const desk = await openFixture({ walk, files: {} })
    await symlink('agents', desk.project.path('door'))
    expect(await writing(desk, 'agents/a.json')).toEqual([refused('agents/a.json')])
    await mkdir(desk.project.path('agents'))
    expect(await writing(desk, 'door/a.json')).toEqual([refused('door/a.json')])
    await rm(desk.project.path('door'))
    expect(await readdir(desk.project.path('agents'))).toEqual([])
  })

  it('can be read, listed and searched', async () => {
    const desk = await openFixture({ walk })
    expect((await desk.read({ path: 'agents/me.json' })).data).toMatchObject({ text: 'original' })
    expect((await desk.list({ path: 'agents' })).data).toMatchObject({ entries: [{ path: 'agents/me.json' }] })
    expect((await desk.search({ query: 'original', path: 'capabilities' })).data).toMatchObject({
      matches: [{ path: 'capabilities/tool.ts' }],
    })
  })

  it('leave everything else open, also names that only look like theirs', async () => {
    const desk = await openFixture({ walk })
    for (const path of ['notes/a.md', 'notes/agents/a.md', 'agents.md', 'my-agents/a', 'agents-old/a', 'config.json']) {
      expect(await desk.write({ path, content: 'mine', createFolders: true })).toMatchObject({ ok: true })
    }
    expect(await desk.project.read('notes/agents/a.md')).toBe('mine')
  })

  it('are written by an agent that may edit the project', async () => {
    const desk = await openFixture({ walk, editProject: true })
    await rm(desk.project.path('knowledge'), { recursive: true })
    for (const path of ['quartermaster.config.json', 'agents/me.json', 'capabilities/new.ts', 'knowledge/new.md']) {
      expect(await desk.write({ path, content: 'mine', createFolders: true })).toMatchObject({ ok: true })
      expect(await desk.project.read(path)).toBe('mine')
    }
    expect(await desk.write({ path: '.quartermaster/admin.token', content: 'mine' })).toMatchObject({ ok: false })
  })
})

describe('a folded name', () => {
  it.each([
    ['AGENTS', 'agents'],
    ['agent\u017f', 'agents'],
    ['a\u200dgents\ufeff', 'agents'],
    ['\u212anowledge', 'knowledge'],
    ['con\ufb01g', 'config'],
    ['Cafe\u0301', 'caf\u00e9'],
  ])('is the same for %j and %j', (one, other) => {
    expect(fold(one)).toBe(fold(other))
  })
})

it('includes the configuration file in use, whatever its name', async () => {
  const desk = await openFixture({ configFile: 'notes/a.md' })
  expect(await writing(desk, 'notes/a.md')).toEqual([refused('notes/a.md')])
  expect(await changes(desk)).toEqual([])
})
