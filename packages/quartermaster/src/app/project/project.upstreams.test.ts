import { describe, expect, it, onTestFinished } from 'vitest'
import { silentLog } from '../../adapters/system/index.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { CONFIG } from '../../testing/upstream-fixture.ts'
import { openProject } from './project.ts'

const NOTES = { files: { [CONFIG]: '{ "mcpServers": { "notes": { "command": "notes", "args": ["--deep"] } } }' } }

describe('a mistake in the entry of an upstream that runs', () => {
  it('keeps its last good version until it is fixed or removed', async () => {
    const { dir, path, write } = await tempProject(NOTES.files)
    const project = await openProject({ from: dir, env: {}, watch: false, log: silentLog })
    onTestFinished(() => project.close())
    await write(CONFIG, '{ "mcpServers": { "notes": { "command": "" } } }')
    await project.reload()
    expect(project.upstreams().get('notes')).toMatchObject({ command: 'notes' })
    expect(project.problems()).toMatchObject([
      { where: expect.stringContaining(path(CONFIG)), subject: 'upstream:notes' },
    ])
    await write(CONFIG, '{}')
    await project.reload()
    expect([project.upstreams().size, project.problems()]).toEqual([0, []])
  })

  it('replaces it by an entry that says what is wrong and cannot be run', async () => {
    const { dir } = await tempProject({ [CONFIG]: '{ "mcpServers": { "sh": { "command": 1 } } }' })
    const project = await openProject({ from: dir, env: {}, watch: false, log: silentLog })
    onTestFinished(() => project.close())
    const replaced = project.upstreams().get('sh')
    expect(replaced).toMatchObject({
      enabled: false,
      wrong: expect.stringContaining('`quartermaster doctor` says where'),
    })
    expect(replaced).not.toMatchObject({ command: 'sh' })
  })

  it('applies once the first configuration is written', async () => {
    const { dir, path, write } = await tempProject({ 'notes.txt': '' })
    const project = await openProject({ from: dir, env: {}, watch: false, log: silentLog })
    onTestFinished(() => project.close())
    expect(project.configFile).toBeUndefined()
    await write(CONFIG, NOTES.files[CONFIG])
    await project.reload()
    expect([project.configFile, [...project.upstreams().keys()]]).toEqual([path(CONFIG), ['notes']])
  })
})
