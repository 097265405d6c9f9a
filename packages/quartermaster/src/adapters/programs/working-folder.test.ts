import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { callTool, openChannel, tempFolder } from '../mcp-upstream/testing/child-fixture.ts'
import { workingFolder } from './index.ts'

/** A project with a data folder in it, links to it, and folders beside it. */
async function project() {
  const projectDir = join(await tempFolder(), 'project')
  const dataDir = join(projectDir, '.quartermaster')
  await mkdir(join(dataDir, 'attachments'), { recursive: true })
  await mkdir(join(projectDir, 'docs'))
  await mkdir(join(projectDir, '.quartermaster-notes'))
  await writeFile(join(projectDir, 'server.mjs'), '')
  await symlink(dataDir, join(projectDir, 'link'))
  await symlink(join(projectDir, 'docs'), join(projectDir, 'papers'))
  return { projectDir, dataDir }
}

describe('the working folder of a child', () => {
  it('is the project folder unless the configuration names another', async () => {
    const folders = await project()
    expect(await workingFolder(folders)).toBe(folders.projectDir)
    expect(await workingFolder({ ...folders, cwd: 'docs' })).toBe(join(folders.projectDir, 'docs'))
    expect(await workingFolder({ ...folders, cwd: './papers/' })).toBe(join(folders.projectDir, 'docs'))
    expect(await workingFolder({ ...folders, cwd: '/' })).toBe('/')
    expect(await workingFolder({ ...folders, cwd: '.quartermaster-notes' })).toContain('.quartermaster-notes')
  })

  it.each(['.quartermaster', '.quartermaster/attachments', 'docs/../.quartermaster', 'link', 'link/attachments'])(
    'is never the data folder: %s',
    async cwd => {
      await expect(workingFolder({ ...(await project()), cwd })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('belongs to the data folder'),
      })
    },
  )

  it('has to be there, and to be a folder', async () => {
    const folders = await project()
    await expect(workingFolder({ ...folders, cwd: 'gone' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: `The working folder "${join(folders.projectDir, 'gone')}" is not there. Make it, or change "cwd".`,
    })
    await expect(workingFolder({ ...folders, cwd: 'server.mjs' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('is no folder'),
    })
  })

  it('does not need a data folder', async () => {
    const { projectDir } = await project()
    expect(await workingFolder({ projectDir, dataDir: join(projectDir, 'none') })).toBe(projectDir)
  })

  it('is where the child runs', async () => {
    const cwd = await workingFolder({ ...(await project()), cwd: 'papers' })
    const server = await openChannel({ cwd })
    expect(await callTool(server, 'where')).toBe(cwd)
  })
})
