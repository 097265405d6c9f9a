import { describe, expect, it } from 'vitest'
import { CONFIG, upstreamDesk as desk } from '../testing/upstream-desk.ts'

const NOTES = { files: { [CONFIG]: '{ "mcpServers": { "notes": { "command": "notes", "args": ["--deep"] } } }' } }

describe('removing an upstream', () => {
  it('takes it from the agents that say nothing else about it, and names the others', async () => {
    const files = {
      ...NOTES.files,
      'agents/default.json': '{ "capabilities": { "notes": {}, "files": {} } }',
      'agents/ada.json': '{ "capabilities": { "notes": { "tools": ["read"] } } }',
    }
    const { control, json, folder } = await desk({ files })
    expect(await control.removeUpstream({ name: 'notes' })).toEqual({
      file: folder.path(CONFIG),
      revokedFrom: ['default'],
      stillNamedBy: ['ada'],
      removedSecrets: [],
      keptSecrets: [],
    })
    expect(await json(CONFIG)).toEqual({ mcpServers: {} })
    expect(await json('agents/default.json')).toEqual({ capabilities: { files: {} } })
    expect(await control.upstreams({})).toEqual([])
  })

  it('leaves a capability of the same name to the agents', async () => {
    const files = {
      [CONFIG]: '{ "mcpServers": { "files": { "command": "a" } } }',
      'agents/default.json': '{ "capabilities": { "files": {} } }',
    }
    const { control, json } = await desk({ files, others: ['files'] })
    expect(await control.removeUpstream({ name: 'files' })).toMatchObject({ revokedFrom: [], stillNamedBy: [] })
    expect(await json('agents/default.json')).toEqual({ capabilities: { files: {} } })
  })

  it('needs one that is there', async () => {
    const { control } = await desk(NOTES)
    await expect(control.removeUpstream({ name: 'nots' })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
      message: expect.stringContaining('Did you mean "notes"?'),
    })
  })
})
