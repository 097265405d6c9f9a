import { rm, symlink } from 'node:fs/promises'
import { describe, expect, it, vi } from 'vitest'
import { CONFIG, upstreamFixture as desk } from '../../testing/upstream-fixture.ts'

const NOTES = { files: { [CONFIG]: '{ "mcpServers": { "notes": { "command": "notes", "args": ["--deep"] } } }' } }

describe('removing an upstream', () => {
  it('takes it from all agents that have it, and answers what stood in their files', async () => {
    const files = {
      ...NOTES.files,
      'agents/default.json': '{ "capabilities": { "notes": {}, "files": {} } }',
      'agents/ada.json': '{ "capabilities": { "files": {}, "notes": { "tools": ["read"] } } }',
      'agents/bob.json': '{ "capabilities": { "files": {} } }',
    }
    const { control, json, folder } = await desk({ files })
    expect(await control.removeUpstream({ name: 'notes' })).toEqual({
      file: folder.path(CONFIG),
      revokedFrom: ['ada', 'default'],
      taken: { ada: { tools: ['read'] }, default: {} },
      stillNamedBy: [],
      problems: [],
      removedSecrets: [],
      keptSecrets: [],
    })
    expect(await json(CONFIG)).toEqual({ mcpServers: {} })
    for (const agent of ['default', 'ada', 'bob'])
      expect(await json(`agents/${agent}.json`)).toEqual({ capabilities: { files: {} } })
    expect(await control.upstreams({})).toEqual([])
  })

  it('answers references as they stand in the file, also those of which nobody knows the value', async () => {
    const agent = (secret: string) => `{ "capabilities": { "notes": { "tools": ["\${${secret}}"] } } }`
    const files = { ...NOTES.files, 'agents/ada.json': agent('env:READ'), 'agents/bob.json': agent('secret:NONE') }
    const { control, json } = await desk({ files, env: { READ: 'hush' } })
    expect(await control.removeUpstream({ name: 'notes' })).toMatchObject({
      taken: { ada: { tools: ['${env:READ}'] }, bob: { tools: ['${secret:NONE}'] } },
      problems: [],
    })
    for (const name of ['ada', 'bob']) expect(await json(`agents/${name}.json`)).toEqual({ capabilities: {} })
  })

  it('names the agents whose files cannot be changed, says why, and takes it from the others', async () => {
    const files = {
      ...NOTES.files,
      'agents/ada.json': '{ "capabilities": { "notes": {} }, "titel": "Ada" }',
      'agents/bob.json': '{ "capabilities": { "files": {} }, "titel": "Bob" }',
      'agents/default.json': '{ "capabilities": { "notes": { "tools": [] } } }',
      'shared/eve.json': '{ "capabilities": { "notes": {} } }',
    }
    const { control, json, folder } = await desk({ files })
    await symlink('../shared/eve.json', folder.path('agents/eve.json'))
    const removed = await control.removeUpstream({ name: 'notes' })
    expect(removed).toMatchObject({ revokedFrom: ['default'], taken: { default: { tools: [] } } })
    expect(removed).toMatchObject({ stillNamedBy: ['ada', 'eve'] })
    expect(removed.problems).toMatchObject([
      { severity: 'warning', where: 'agents/ada.json', message: expect.stringContaining('titel') },
      { severity: 'warning', where: 'agents/eve.json', message: expect.stringContaining('is a link') },
    ])
    expect(await json(CONFIG)).toEqual({ mcpServers: {} })
    expect(await json('shared/eve.json')).toEqual({ capabilities: { notes: {} } })
  })

  it('takes it from the agents first, so that one that is cut off leaves none with a file that names what is gone', async () => {
    const files = { ...NOTES.files, 'agents/default.json': '{ "capabilities": { "notes": {}, "files": {} } }' }
    const { control, project, json } = await desk({ files })
    const writing = vi.spyOn(project.configEditor, 'removeUpstream').mockRejectedValueOnce(new Error('No space left.'))
    await expect(control.removeUpstream({ name: 'notes' })).rejects.toThrow('No space left.')
    expect(await json(CONFIG)).toHaveProperty('mcpServers.notes')
    expect(await json('agents/default.json')).toEqual({ capabilities: { files: {} } })
    await control.removeUpstream({ name: 'notes' })
    expect(await json(CONFIG)).toEqual({ mcpServers: {} })
    expect(writing).toHaveBeenCalledTimes(2)
  })

  it('does nothing where nobody can tell which agents there are', async () => {
    const { control, json, folder } = await desk(NOTES)
    await rm(folder.path('agents'), { recursive: true })
    await symlink('agents', folder.path('agents'))
    await expect(control.removeUpstream({ name: 'notes' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    expect(await json(CONFIG)).toHaveProperty('mcpServers.notes')
  })

  it('leaves a capability of the same name to the agents', async () => {
    const files = {
      [CONFIG]: '{ "mcpServers": { "files": { "command": "a" } } }',
      'agents/default.json': '{ "capabilities": { "files": {} } }',
    }
    const { control, json, done } = await desk({ files, others: ['files'] })
    expect(await control.removeUpstream({ name: 'files' })).toMatchObject({ taken: {}, stillNamedBy: [] })
    expect(await json('agents/default.json')).toEqual({ capabilities: { files: {} } })
    expect(done).toEqual([{ forgotten: 'files' }])
  })

  it('forgets what only the store knows of one without an entry, and takes it from agents that still have it', async () => {
    const files = { [CONFIG]: '{}', 'agents/default.json': '{ "capabilities": { "notes": { "tools": ["read"] } } }' }
    const { control, json, done, folder } = await desk({ files, leftBehind: [{ name: 'notes', pins: 3, logins: 1 }] })
    expect(await control.removeUpstream({ name: 'notes' })).toEqual({
      file: folder.path(CONFIG),
      revokedFrom: ['default'],
      taken: { default: { tools: ['read'] } },
      stillNamedBy: [],
      problems: [],
      removedSecrets: [],
      keptSecrets: [],
      forgotten: { pins: 3, logins: 1 },
    })
    expect(await json('agents/default.json')).toEqual({ capabilities: {} })
    expect(done).toEqual([{ forgotten: 'notes' }])
  })

  it('forgets nothing where nobody can tell whether there is an entry', async () => {
    const { control, done, folder } = await desk({ leftBehind: [{ name: 'notes', pins: 3, logins: 1 }] })
    await folder.write(CONFIG, '{ "mcpServers": ')
    await expect(control.removeUpstream({ name: 'notes' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    expect(done).toEqual([])
  })

  it('needs one that is there, or of which the store has something', async () => {
    const { control, done } = await desk({ ...NOTES, leftBehind: [{ name: 'mail', pins: 3, logins: 1 }] })
    await expect(control.removeUpstream({ name: 'nots' })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
      message: expect.stringContaining('Did you mean "notes"?'),
    })
    expect(done).toEqual([])
  })
})
