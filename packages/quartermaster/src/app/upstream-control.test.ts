import { describe, expect, it, onTestFinished } from 'vitest'
import { openDataFolder } from '../adapters/data-folder/index.ts'
import { silentLog } from '../adapters/system/index.ts'
import { AppError } from '../contracts/index.ts'
import { whileAdvancing } from '../testing/fake-clock.ts'
import { tempProject } from '../testing/temp-project.ts'
import { CONFIG, upstreamDesk as desk, ITEM, status } from '../testing/upstream-desk.ts'
import { openProject } from './project.ts'

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

  it.each([
    ['args', { command: 'a', args: ['.'] }],
    ['args', { command: 'a', args: ['--root=..'] }],
    ['args', { command: 'a', args: ['.quartermaster/secrets.json'] }],
    ['args', { command: 'bash', args: ['-lc', 'exec a "$PWD"'] }],
    ['env.ROOT', { command: 'a', env: { ROOT: '.' } }],
    ['cwd', { command: 'a', cwd: '..' }],
  ])('warns of a program that is given the data folder, by %s: %j', async (field, entry) => {
    const { control, folder } = await desk()
    await openDataFolder(folder.path('.quartermaster')).ensure()
    await folder.write('.quartermaster/secrets.json', '{}', 0o600)
    const answer = await control.addUpstream({ name: 'notes', entry })
    const message = expect.stringContaining('holds the data folder')
    expect(answer).toMatchObject({
      outcome: 'added',
      problems: [{ severity: 'warning', where: `mcpServers.notes.${field}`, message }],
    })
  })

  it('does not warn of a program that is given another folder', async () => {
    const { control, folder } = await desk()
    await openDataFolder(folder.path('.quartermaster')).ensure()
    await folder.write('docs/a.md', '')
    const entry = { command: 'sh', args: ['-c', 'exec a . --also=./b'], env: { ROOT: '../docs' }, cwd: 'docs' }
    expect(await control.addUpstream({ name: 'notes', entry })).toMatchObject({ outcome: 'added', problems: [] })
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
    await expect(refused).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    for (const { json } of [beside, alone])
      await expect(json('agents/default.json')).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it.each([
    ['http://127.0.0.1:7420/mcp', undefined],
    ['http://localhost:7420/mcp/', undefined],
    ['http://[::1]:9000/mcp', 'http://127.0.0.1:9000'],
    ['http://box.example:9000/mcp', 'http://box.example:9000'],
  ])('refuses our own address: %s', async (url, ownUrl) => {
    const { control, json } = await desk(ownUrl === undefined ? {} : { ownUrl })
    const refused = control.addUpstream({ name: 'us', entry: { type: 'http', url } })
    await expect(refused).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('this Quartermaster itself'),
    })
    expect(await json(CONFIG)).toEqual({})
  })

  it.each([
    ['quartermaster', ['connect', '--agent', 'default']],
    ['node', ['/opt/quartermaster/dist/bin/quartermaster.js', 'connect', '--agent', 'default', '--config', 'x.json']],
    ['npx', ['-y', 'quartermaster@1.0.0', 'connect']],
    ['sh', ['-c', 'cd /project && exec quartermaster connect --agent default']],
  ])('refuses our own bridge as a program: %s %j', async (command, args) => {
    const { control, json } = await desk()
    await expect(control.addUpstream({ name: 'us', entry: { command, args } })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('Quartermaster itself'),
    })
    expect(await json(CONFIG)).toEqual({})
  })

  it('takes another Quartermaster on this machine for what it is', async () => {
    const { control } = await desk({ ownUrl: 'http://127.0.0.1:9000' })
    const entry = { type: 'http', url: 'http://127.0.0.1:7420/mcp' }
    expect(await control.addUpstream({ name: 'them', entry })).toMatchObject({ outcome: 'added' })
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

describe('an upstream that is only looked at', () => {
  const LOOK = { dryRun: { beside: [] } }
  const WITH_NOTES = { files: { ...NOTES.files, 'agents/ada.json': '{ "capabilities": { "notes": {} } }' } }

  it('is told as if it were added, and nothing is written', async () => {
    const { control, json, folder, done } = await desk(WITH_NOTES)
    const entry = { command: 'a', args: ['--key', '${secret:KEY}', '--asked', '${secret:ASKED}'] }
    const secrets = { KEY: 'hush' }
    expect(await control.addUpstream({ name: 'new', entry, secrets, missing: ['ASKED'], ...LOOK })).toEqual({
      name: 'new',
      file: folder.path(CONFIG),
      outcome: 'added',
      granted: ['default'],
      secrets: ['KEY'],
      missing: { ASKED: 'ASKED' },
      problems: [],
    })
    expect(await json(CONFIG)).toEqual(JSON.parse(NOTES.files[CONFIG] ?? ''))
    expect(await json('agents/default.json')).toEqual({ capabilities: {} })
    await expect(folder.read('.quartermaster/secrets.json')).rejects.toMatchObject({ code: 'ENOENT' })
    expect(done).toEqual([])
  })

  it('may be there already, or take the place of another', async () => {
    const { control } = await desk(WITH_NOTES)
    const look = (args: string[], more = {}) =>
      control.addUpstream({ name: 'notes', entry: { command: 'notes', args }, ...LOOK, ...more })
    expect(await look(['--deep'])).toMatchObject({ outcome: 'unchanged', granted: ['default'], alsoHave: ['ada'] })
    await expect(look(['--flat'])).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    expect(await look(['--flat'], { replace: true, grant: false })).toMatchObject({ outcome: 'replaced', granted: [] })
  })

  it.each([
    ['empty', { command: '' }, 'CONFIG_INVALID'],
    ['far', { url: 'ftp://x' }, 'CONFIG_INVALID'],
    ['NOTES', { command: 'a' }, 'NAME_TAKEN'],
    ['A-B', { command: 'a' }, 'NAME_TAKEN'],
    ['files', { command: 'a' }, 'NAME_TAKEN'],
    ['us', { url: 'http://127.0.0.1:7420/mcp' }, 'CONFIG_INVALID'],
  ])('is refused as it would be: %s %j', async (name, entry, code) => {
    const { control } = await desk({ ...NOTES, others: ['files'] })
    const look = control.addUpstream({ name, entry, dryRun: { beside: ['a-b'] } })
    await expect(look).rejects.toMatchObject({ code })
  })

  it('says what would keep it from being used, and what it would expose', async () => {
    const { control, folder } = await desk()
    await openDataFolder(folder.path('.quartermaster')).ensure()
    const look = (entry: object) => control.addUpstream({ name: 'notes', entry: { ...entry }, ...LOOK })
    expect(await look({ command: 'a', env: { A: '${NOPE}' } })).toMatchObject({
      outcome: 'added',
      problems: [
        { where: CONFIG, field: 'mcpServers.notes.env.A', message: expect.stringContaining('"NOPE" is not set') },
      ],
    })
    expect(await look({ command: 'a', args: ['.'] })).toMatchObject({
      problems: [{ where: 'mcpServers.notes.args', message: expect.stringContaining('holds the data folder') }],
    })
  })

  it('says whose file it could not be put into, and who would be made for it', async () => {
    const broken = await desk({ files: { 'agents/default.json': '{' } })
    const entry = { command: 'a' }
    expect(await broken.control.addUpstream({ name: 'notes', entry, ...LOOK })).toMatchObject({
      granted: [],
      problems: [{ severity: 'warning', subject: 'agent:default' }],
    })
    const alone = await desk({ hasAgents: false })
    expect(await alone.control.addUpstream({ name: 'notes', entry, ...LOOK })).toMatchObject({ madeAgent: 'default' })
    await expect(alone.json('agents/default.json')).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

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

describe('looking at upstreams', () => {
  it('shows those that run, and those whose entry is wrong', async () => {
    const { control } = await desk({
      files: { [CONFIG]: '{ "mcpServers": { "notes": { "command": "notes" }, "bad": { "url": "x" } } }' },
    })
    expect(await control.upstreams({})).toMatchObject([
      { name: 'notes', state: 'up' },
      {
        name: 'bad',
        transport: 'http',
        state: 'off',
        reason: expect.stringContaining('entry in the configuration is wrong'),
      },
    ])
  })

  it('answers from the configuration where none are mounted, and shows no secret', async () => {
    const { control } = await desk({
      files: { [CONFIG]: '{ "mcpServers": { "notes": { "command": "notes", "args": ["--key", "${env:KEY}"] } } }' },
      env: { KEY: 'hush-hush-1' },
      isMounted: false,
    })
    expect(await control.upstreams({})).toMatchObject([{ state: 'idle', target: 'notes --key [secret]' }])
    expect(await control.upstreamLogs({ name: 'notes' })).toEqual([])
    expect(await control.reviewItems({})).toEqual([])
    await expect(control.restartUpstream({ name: 'notes' })).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
  })

  it('shows of an address what holds no key, and of arguments what looks like none', async () => {
    const servers = {
      far: { url: 'https://me:pass@far.example/mcp?key=hush' },
      near: { command: 'near', args: ['--token', 'hush-hush-2'] },
      short: { command: 'short', args: ['-H', 'Authorization: Bearer abc', '--header=X-Api-Key:d'] },
      hook: { url: 'https://hooks.slack.com/services/T0/B0/hush' },
    }
    const { control } = await desk({ files: { [CONFIG]: JSON.stringify({ mcpServers: servers }) }, isMounted: false })
    expect(await control.upstreams({})).toMatchObject([
      { name: 'far', target: 'https://far.example/mcp' },
      { name: 'near', target: 'near --token [secret]' },
      { name: 'short', target: 'short -H Authorization: Bearer [secret] --header=X-Api-Key:[secret]' },
      { name: 'hook', target: 'https://hooks.slack.com/[secret]' },
    ])
  })

  it('passes logs, restarts and reviews on', async () => {
    const { control, done } = await desk(NOTES)
    expect(await control.upstreamLogs({ name: 'notes', limit: 5 })).toEqual([
      { at: 1, from: 'stderr', text: 'notes 5' },
    ])
    expect(await control.restartUpstream({ name: 'notes' })).toMatchObject({ name: 'notes', state: 'up' })
    expect(await control.reviewItems({ name: 'notes' })).toEqual([ITEM])
    const items = [{ kind: 'tool' as const, name: 'read', hash: 'h' }]
    const choice = { upstream: 'notes', items, decision: 'accept' as const }
    expect(await control.decideReview(choice)).toEqual([ITEM])
    // Whoever is answered finds what was done.
    expect(done).toEqual(['shown', ['restart', 'notes'], 'shown', choice, 'shown'])
  })

  it('waits until agents have what was seen of a server before it is counted, and no longer than for the server', async () => {
    const { control, done } = await desk(NOTES)
    for (let look = 0; look < 2; look++)
      expect(await control.upstreams({})).toMatchObject([{ state: 'up', tools: { offered: 2 } }])
    expect(done).toEqual(['shown'])
    const stuck = await desk({ ...NOTES, isReloadStuck: true })
    const answer = await whileAdvancing(stuck.clock, stuck.control.upstreams({}), 1_000)
    expect(answer).toMatchObject([{ state: 'up', tools: { offered: 0 } }])
  })

  it('says in a review whose the name is that a tool would be called by', async () => {
    const { control } = await desk({ ...NOTES, tools: { read: 'upstream:files' } })
    const clash = expect.stringMatching(
      /^The tool name "read" is taken by upstream:files .* keeps it for as long as it offers it\. Give it another name/,
    )
    expect(await control.reviewItems({})).toEqual([{ ...ITEM, clash }])
    const own = await desk({ ...NOTES, tools: { read: 'upstream:notes' } })
    expect(await own.control.reviewItems({})).toEqual([ITEM])
  })

  it('says in a review who gets the name of what is offered if it is rejected', async () => {
    const lost = {
      severity: 'error',
      code: 'DEFINITION_INVALID',
      subject: 'tool:read',
      field: 'name',
      message: '',
    } as const
    const problems = [{ ...lost, where: 'upstream:files' }]
    const item = { ...ITEM, state: 'warned' } as const
    const { control } = await desk({ ...NOTES, item, problems })
    const clash = 'Rejected, it leaves its name to upstream:files: calls of "read" go there.'
    expect(await control.reviewItems({})).toEqual([{ ...item, clash }])
    const changed = await desk({ ...NOTES, problems })
    expect(await changed.control.reviewItems({})).toEqual([ITEM])
  })

  it('fails where what is known of them cannot be read, and blames no server', async () => {
    const unreadable = new AppError('STORE_LOCKED', 'The data folder belongs to another.')
    const { control, done } = await desk({ ...NOTES, unreadable })
    await expect(control.upstreams({})).rejects.toBe(unreadable)
    await expect(control.restartUpstream({ name: 'notes' })).rejects.toBe(unreadable)
    expect(done).toEqual([])
  })

  it.each(['upstreamLogs', 'restartUpstream', 'reviewItems'] as const)(
    'refuses a name that %s does not know',
    async operation => {
      const { control } = await desk(NOTES)
      await expect(control[operation]({ name: 'notse' })).rejects.toMatchObject({
        code: 'NAME_UNKNOWN',
        message: expect.stringContaining('Did you mean "notes"?'),
      })
    },
  )
})

describe('a mistake in the entry of an upstream that runs', () => {
  it('keeps its last good version until it is mended or gone', async () => {
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

  it('leaves something in its place that says what is wrong, and that cannot be run', async () => {
    const { dir } = await tempProject({ [CONFIG]: '{ "mcpServers": { "sh": { "command": 1 } } }' })
    const project = await openProject({ from: dir, env: {}, watch: false, log: silentLog })
    onTestFinished(() => project.close())
    const standIn = project.upstreams().get('sh')
    expect(standIn).toMatchObject({
      enabled: false,
      wrong: expect.stringContaining('`quartermaster doctor` says where'),
    })
    expect(standIn).not.toMatchObject({ command: 'sh' })
  })

  it('counts from the moment on at which the first configuration is written', async () => {
    const { dir, path, write } = await tempProject({ 'notes.txt': '' })
    const project = await openProject({ from: dir, env: {}, watch: false, log: silentLog })
    onTestFinished(() => project.close())
    expect(project.configFile).toBeUndefined()
    await write(CONFIG, NOTES.files[CONFIG])
    await project.reload()
    expect([project.configFile, [...project.upstreams().keys()]]).toEqual([path(CONFIG), ['notes']])
  })
})
