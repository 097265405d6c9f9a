import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ForeignServer } from '../../contracts/index.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { readClientConfigs } from './index.ts'
import { CLAUDE_CODE, CLAUDE_DESKTOP, CURSOR, VSCODE } from './testing/client-files.ts'

interface Situation {
  platform?: NodeJS.Platform
  env?: Record<string, string>
  ownUrl?: string
  /** The project folder, when it is no real one. */
  dir?: string
}

/** What is found where `home` and `project` hold these files. */
async function find(files: Record<string, string>, source?: string, situation: Situation = {}) {
  const folder = await tempProject(files)
  const { platform = 'linux', env = {}, ownUrl, dir = folder.path('project') } = situation
  const home = folder.path('home')
  const found = await readClientConfigs({ source, platform, home, env, dir, ownUrl })
  const byName = Object.fromEntries(found.servers.map(server => [server.name, server]))
  const server = (name: string): ForeignServer => {
    const one = byName[name]
    if (!one) throw new Error(`there is no "${name}"`)
    return one
  }
  return { ...found, names: found.servers.map(one => one.name), server, home, project: dir, folder }
}

const inDesktop = (text: string) => find({ 'home/.config/Claude/claude_desktop_config.json': text }, 'claude')
const inFile = (value: unknown, situation?: Situation) =>
  find({ 'project/x.json': JSON.stringify(value) }, 'x.json', situation)

/** The only server of a file with this entry. */
async function only(entry: unknown, situation?: Situation): Promise<ForeignServer> {
  return (await inFile({ mcpServers: { one: entry } }, situation)).server('one')
}

describe('the configuration of Claude Desktop', () => {
  it('is read with its programs, and secrets are taken out', async () => {
    const { server, names } = await inDesktop(CLAUDE_DESKTOP)
    expect(names).toEqual(['filesystem', 'github', 'brave search', 'remote', 'quartermaster'])
    expect(server('filesystem')).toMatchObject({
      as: 'filesystem',
      client: 'claude-desktop',
      entry: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-filesystem', '/Users/ada/Desktop', '/Users/ada/Downloads'],
      },
      secrets: {},
    })
    expect(server('github')).toMatchObject({
      entry: { env: { GITHUB_PERSONAL_ACCESS_TOKEN: '${secret:GITHUB_PERSONAL_ACCESS_TOKEN}' } },
      secrets: { GITHUB_PERSONAL_ACCESS_TOKEN: 'ghp_0123456789abcdefghijklmnopqrstuvwxyz' },
    })
    expect(server('brave search')).toMatchObject({
      as: 'brave-search',
      entry: { env: { BRAVE_API_KEY: '${secret:BRAVE_API_KEY}', LOG_LEVEL: 'debug' } },
    })
    expect(server('remote')).toMatchObject({
      entry: {
        args: [
          'mcp-remote',
          'https://mcp.example.com/sse',
          '--header',
          'Authorization: Bearer ${secret:REMOTE_AUTHORIZATION}',
        ],
      },
      secrets: { REMOTE_AUTHORIZATION: 'abcdef123456' },
    })
  })

  it('skips what is ourselves', async () => {
    expect((await inDesktop(CLAUDE_DESKTOP)).server('quartermaster')).toMatchObject({
      skipped: 'It is Quartermaster itself.',
    })
  })

  it.each([
    ['darwin', 'home/Library/Application Support/Claude/claude_desktop_config.json', {}],
    ['linux', 'home/.config/Claude/claude_desktop_config.json', {}],
    ['win32', 'home/AppData/Roaming/Claude/claude_desktop_config.json', {}],
  ] as const)('is found on %s', async (platform, file, env) => {
    const { names } = await find({ [file]: CLAUDE_DESKTOP }, 'claude', { platform, env })
    expect(names).toContain('github')
  })

  it('is never changed', async () => {
    const { folder } = await inDesktop(CLAUDE_DESKTOP)
    const file = folder.path('home/.config/Claude/claude_desktop_config.json')
    expect(await readFile(file, 'utf8')).toBe(CLAUDE_DESKTOP)
  })
})

