import { describe, expect, it, onTestFinished } from 'vitest'
import { openDataFolder } from '../adapters/data-folder/index.ts'
import type { Upstreams } from '../adapters/mcp-upstream/index.ts'
import { silentLog } from '../adapters/system/index.ts'
import { AppError, type ReviewItem, type UpstreamStatus } from '../contracts/index.ts'
import { createFakeClock, whileAdvancing } from '../testing/fake-clock.ts'
import { tempProject } from '../testing/temp-project.ts'
import { openProject } from './project.ts'
import { createUpstreamControl } from './upstream-control.ts'

const CONFIG = 'quartermaster.config.json'

const status = (name: string, state: UpstreamStatus['state']): UpstreamStatus => ({
  name,
  transport: 'stdio',
  target: 'server',
  state,
  reason: '',
  since: 0,
  tools: { offered: 2, held: 0 },
  prompts: 0,
  resources: 0,
  connections: 1,
  pids: [],
  restarts: 0,
})

const ITEM: ReviewItem = {
  upstream: 'notes',
  kind: 'tool',
  name: 'read',
  state: 'changed',
  hash: 'h',
  findings: [],
  changes: [],
  seenAt: 0,
}

interface Situation {
  files?: Record<string, unknown>
  env?: Record<string, string>
  /** What each upstream's state is, look by look; the last one stays. */
  states?: Record<string, UpstreamStatus['state'][]>
  /** Capabilities that are no upstreams. */
  others?: string[]
  isMounted?: boolean
}

/** The control over a real project folder, with upstreams that are only told about. */
async function desk({ files = {}, env = {}, states = {}, others = [], isMounted = true }: Situation = {}) {
  const folder = await tempProject({ [CONFIG]: '{}', 'agents/default.json': '{ "capabilities": {} }', ...files })
  const project = await openProject({ from: folder.dir, env, watch: false, log: silentLog })
  onTestFinished(() => project.close())
  const clock = createFakeClock()
  const done: unknown[] = []
  const names = new Set((await project.agentFiles.load()).map(({ name }) => name))
  const coming = structuredClone(states)
  const look = (name: string) => {
    const left = coming[name] ?? ['up']
    const state = left.length > 1 ? left.shift() : left[0]
    return status(name, state ?? 'up')
  }
  const upstreams: Pick<Upstreams, 'statuses' | 'logs' | 'restart' | 'review' | 'decide' | 'forget'> = {
    statuses: () => [...project.upstreams().keys()].map(look),
    logs: (name, { limit }) => [{ at: 1, from: 'stderr', text: `${name} ${limit}` }],
    restart: async name => void done.push(['restart', name]),
    review: async name => (name === undefined || name === 'notes' ? [ITEM] : []),
    decide: async choice => (done.push(choice), [ITEM]),
    forget: async name => void done.push({ forgotten: name }),
  }
  const control = createUpstreamControl({
    project,
    upstreams: isMounted ? upstreams : undefined,
    agents: {
      has: name => names.has(name),
      reload: async () => {},
      entry(name) {
        if (!names.has(name)) throw new AppError('AGENT_NOT_FOUND', name)
        return { name, file: '', hash: '', problems: [] }
      },
    },
    clock,
    originOf: name => (others.includes(name) ? 'other' : project.upstreams().has(name) ? 'upstream' : undefined),
    generation: () => ({ capabilities: new Map() }),
    reload: () => project.reload(),
    ensureDataFolder: () => openDataFolder(project.dataDir).ensure(),
  })
  const json = async (file: string) => JSON.parse(await folder.read(file))
  return { control, clock, done, json, folder }
}

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

  it('keeps its secrets in their file, and lets references follow when a name is taken', async () => {
    const { control, json, folder } = await desk()
    await openDataFolder(folder.path('.quartermaster')).ensure()
    await folder.write('.quartermaster/secrets.json', '{ "TOKEN": "other" }', 0o600)
    const entry = { command: 'notes', env: { TOKEN: '${secret:TOKEN}', MORE: '${secret:MORE}' } }
    const answer = await control.addUpstream({ name: 'notes', entry, secrets: { TOKEN: 'hush', MORE: 'psst' } })
    expect(answer).toMatchObject({ secrets: ['TOKEN_2', 'MORE'], problems: [] })
    expect(await json('.quartermaster/secrets.json')).toEqual({ TOKEN: 'other', TOKEN_2: 'hush', MORE: 'psst' })
    expect((await json(CONFIG)).mcpServers.notes.env).toEqual({ TOKEN: '${secret:TOKEN_2}', MORE: '${secret:MORE}' })
  })

  it('leaves no secret behind when the entry is refused', async () => {
    const { control, json } = await desk()
    const refused = control.addUpstream({ name: 'notes', entry: { comand: 'x' }, secrets: { TOKEN: 'hush' } })
    await expect(refused).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    expect(await json('.quartermaster/secrets.json')).toEqual({})
    expect(await json(CONFIG)).toEqual({})
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

  it.each([['.'], ['--root=..'], ['.quartermaster/secrets.json']])(
    'warns of a program that is given the data folder: %s',
    async arg => {
      const { control, folder } = await desk()
      await openDataFolder(folder.path('.quartermaster')).ensure()
      await folder.write('.quartermaster/secrets.json', '{}', 0o600)
      const answer = await control.addUpstream({ name: 'notes', entry: { command: 'a', args: [arg] } })
      expect(answer).toMatchObject({
        outcome: 'added',
        problems: [{ severity: 'warning', message: expect.stringContaining('holds the data folder') }],
      })
    },
  )

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

  const withSecrets = async () => {
    const { control, json, folder } = await desk()
    const env = { A: '${secret:A}', B: '${secret:B}' }
    await control.addUpstream({ name: 'one', entry: { command: 'a', env }, secrets: { A: 'hush', B: 'psst' } })
    await control.addUpstream({ name: 'two', entry: { command: 'b', args: ['${secret:B}', '${secret:NOPE}'] } })
    return { control, folder, kept: () => json('.quartermaster/secrets.json') }
  }

  it('takes the secrets along that nothing else names, and says which stay and why', async () => {
    const { control, kept } = await withSecrets()
    expect(await control.removeUpstream({ name: 'one' })).toMatchObject({
      removedSecrets: ['A'],
      keptSecrets: [{ name: 'B', usedBy: [CONFIG] }],
    })
    expect(await kept()).toEqual({ B: 'psst' })
    expect(await control.removeUpstream({ name: 'two' })).toMatchObject({ removedSecrets: ['B'], keptSecrets: [] })
    expect(await kept()).toEqual({})
  })

  it('leaves secrets that code asks for, and all of them on request', async () => {
    const { control, folder, kept } = await withSecrets()
    await folder.write('capabilities/a.ts', "export const key = (secrets) => secrets.get('A')")
    expect(await control.removeUpstream({ name: 'two', keepSecrets: true })).toMatchObject({
      removedSecrets: [],
      keptSecrets: [{ name: 'B', usedBy: [] }],
    })
    expect(await control.removeUpstream({ name: 'one' })).toMatchObject({
      removedSecrets: ['B'],
      keptSecrets: [{ name: 'A', usedBy: ['capabilities/a.ts'] }],
    })
    expect(await kept()).toEqual({ A: 'hush' })
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
    expect(done).toEqual([['restart', 'notes'], choice])
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
