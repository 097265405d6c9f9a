import { describe, expect, it } from 'vitest'
import { whileAdvancing } from '../../testing/fake-clock.ts'
import { CONFIG, upstreamFixture as desk, status } from '../../testing/upstream-fixture.ts'

const NOTES = { files: { [CONFIG]: '{ "mcpServers": { "notes": { "command": "notes", "args": ["--deep"] } } }' } }

describe('adding an upstream', () => {
  it('writes it down, gives it to the default agent, and says how it is', async () => {
    const { control, json, folder } = await desk()
    const answer = await control.addUpstream({ name: 'notes', entry: { command: 'notes' } })
    expect(answer).toEqual({
      name: 'notes',
      file: folder.path(CONFIG),
      outcome: 'added',
      status: status('notes', 'up'),
      granted: ['default'],
      secrets: [],
      problems: [],
    })
    expect(await json(CONFIG)).toEqual({ mcpServers: { notes: { command: 'notes' } } })
    expect(await json('agents/default.json')).toEqual({ capabilities: { notes: {} } })
  })

  it('waits for its first moments, but not for ever', async () => {
    const { control, clock } = await desk({ states: { slow: ['starting', 'starting', 'up'], stuck: ['starting'] } })
    const slow = control.addUpstream({ name: 'slow', entry: { command: 'a' }, grant: false })
    const stuck = control.addUpstream({ name: 'stuck', entry: { command: 'a' }, grant: false })
    const ended = await whileAdvancing(clock, Promise.all([slow, stuck]), 100)
    expect(ended.map(answer => answer.status?.state)).toEqual(['up', 'starting'])
  })

  it('does not wait for one that starts where it is not to, and counts the tools of one that is there', async () => {
    const { control, done } = await desk({ states: { slow: ['starting'] } })
    const add = (name: string) => control.addUpstream({ name, entry: { command: 'a' }, grant: false, wait: false })
    expect(await add('slow')).toMatchObject({ status: { state: 'starting' } })
    expect(done).toEqual([])
    expect(await add('notes')).toMatchObject({ status: { state: 'up', tools: { offered: 2 } } })
  })

  it('adds what cannot be used yet, and says what is missing', async () => {
    const { control, json } = await desk()
    const answer = await control.addUpstream({ name: 'notes', entry: { url: '${secret:NOPE}' } })
    expect(answer).toMatchObject({
      outcome: 'added',
      granted: ['default'],
      status: { state: 'off', reason: expect.stringContaining('The secret "NOPE" is not there.') },
      problems: [{ subject: 'upstream:notes', message: 'The secret "NOPE" is not there.' }],
    })
    expect(await json('agents/default.json')).toEqual({ capabilities: { notes: {} } })
  })

  it('gives it to the agents that are named, and to no others', async () => {
    const files = {
      'agents/ada.json': '{ "capabilities": { "notes": { "tools": ["read"] } } }',
      'agents/bob.json': '{ "capabilities": {} }',
    }
    const { control, json } = await desk({ files })
    const answer = await control.addUpstream({ name: 'notes', entry: { command: 'a' }, grant: ['ada', 'bob'] })
    expect(answer.granted).toEqual(['ada', 'bob'])
    expect(await json('agents/ada.json')).toEqual({ capabilities: { notes: { tools: ['read'] } } })
    expect(await json('agents/bob.json')).toEqual({ capabilities: { notes: {} } })
    expect(await json('agents/default.json')).toEqual({ capabilities: {} })
  })

  it('names those that had what it replaces, and have it still', async () => {
    const { control } = await desk()
    const add = (args: string[], more: object) =>
      control.addUpstream({ name: 'notes', entry: { command: 'a', args }, ...more })
    expect(await add([], {})).not.toHaveProperty('alsoHave')
    expect(await add([], { grant: false })).toMatchObject({ granted: [], alsoHave: ['default'] })
    expect(await add(['x'], { grant: false, replace: true })).toMatchObject({ granted: [], alsoHave: ['default'] })
    expect(await add(['y'], { replace: true })).not.toHaveProperty('alsoHave')
  })

  it('makes the first agent where there is none at all, with reading of the folder, and gives it what comes', async () => {
    const { control, json } = await desk({ hasAgents: false })
    const add = (name: string, more: object = {}) => control.addUpstream({ name, entry: { command: 'a' }, ...more })
    expect(await add('quiet', { grant: false })).not.toHaveProperty('madeAgent')
    await expect(json('agents/default.json')).rejects.toMatchObject({ code: 'ENOENT' })
    expect(await add('notes')).toMatchObject({ granted: ['default'], madeAgent: 'default', problems: [] })
    expect(await add('more')).toMatchObject({ granted: ['default'] })
    expect(await add('last', { grant: false })).toMatchObject({ granted: [] })
    expect((await json('agents/default.json')).capabilities).toEqual({
      files: { dirs: ['.'], tools: ['read_file', 'list_files', 'search_files'] },
      notes: {},
      more: {},
    })
  })

  it('makes nobody beside agents that are there, nor for an entry that is refused', async () => {
    const files = { 'agents/ada.json': '{ "capabilities": {} }' }
    const beside = await desk({ hasAgents: false, files })
    expect(await beside.control.addUpstream({ name: 'notes', entry: { command: 'a' } })).toMatchObject({ granted: [] })
    const alone = await desk({ hasAgents: false })
    const refused = alone.control.addUpstream({ name: 'notes', entry: { comand: 'a' } })
    await expect(refused).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    for (const { json } of [beside, alone])
      await expect(json('agents/default.json')).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it.each([
    ['http://127.0.0.1:7420/mcp', undefined],
    ['http://localhost:7420/mcp/', undefined],
    ['http://[::1]:9000/mcp', 'http://127.0.0.1:9000'],
    ['http://box.example:9000/mcp', 'http://box.example:9000'],
    ['http://127.0.0.1:9000/%6dcp', 'http://127.0.0.1:9000'],
    ['http://0.0.0.0:9000/mcp', 'http://127.0.0.1:9000'],
    ['http://[::ffff:127.0.0.1]:9000/mcp', 'http://127.0.0.1:9000'],
    ['http://2130706433:9000/mcp', 'http://127.0.0.1:9000'],
    ['http://LOCALHOST.:9000/./mcp//', 'http://127.0.0.1:9000'],
  ])('refuses our own address: %s', async (url, ownUrl) => {
    const { control, json } = await desk(ownUrl === undefined ? {} : { ownUrl })
    const refused = control.addUpstream({ name: 'us', entry: { type: 'http', url } })
    await expect(refused).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('this Quartermaster itself'),
    })
    expect(await json(CONFIG)).toEqual({})
  })

  it('refuses our own address by the names that others know us by, and takes another server there', async () => {
    const config = { allowedHosts: ['box.lan', 'Gate.lan:8443'] }
    const { control, json } = await desk({
      ownUrl: 'http://127.0.0.1:9000',
      files: { [CONFIG]: JSON.stringify(config) },
    })
    const add = (url: string, name = 'us') => control.addUpstream({ name, entry: { type: 'http', url } })
    for (const url of ['https://box.lan/mcp', 'http://box.lan:9000/mcp', 'https://gate.lan:8443/mcp'])
      await expect(add(url)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    for (const args of [
      ['mcp-remote@0.1.0', 'http://127.0.0.1:9000/mcp', '--header', 'a:b'],
      ['a', '--url=http://box.lan/mcp'],
    ])
      await expect(control.addUpstream({ name: 'us', entry: { command: 'npx', args } })).rejects.toMatchObject({
        code: 'INPUT_INVALID',
      })
    expect(await json(CONFIG)).toEqual(config)
    for (const [index, url] of ['http://box.lan:8000/mcp', 'https://gate.lan/mcp', 'https://box.lan/other'].entries())
      expect(await add(url, `other-${index}`)).toMatchObject({ outcome: 'added' })
  })

  it.each([
    ['quartermaster', ['connect', '--agent', 'default']],
    ['node', ['/opt/quartermaster/dist/bin/quartermaster.js', 'connect', '--agent', 'default', '--config', 'x.json']],
    ['npx', ['-y', 'quartermaster@1.0.0', 'connect']],
    ['sh', ['-c', 'cd /project && exec quartermaster connect --agent default']],
  ])('refuses our own bridge as a program: %s %j', async (command, args) => {
    const { control, json } = await desk()
    await expect(control.addUpstream({ name: 'us', entry: { command, args } })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('Quartermaster itself'),
    })
    expect(await json(CONFIG)).toEqual({})
  })

  it('takes another Quartermaster on this machine for what it is', async () => {
    const { control } = await desk({ ownUrl: 'http://127.0.0.1:9000' })
    for (const [name, url] of Object.entries({
      them: 'http://127.0.0.1:7420/mcp',
      odd: 'http://127.0.0.1:9000/%E0%A4',
    }))
      expect(await control.addUpstream({ name, entry: { type: 'http', url } })).toMatchObject({ outcome: 'added' })
  })

  it('refuses one whose secrets find no free name, which is no fault of the configuration', async () => {
    const names = ['KEY', ...Array.from({ length: 99 }, (_, i) => `KEY_${i + 2}`)]
    const other = { command: 'a', args: names.map(name => `\${secret:${name}}`) }
    const { control } = await desk({ files: { [CONFIG]: JSON.stringify({ mcpServers: { other } }) } })
    const add = (secret: string) =>
      control.addUpstream({
        name: 'new',
        entry: { command: 'a', env: { A: `\${secret:${secret}}` } },
        secrets: { [secret]: 'x' },
      })
    await expect(add('KEY')).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('There are too many secrets like "KEY_101"'),
    })
    await expect(add('NO WAY')).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    expect(await add('OTHER')).toMatchObject({ outcome: 'added' })
  })

  it('refuses an agent that does not exist before anything is written', async () => {
    const { control, json } = await desk()
    const refused = control.addUpstream({ name: 'notes', entry: { command: 'a' }, grant: ['nobody'] })
    await expect(refused).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' })
    expect(await json(CONFIG)).toEqual({})
  })

  it('says whose file it could not be put into', async () => {
    const { control } = await desk({ files: { 'agents/default.json': '{' } })
    const answer = await control.addUpstream({ name: 'notes', entry: { command: 'a' } })
    expect(answer).toMatchObject({ granted: [], problems: [{ severity: 'warning', subject: 'agent:default' }] })
  })

  it('takes no name of another upstream or capability', async () => {
    const { control } = await desk({ ...NOTES, others: ['files'] })
    const add = (name: string, replace = false) => control.addUpstream({ name, entry: { command: 'b' }, replace })
    await expect(add('files', true)).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    await expect(add('notes')).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    expect(await add('notes', true)).toMatchObject({ outcome: 'replaced' })
    expect(await add('notes')).toMatchObject({ outcome: 'unchanged' })
  })
})
