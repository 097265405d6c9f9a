import { describe, expect, it } from 'vitest'
import { tempProject } from '../../testing/temp-project.ts'
import { type ConfigEditor, createConfigEditor } from './index.ts'

const CONFIG = 'quartermaster.config.json'

type SetUpstreamOptions = Parameters<ConfigEditor['setUpstream']>[2]

/** A project with one upstream, and functions that set it again. */
async function projectWith(entry: unknown) {
  const text = typeof entry === 'string' && entry.startsWith('{') ? entry : JSON.stringify({ mcpServers: { a: entry } })
  const { dir, path, read, write } = await tempProject({ [CONFIG]: text })
  const editor = createConfigEditor({ projectDir: dir, dataDir: path('data'), configFile: () => path(CONFIG) })
  const set = (next: Record<string, unknown>, options: Partial<SetUpstreamOptions> = {}) =>
    editor.setUpstream('a', next, { replace: false, ...options })
  const look = (next: Record<string, unknown>, options: Partial<SetUpstreamOptions> = {}) =>
    editor.previewUpstream('a', next, { replace: false, env: {}, beside: [], ...options })
  const present = async () => JSON.parse(await read(CONFIG)).mcpServers.a
  return { set, look, present, write, read, config: () => read(CONFIG) }
}

const PLAIN = { command: 'files', args: ['/data'], env: { KEY: '${secret:KEY}' } }

/** Everything that an owner can say about a server however it is reached. */
const OWN = {
  enabled: false,
  title: 'Mine',
  short: 'Reads files.',
  prefix: 'f',
  offer: ['read', 'wipe'],
  leaveOut: ['wipe'],
  tools: { read: { name: 'look', consent: ['f.read'] } },
  consentOperations: { 'f.read': { reason: 'It reads.' } },
  prompts: false,
  resources: false,
  connection: 'perAgent',
  agents: { ada: { env: { KEY: '${secret:ADA_KEY}' } } },
  start: 'lazy',
  idleSeconds: 60,
  single: true,
  startSeconds: 5,
  timeoutMs: 1000,
  maxResultBytes: 2000,
  maxBinaryBytes: 3000,
  idempotencyKey: false,
  era: 'legacy',
  newTools: 'offer',
  findings: 'warn',
}