describe('the configuration of Claude Code', () => {
  const read = (dir = '/work/here') => find({ 'home/.claude.json': CLAUDE_CODE }, 'claude', { dir })

  it('has servers for everywhere and servers of folders, those of other folders last', async () => {
    const { names, server } = await read()
    expect(names).toEqual(['linear', 'notion', 'us', 'tests', 'database'])
    expect(server('tests')).toMatchObject({ elsewhere: undefined, entry: { command: './run-tests' } })
    expect(server('tests').entry).not.toHaveProperty('cwd')
    expect(server('database')).toMatchObject({ elsewhere: '/work/other', entry: { cwd: '/work/other' } })
  })

  it('counts what belongs to a folder around this one as here', async () => {
    expect((await read('/work/here/sub')).server('tests')).toMatchObject({
      elsewhere: undefined,
      entry: { cwd: '/work/here' },
    })
  })

  it('takes over addresses with their variables, skips the older transport, and finds us by our token', async () => {
    const { server } = await read()
    expect(server('notion').entry).toEqual({
      type: 'http',
      url: 'https://mcp.notion.com/mcp',
      headers: { 'X-Trace': '${TRACE:-off}' },
    })
    expect(server('linear').skipped).toContain('"sse"')
    expect(server('us').skipped).toBe('It is Quartermaster itself.')
  })

  it('takes a login out of an address among the arguments', async () => {
    expect((await read()).server('database')).toMatchObject({
      entry: { args: ['--dsn', '${secret:DATABASE_DSN}'] },
      secrets: { DATABASE_DSN: 'postgres://me:pw@db/x' },
    })
  })

  it('is also the .mcp.json of the project, which counts before the rest', async () => {
    const { server, servers } = await find(
      {
        'project/.mcp.json': '{ "mcpServers": { "same": { "command": "a" }, "both": { "command": "project" } } }',
        'home/.claude.json': '{ "mcpServers": { "same": { "command": "a" }, "both": { "command": "home" } } }',
      },
      'claude',
    )
    expect(servers.map(one => [one.name, one.entry?.['command'], one.skipped])).toEqual([
      ['same', 'a', undefined],
      ['both', 'project', undefined],
      ['both', undefined, expect.stringContaining('.mcp.json, which counts first')],
    ])
    expect(server('same').client).toBe('claude-code')
  })
})

it.each(['', '// a comment\n'])('loses no server for its name, with %j before it', async before => {
  const { servers } = await inDesktop(`${before}{ "mcpServers": { "__proto__": { "command": "a" } } }`)
  expect(servers).toMatchObject([{ name: '__proto__', as: 'proto', entry: { command: 'a' } }])
})

describe('the configuration of Cursor', () => {
  const read = () => find({ 'project/.cursor/mcp.json': CURSOR }, 'cursor')

  it('has its variables filled in or put into our words', async () => {
    const { server, project, home } = await read()
    expect(server('local').entry).toEqual({
      command: join(project, 'bin', 'server'),
      args: ['--home', `${home}/x`, '--name', 'project'],
      env: { API_KEY: '${env:CURSOR_KEY}', PORT: '8080' },
    })
    expect(server('local')).toMatchObject({
      secrets: {},
      notes: [`Its envFile ${join(project, '.env')} is not there, so the variables in it are missing here.`],
    })
  })

  it('says what of an entry is not taken over, and takes secrets out of addresses', async () => {
    expect((await read()).server('web')).toMatchObject({
      entry: { type: 'http', url: 'https://web.example/mcp?api_key=${secret:WEB_API_KEY}&team=red' },
      secrets: { WEB_API_KEY: 's3cr3tvalue' },
      notes: ['Not taken over: autoApprove, timeout.'],
    })
  })

  it('says behind which arguments a secret may be left', async () => {
    const args = ['-p', 'python3.12', 'server', '-k', 'hunter2', '-t', 'stdio']
    expect((await only({ command: 'uvx', args })).notes).toEqual([
      expect.stringMatching(/^What stands behind -k among its arguments may be a secret/),
    ])
    const script = `MODE=a npx -p x srv -k hunter2 --token abc --password 'a;b'`
    expect(await only({ command: 'sh', args: ['-c', script] })).toMatchObject({
      entry: { args: ['-c', script.replace('abc', '${secret:ONE_TOKEN}')] },
      notes: [expect.stringContaining('in its script (PASSWORD)'), expect.stringContaining('behind -k among')],
    })
  })

  it('keeps what it says about signing in and about being switched off', async () => {
    const { server } = await read()
    expect(server('signed')).toMatchObject({
      entry: { oauth: { clientId: 'abc', clientSecret: '${secret:SIGNED_CLIENT_SECRET}', scope: 'read write' } },
      secrets: { SIGNED_CLIENT_SECRET: 'hush' },
    })
    expect(server('off').entry).toEqual({ command: 'off', enabled: false })
  })
})

