import { mkdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { tempProject } from '../../testing/temp-project.ts'
import { findProject } from './index.ts'

describe('finding the project', () => {
  it('takes the configuration file of the working folder', async () => {
    const project = await tempProject({ 'quartermaster.config.json': {} })
    expect(await findProject({ from: project.dir })).toEqual({
      projectDir: project.dir,
      configFile: project.path('quartermaster.config.json'),
    })
  })

  it('looks upwards for the nearest configuration file', async () => {
    const project = await tempProject({
      'quartermaster.config.json': {},
      'a/quartermaster.config.json': {},
      'a/b/c/x.txt': '',
    })
    const found = await findProject({ from: project.path('a/b/c') })
    expect(found).toEqual({ projectDir: project.path('a'), configFile: project.path('a/quartermaster.config.json') })
  })

  it('takes the working folder when there is no configuration file up to the root', async () => {
    const project = await tempProject()
    expect(await findProject({ from: project.dir })).toEqual({ projectDir: project.dir })
  })

  it('takes the folder that a package.json on the way names, unless a configuration file is nearer', async () => {
    const project = await tempProject({
      'package.json': { quartermaster: { project: 'tools/mine' } },
      'tools/mine/quartermaster.config.json': {},
      'docs/x.txt': '',
      'other/quartermaster.config.json': {},
    })
    const named = {
      projectDir: project.path('tools/mine'),
      configFile: project.path('tools/mine/quartermaster.config.json'),
    }
    expect(await findProject({ from: project.path('docs') })).toEqual(named)
    expect(await findProject({ from: project.dir })).toEqual(named)
    expect(await findProject({ from: project.path('other') })).toMatchObject({ projectDir: project.path('other') })
  })

  it.each(['..', '.', 'gone', '/'])('refuses a package.json that names %j as the project', async name => {
    const project = await tempProject({ 'package.json': { quartermaster: { project: name } } })
    await expect(findProject({ from: project.dir })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`${project.path('package.json')} names "${name}"`),
    })
  })

  it.each(['{', '{ "devDependencies": { "quartermaster": "1.0.0" } }', '{ "quartermaster": null }', '[]'])(
    'leaves the package.json %j to others',
    async text => {
      const project = await tempProject({ 'package.json': text })
      expect(await findProject({ from: project.dir })).toEqual({ projectDir: project.dir })
    },
  )

  it('does not take a folder of that name for a configuration file', async () => {
    const project = await tempProject()
    await mkdir(project.path('quartermaster.config.json'))
    expect(await findProject({ from: project.dir })).toEqual({ projectDir: project.dir })
  })

  it('takes the file that was asked for, counted from the working folder', async () => {
    const project = await tempProject({ 'other/my.json': {}, 'quartermaster.config.json': {} })
    const found = await findProject({ from: project.dir, config: 'other/my.json' })
    expect(found).toEqual({ projectDir: project.path('other'), configFile: project.path('other/my.json') })
  })

  it('says which file is missing when the one asked for does not exist', async () => {
    const project = await tempProject({ 'quartermaster.config.json': {} })
    const missing = findProject({ from: project.dir, config: 'nope.json' })
    await expect(missing).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(project.path('nope.json')),
    })
  })
})