describe('an upstream that is replaced', () => {
  it('is reached in the new way alone, and keeps everything else that its owner says of it', async () => {
    const before = { ...PLAIN, command: 'node', args: ['/files.mjs', '/data'], type: 'stdio', cwd: '/old' }
    const { set, present } = await projectWith({ ...before, ...OWN })
    const next = { command: 'node', args: ['/files.mjs', '/other'], env: { TOKEN: 'x' } }
    expect(await set(next, { replace: true })).toMatchObject({
      outcome: 'replaced',
      keptSettings: Object.keys(OWN),
      unneeded: ['KEY'],
    })
    expect(await present()).toEqual({ ...next, ...OWN })
  })

  it('follows the source in whatever that speaks of', async () => {
    const { set, present } = await projectWith({ ...PLAIN, start: 'eager', enabled: true, leaveOut: ['wipe'] })
    const next = { command: 'other', start: 'lazy', enabled: false }
    expect(await set(next, { replace: true })).toMatchObject({ keptSettings: ['leaveOut'] })
    expect(await present()).toEqual({ ...next, leaveOut: ['wipe'] })
  })

  it('keeps comments on what it keeps, and where they stand', async () => {
    const { set, config } = await projectWith(
      '{\n  "mcpServers": {\n    "a": {\n      // the old one\n      "command": "files",\n      "args": ["/data"], // mine\n      // never\n      "leaveOut": ["wipe"], // dangerous\n    },\n  },\n}\n',
    )
    await set({ command: 'other' }, { replace: true })
    expect(await config()).toBe(
      '{\n  "mcpServers": {\n    "a": {\n      // the old one\n      "command": "other",\n      // never\n      "leaveOut": ["wipe"], // dangerous\n    },\n  },\n}\n',
    )
  })

  it('by an address keeps nothing that only a program has, and says what of its owner went', async () => {
    const agents = { ada: { env: { KEY: '${secret:ADA}' } }, bob: { env: { A: 'a' }, headers: { B: 'b' } } }
    const { set, present } = await projectWith({ ...PLAIN, type: 'stdio', cwd: '/old', leaveOut: ['wipe'], agents })
    const next = { type: 'http', url: 'https://a.example/mcp' }
    expect(await set(next, { replace: true })).toMatchObject({
      keptSettings: ['leaveOut', 'agents'],
      goneSettings: ['agents.ada.env', 'agents.bob.env'],
      unneeded: ['KEY'],
      spared: { ADA: ['agents.ada.env'] },
    })
    expect(await present()).toEqual({ ...next, leaveOut: ['wipe'], agents: { bob: { headers: { B: 'b' } } } })
  })

  it('by a program keeps nothing that only an address has', async () => {
    const agents = { ada: { headers: { X: '${secret:ADA}' } } }
    const http = { type: 'http', url: 'https://a.example/mcp', headers: { X: 'x' }, oauth: { clientId: 'c' } }
    const { set, present } = await projectWith({ ...http, agents, prefix: false })
    expect(await set(PLAIN, { replace: true })).toMatchObject({
      keptSettings: ['prefix'],
      goneSettings: ['oauth', 'agents.ada.headers'],
    })
    expect(await present()).toEqual({ ...PLAIN, prefix: false })
  })

  it('keeps what only its owner says of signing in, and no half of another client', async () => {
    const http = { type: 'http', url: 'https://a.example/mcp' }
    const oauth = { clientId: 'old', clientSecret: '${secret:OLD}', hosts: ['login.lan'] }
    const { set, present } = await projectWith({ ...http, oauth })
    expect(await set({ ...http, oauth: { clientId: 'new' } }, { replace: true })).toMatchObject({
      keptSettings: ['oauth.hosts'],
      unneeded: ['OLD'],
    })
    expect(await present()).toEqual({ ...http, oauth: { clientId: 'new', hosts: ['login.lan'] } })
    expect(await set({ ...http, oauth: { clientId: 'new' } })).toMatchObject({ outcome: 'unchanged' })
  })

  it.each([
    [{ command: 'npx', args: ['-y', '@a/server@1.2.3'] }, { command: 'npx', args: ['-y', '@b/server'] }, true],
    [{ command: 'npx', args: ['-y', '@a/server@1.2.3'] }, { command: 'npx', args: ['-y', '@a/server@2.0.0'] }, false],
    [{ command: 'node', args: ['a.mjs', '/x'] }, { command: 'node', args: ['a.mjs', '/x', '/y'] }, false],
    [{ command: 'node', args: ['a.mjs'] }, { command: 'node', args: ['b.mjs'] }, true],
    [
      { command: 'node', args: ['a.mjs'], env: { A: '1' } },
      { command: 'node', args: ['a.mjs'], env: { B: '2' } },
      false,
    ],
    [{ command: './files', cwd: '/a' }, { command: './files', cwd: '/b' }, true],
    [{ command: 'files' }, { command: 'other' }, true],
  ])(
    'by another program gets no credentials that agents have for this one: %j, then %j',
    async (before, next, isOther) => {
      const agents = { ada: { env: { KEY: '${secret:ADA}' } } }
      const { set, present } = await projectWith({ ...before, agents })
      expect(await set(next, { replace: true })).toMatchObject({
        unneeded: [],
        spared: isOther ? { ADA: ['agents.ada.env'] } : {},
      })
      expect((await present()).agents).toEqual(isOther ? undefined : agents)
    },
  )

  it('at another place gets no credentials that were given out for the one before', async () => {
    const agents = { ada: { headers: { X: '${secret:ADA}' } } }
    const oauth = { clientId: 'c', clientSecret: '${secret:CLIENT}' }
    const before = { type: 'http', url: 'https://a.example/mcp', oauth, agents, leaveOut: ['wipe'] }
    const next = { type: 'http', url: 'https://b.example/mcp' }
    const { set, present } = await projectWith(before)
    const near = { ...next, url: 'https://a.example/v2/mcp' }
    expect(await set(near, { replace: true })).toMatchObject({ keptSettings: ['oauth', 'agents', 'leaveOut'] })
    expect(await set(next, { replace: true })).toMatchObject({
      keptSettings: ['leaveOut'],
      goneSettings: ['oauth', 'agents.ada.headers'],
      unneeded: [],
      spared: { ADA: ['agents.ada.headers'], CLIENT: ['oauth'] },
    })
    expect(await present()).toEqual({ ...next, leaveOut: ['wipe'] })
  })

  it('at another place keeps nothing of signing in that the source does not say, and says so', async () => {
    const oauth = { clientId: 'c', clientSecret: '${secret:CLIENT}', hosts: ['login.lan'] }
    const { set, present } = await projectWith({ type: 'http', url: 'https://a.example/mcp', oauth })
    const next = { type: 'http', url: 'https://b.example/mcp', oauth: { clientId: 'c' } }
    expect(await set(next, { replace: true })).toMatchObject({
      goneSettings: ['oauth.clientSecret', 'oauth.hosts'],
      unneeded: [],
      spared: { CLIENT: ['oauth.clientSecret'] },
    })
    expect(await present()).toEqual(next)
  })

  it('spares a secret that a setting which went referred to, also where the entry itself had it', async () => {
    const agents = {
      ada: { env: { A: '${secret:KEY}', B: '${secret:constructor}' } },
      bob: { env: { A: '${secret:KEY}' } },
    }
    const { set } = await projectWith({ ...PLAIN, agents })
    expect(await set({ command: 'other' }, { replace: true })).toMatchObject({
      unneeded: [],
      spared: { KEY: ['agents.ada.env', 'agents.bob.env'], constructor: ['agents.ada.env'] },
    })
  })

  it.each([{ leavOut: ['wipe'] }, { disabledTools: ['wipe'] }])(
    'is not, as long as %j beside it would have to go unread',
    async wrong => {
      const { set, config } = await projectWith({ command: 'files', ...wrong })
      const text = await config()
      await expect(set({ command: 'other' }, { replace: true })).rejects.toMatchObject({
        code: 'INPUT_INVALID',
        message: expect.stringContaining(Object.keys(wrong)[0] ?? ''),
      })
      expect(await config()).toBe(text)
    },
  )

  it.each([null, 'files', ['files'], {}])('may be no server at all: %j', async wrong => {
    const { set, present } = await projectWith(wrong)
    const answer = await set(PLAIN, { replace: true })
    expect(answer.outcome).toBe('replaced')
    expect(answer).not.toHaveProperty('keptSettings')
    expect(await present()).toEqual(PLAIN)
  })

  it('takes no name for its secret that its owner waits for elsewhere in the entry', async () => {
    const agents = { ada: { env: { X: '${secret:KEY}' } } }
    const { set, present, read } = await projectWith({ ...PLAIN, env: {}, agents })
    expect(await set(PLAIN, { replace: true, secrets: { KEY: 'hush' } })).toMatchObject({ secrets: ['KEY_2'] })
    expect(JSON.parse(await read('data/secrets.json'))).toEqual({ KEY_2: 'hush' })
    expect((await present()).agents).toEqual(agents)
  })

  it('takes no such name either where the setting goes: its owner may write it again', async () => {
    const { set, read } = await projectWith({ command: 'other', agents: { ada: { env: { X: '${secret:KEY}' } } } })
    expect(await set(PLAIN, { replace: true, secrets: { KEY: 'hush' } })).toMatchObject({ secrets: ['KEY_2'] })
    expect(JSON.parse(await read('data/secrets.json'))).toEqual({ KEY_2: 'hush' })
  })

  it('is told ahead as it would be', async () => {
    const { look, present } = await projectWith({ ...PLAIN, leaveOut: ['wipe'], agents: { ada: { env: { A: 'a' } } } })
    const before = await present()
    expect(await look({ url: 'https://a.example/mcp' }, { replace: true })).toMatchObject({
      outcome: 'replaced',
      keptSettings: ['leaveOut'],
      goneSettings: ['agents.ada.env'],
      config: { url: 'https://a.example/mcp', leaveOut: ['wipe'], agents: {} },
    })
    expect(await present()).toEqual(before)
  })
})