describe('the configuration of VS Code', () => {
  const read = () => find({ 'project/.vscode/mcp.json': VSCODE }, 'vscode')

  it('takes a variable that is not set for an empty text, as it is there', async () => {
    const text = '{ "servers": { "one": { "command": "a", "env": { "A": "${env:NOPE}", "B": "${env:B:-b}" } } } }'
    const { server } = await find({ 'project/.vscode/mcp.json': text }, 'vscode')
    expect(server('one').entry).toEqual({ command: 'a', env: { A: '${env:NOPE:-}', B: '${env:B:-b}' } })
  })

  it('has comments, and inputs that become secrets to be asked for', async () => {
    const { server } = await read()
    expect(server('perplexity')).toMatchObject({
      entry: {
        command: 'npx',
        args: ['-y', 'server-perplexity-ask', '--region', '${secret:PERPLEXITY_REGION}'],
        env: { PERPLEXITY_API_KEY: '${secret:PERPLEXITY_PERPLEXITY_KEY}' },
      },
      asks: [
        { id: 'region', secret: 'PERPLEXITY_REGION', prompt: 'Region', isHidden: false, fallback: 'eu' },
        { id: 'perplexity-key', secret: 'PERPLEXITY_PERPLEXITY_KEY', prompt: 'Perplexity API Key', isHidden: true },
      ],
    })
  })

  it('makes names fit, and passes over what is only for its gallery', async () => {
    expect((await read()).server('GitHub.copilot')).toMatchObject({
      as: 'GitHub-copilot',
      entry: { url: 'https://api.githubcopilot.com/mcp/' },
      notes: ['Not taken over: gallery.'],
    })
  })

  it.each(['picked', 'strange'])('skips what only VS Code can fill in: %s', async name => {
    expect((await read()).server(name).skipped).toMatch(/^Only its own client can fill in \$\{/)
  })

  it('may stand in the settings, under "mcp"', async () => {
    const { names } = await inFile({ 'editor.fontSize': 12, mcp: { servers: { a: { command: 'a' } } } })
    expect(names).toEqual(['a'])
  })
})

describe('a file of variables that an entry names', () => {
  const DOTENV = [
    '# of the team',
    'export DB_PASSWORD="hush\nhush"',
    "MODE='fast # really'",
    'REGION = eu # near',
    'PORT=8080',
    'GREETING=hello ${NAME}',
    'EMPTY=',
    'not a variable',
  ].join('\n')

  it('is read, the entry counts before it, and secrets are taken out', async () => {
    const entry = { command: 'a', env: { PORT: '9090' }, envFile: '${workspaceFolder}/conf/.env' }
    const { server, project } = await find(
      { 'project/.vscode/mcp.json': JSON.stringify({ servers: { one: entry } }), 'project/conf/.env': DOTENV },
      'vscode',
    )
    expect(server('one')).toMatchObject({
      entry: {
        command: 'a',
        env: {
          DB_PASSWORD: '${secret:DB_PASSWORD}',
          MODE: 'fast # really',
          REGION: 'eu',
          PORT: '9090',
          GREETING: '${secret:ONE_GREETING}',
          EMPTY: '',
        },
      },
      secrets: { DB_PASSWORD: 'hush\nhush', ONE_GREETING: 'hello ${NAME}' },
      notes: [
        `The 6 variables of ${join(project, 'conf', '.env')} stand here as they are now; import again when that file changes.`,
      ],
    })
  })

  it('shares no secret with the rest of the entry, and neither does what is asked for', async () => {
    const entry = {
      command: 'a',
      args: ['${input:token}', '${input:-token}'],
      env: { MY_TOKEN: 'literal-secret-1', MY_TOKEN_2: 'literal-secret-2' },
      envFile: '.env',
    }
    const inputs = ['token', '-token'].map(id => ({ id, type: 'promptString' }))
    const { server } = await find(
      {
        'project/.vscode/mcp.json': JSON.stringify({ inputs, servers: { my: entry } }),
        'project/.env': 'TOKEN=abc${NOPE}def\n-TOKEN=${OTHER}',
      },
      'vscode',
    )
    const { entry: translated, secrets, asks } = server('my')
    expect(asks.map(({ secret }) => secret)).toEqual(['MY_TOKEN', 'MY_TOKEN_2'])
    expect(translated).toMatchObject({
      args: ['${secret:MY_TOKEN}', '${secret:MY_TOKEN_2}'],
      env: {
        TOKEN: '${secret:MY_TOKEN_3}',
        '-TOKEN': '${secret:MY_TOKEN_4}',
        MY_TOKEN: '${secret:MY_TOKEN_5}',
        MY_TOKEN_2: '${secret:MY_TOKEN_2_2}',
      },
    })
    expect(secrets).toEqual({
      MY_TOKEN_3: 'abc${NOPE}def',
      MY_TOKEN_4: '${OTHER}',
      MY_TOKEN_5: 'literal-secret-1',
      MY_TOKEN_2_2: 'literal-secret-2',
    })
  })

  it.each([
    ['.env', 'project/.env', {}],
    ['.env', 'project/.cursor/.env', {}],
    ['${env:CONF}/.env', 'project/conf/.env', { CONF: 'conf' }],
    ['${userHome}/.env', 'home/.env', {}],
  ])('is found: %s is %s', async (envFile, file, env) => {
    const config = JSON.stringify({ mcpServers: { one: { command: 'a', envFile } } })
    const { server } = await find({ 'project/.cursor/mcp.json': config, [file]: 'A=1' }, 'cursor', { env })
    expect(server('one').entry).toEqual({ command: 'a', env: { A: '1' } })
  })

  it.each([
    ['nowhere/.env', /nowhere\/\.env is not there, so/],
    ['${env:NOPE}/.env', /holds a variable that cannot be filled in here, so/],
    ['.', /cannot be used\. It is not a regular file, so/],
  ])('that cannot be read is told, and the rest taken over: %s', async (envFile, note) => {
    const { entry, notes } = await only({ command: 'a', envFile })
    expect({ entry, notes }).toEqual({ entry: { command: 'a' }, notes: [expect.stringMatching(note)] })
  })
})

describe('any file', () => {
  it('may hold nothing but servers', async () => {
    expect((await inFile({ a: { command: 'a' }, b: { url: 'https://b.example' } })).names).toEqual(['a', 'b'])
  })

  it('that lies in another project counts from there', async () => {
    const files = { 'other/.mcp.json': '{ "mcpServers": { "a": { "command": "./a" } } }' }
    const { server, folder } = await find(files, '../other/.mcp.json')
    expect(server('a').entry).toEqual({ command: './a', cwd: folder.path('other') })
  })

  it.each([
    ['{ "mcpServers": ', /not JSON.*line 1/],
    ['[]', /no JSON object/],
    ['/* */'.concat('['.repeat(100_000)), /nested too deep/],
  ])('that cannot be read says why: %s', async (text, problem) => {
    const { places, servers } = await find({ 'project/x.json': text }, 'x.json')
    expect({ places, servers }).toMatchObject({
      places: [{ found: true, problem: expect.stringMatching(problem) }],
      servers: [],
    })
  })

  it('that is not there is told as not found', async () => {
    expect((await find({}, 'nowhere.json')).places).toMatchObject([{ client: 'file', found: false }])
  })

  it.each([
    [{}, 'It has neither "command" nor "url".'],
    [{ command: 'a', url: 'https://a.example' }, 'It has both "command" and "url".'],
    [{ command: ['a'] }, 'Its "command" is no text.'],
    [{ type: 'ws', url: 'wss://a.example' }, 'Its type "ws" does not go with "url".'],
    [{ transport: 'sse', url: 'https://a.example' }, /"sse"/],
    ['a', 'It is no object.'],
    [{ url: 'http://localhost:9999/mcp' }, 'It is Quartermaster itself.'],
    [{ command: 'npx', args: ['-y', 'quartermaster@1.0.0', 'connect'] }, 'It is Quartermaster itself.'],
    [{ command: 'npx', args: ['-p', 'quartermaster', 'quartermaster', 'connect'] }, 'It is Quartermaster itself.'],
    [{ command: 'node', args: ['--import', 'x', '/y/quartermaster', 'connect'] }, 'It is Quartermaster itself.'],
    [{ command: 'tsx', args: ['/x/quartermaster.ts', 'connect'] }, 'It is Quartermaster itself.'],
    [{ command: 'node', args: ['/x/quartermaster.cjs', 'connect'] }, 'It is Quartermaster itself.'],
    [{ command: 'cmd', args: ['/c', 'npx -y quartermaster connect'] }, 'It is Quartermaster itself.'],
    [
      { command: 'node', args: ['/x/dist/bin/quartermaster.js', 'connect', '--agent', 'a'] },
      'It is Quartermaster itself.',
    ],
  ])('has entries that are skipped with the reason: %j', async (entry, reason) => {
    const { skipped, entry: translated } = await only(entry, { ownUrl: 'http://127.0.0.1:9999' })
    expect(skipped).toMatch(reason)
    expect(translated).toBeUndefined()
  })

  it.each([
    [{ command: 'quartermaster-notes' }],
    [{ command: 'tsx', args: ['/x/quartermaster.tsx', 'connect'] }],
    [{ command: 'npx', args: ['-y', 'acme-mcp', 'connect', '--root', '/home/me/quartermaster'] }],
    [{ command: 'node', args: ['acme.js', '--root', '/home/me/quartermaster', 'connect'] }],
    [{ url: 'http://localhost:9998/mcp' }],
    [{ url: 'https://example.com/mcp' }],
  ])('has others that only look like us: %j', async entry => {
    expect((await only(entry, { ownUrl: 'http://127.0.0.1:9999' })).skipped).toBeUndefined()
  })

  it('has names that no two servers share', async () => {
    const servers = {
      'a b': { command: '1' },
      'a.b': { command: '2' },
      [`${'x'.repeat(40)}1`]: { command: '3' },
      日本: { command: '4' },
      constructor: { command: '5' },
    }
    const found = await inFile({ mcpServers: servers })
    expect(found.servers.map(one => one.as)).toEqual(['a-b', 'a-b-2', 'x'.repeat(32), 'server', 'constructor-2'])
  })
})

describe('looking everywhere', () => {
  it('finds what each client has, and says where it looked', async () => {
    const { places, names } = await find({
      'home/.config/Claude/claude_desktop_config.json': '{ "mcpServers": { "desk": { "command": "a" } } }',
      'home/.cursor/mcp.json': '{ "mcpServers": { "curse": { "command": "a" } } }',
      'home/.config/Code/User/mcp.json': '{ "servers": { "code": { "command": "a" } } }',
    })
    expect(names).toEqual(['desk', 'curse', 'code'])
    expect(places.map(({ client, found }) => [client, found])).toEqual([
      ['claude-code', false],
      ['claude-code', false],
      ['claude-desktop', true],
      ['cursor', false],
      ['cursor', true],
      ['vscode', false],
      ['vscode', true],
    ])
  })
})