describe('an upstream that is there already', () => {
  it('is the same whatever its owner says of it beside how it is reached', async () => {
    const { set, look, config } = await projectWith({ ...PLAIN, ...OWN })
    const text = await config()
    for (const replace of [false, true]) {
      expect(await look(PLAIN, { replace })).toMatchObject({ outcome: 'unchanged' })
      const answer = await set(PLAIN, { replace })
      expect(answer).toMatchObject({ outcome: 'unchanged', unneeded: [] })
      expect(answer).not.toHaveProperty('keptSettings')
    }
    expect(await config()).toBe(text)
  })

  it('stays as it is with what is wrong beside it, which is told', async () => {
    const { set, look, config } = await projectWith({ command: 'a', leavOut: ['wipe'] })
    const text = await config()
    expect(await look({ command: 'a' })).toMatchObject({
      outcome: 'unchanged',
      problems: [{ message: expect.stringContaining('leavOut') }],
    })
    expect(await set({ command: 'a' })).toMatchObject({ outcome: 'unchanged' })
    expect(await config()).toBe(text)
  })

  it.each([
    [{ command: 'a', type: 'stdio', args: [], env: {} }, { command: 'a' }],
    [{ command: 'a' }, { command: 'a', type: 'stdio', args: [], env: {} }],
    [{ url: 'https://a.example' }, { type: 'http', url: 'https://a.example', headers: {} }],
    [
      { type: 'streamable-http', url: 'https://a.example' },
      { type: 'http', url: 'https://a.example' },
    ],
  ])('is the same in other words: %j', async (present, next) => {
    const { set, config } = await projectWith(present)
    const text = await config()
    expect(await set(next)).toMatchObject({ outcome: 'unchanged' })
    expect(await config()).toBe(text)
  })

  it.each([
    { ...PLAIN, args: ['/other'] },
    { ...PLAIN, cwd: '/other' },
    { ...PLAIN, start: 'lazy' },
    { command: 'files', args: ['/data'] },
  ])('is another one where the source says something else: %j', async next => {
    const { set } = await projectWith({ ...PLAIN, leaveOut: ['wipe'] })
    await expect(set(next)).rejects.toMatchObject({ code: 'NAME_TAKEN' })
  })

  it('keeps the name of what nobody gave yet, whatever its owner names like it', async () => {
    const agents = { ada: { env: { X: '${secret:KEY_3}' } } }
    const { set } = await projectWith({ agents, ...PLAIN, env: { KEY: '${secret:KEY_2}' } })
    expect(await set(PLAIN, { missing: ['KEY'] })).toMatchObject({ outcome: 'unchanged', missing: { KEY: 'KEY_2' } })
  })
})

describe('the version of a package', () => {
  const npx = (name: string, ...more: string[]) => ({ command: 'npx', args: ['-y', name, ...more] })

  it.each([false, true])('stays where the source names none (replace: %s)', async replace => {
    const { set, look, config } = await projectWith(npx('files@3.0.0'))
    const text = await config()
    for (const source of ['files', 'files@latest']) {
      const same = { outcome: 'unchanged', keptVersions: { files: 'files@3.0.0' } }
      expect(await look(npx(source), { replace })).toMatchObject(same)
      expect(await set(npx(source), { replace })).toMatchObject(same)
    }
    expect(await config()).toBe(text)
  })

  it('stays when something else of the server is replaced', async () => {
    const { set, present } = await projectWith(npx('files@3.0.0', '/data'))
    await expect(set(npx('files', '/other'))).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    expect(await set(npx('files', '/other'), { replace: true })).toMatchObject({
      outcome: 'replaced',
      keptVersions: { files: 'files@3.0.0' },
    })
    expect(await present()).toEqual(npx('files@3.0.0', '/other'))
  })

  it('is the one of the source where that names another', async () => {
    const { set, present } = await projectWith(npx('files@3.0.0'))
    await expect(set(npx('files@4.0.0'))).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    const answer = await set(npx('files@4.0.0'), { replace: true })
    expect(answer.outcome).toBe('replaced')
    expect(answer).not.toHaveProperty('keptVersions')
    expect(await present()).toEqual(npx('files@4.0.0'))
  })

  it('goes with the package', async () => {
    const { set, present } = await projectWith(npx('files@3.0.0'))
    expect(await set(npx('files-2'), { replace: true })).not.toHaveProperty('keptVersions')
    expect(await present()).toEqual(npx('files-2'))
  })
})
