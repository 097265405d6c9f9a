import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { tempProject } from '../../testing/temp-project.ts'
import { readClientConfigs } from './index.ts'
import { CLAUDE_CODE, CLAUDE_DESKTOP } from './testing/client-files.ts'
import { find, inDesktop } from './testing/found.ts'

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
      entry: { args: ['--dsn', 'postgres://${secret:DATABASE_LOGIN}@db/x'] },
      secrets: { DATABASE_LOGIN: 'me:pw' },
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

  describe('with servers that a person has refused', () => {
    const ENTRY = { command: 'a' }
    const SHARED = JSON.stringify({ mcpServers: { off: ENTRY, on: ENTRY } })
    const states = async (files: Record<string, unknown>, source = 'claude') => {
      const folder = await tempProject({})
      // What stands in there by its path is that of the project.
      const dir = folder.path('project')
      const texts = Object.entries(files).map(([file, value]) => [
        file,
        typeof value === 'string' ? value : JSON.stringify(value).replaceAll('HERE', dir),
      ])
      for (const [file, text] of texts) await folder.write(String(file), String(text))
      const found = await readClientConfigs({
        source,
        platform: 'linux',
        home: folder.path('home'),
        env: {},
        dir,
        projectDir: dir,
      })
      return found.servers
    }

    it.each([
      ['~/.claude.json', { 'home/.claude.json': { projects: { HERE: { disabledMcpjsonServers: ['off'] } } } }],
      ['the list of /mcp', { 'home/.claude.json': { projects: { HERE: { disabledMcpServers: ['off'] } } } }],
      ['the settings of the person', { 'home/.claude/settings.json': { disabledMcpjsonServers: ['off'] } }],
      ['the settings of the project', { 'project/.claude/settings.json': { disabledMcpjsonServers: ['off'] } }],
      ['its local settings', { 'project/.claude/settings.local.json': { disabledMcpjsonServers: ['off'] } }],
    ])('has those of .mcp.json switched off that %s names, and says so', async (_where, files) => {
      expect(await states({ 'project/.mcp.json': SHARED, ...files })).toMatchObject([
        {
          name: 'off',
          entry: { command: 'a', enabled: false },
          notes: [expect.stringMatching(/^It was refused in Claude/)],
        },
        { name: 'on', entry: ENTRY, notes: [] },
      ])
    })

    it('has its own switched off in the folder in which they were', async () => {
      const projects = {
        HERE: {
          mcpServers: { mine: ENTRY },
          disabledMcpServers: ['mine', 'everywhere'],
          disabledMcpjsonServers: ['wide'],
        },
        '/other': { mcpServers: { far: ENTRY }, disabledMcpServers: ['far', 'wide'] },
      }
      const everywhere = { everywhere: ENTRY, wide: ENTRY }
      const found = await states({ 'home/.claude.json': { mcpServers: everywhere, projects } })
      expect(found.map(({ name, entry }) => [name, entry?.['enabled']])).toEqual([
        ['everywhere', false],
        ['wide', undefined],
        ['mine', false],
        ['far', false],
      ])
    })

    it('leaves those of other clients alone', async () => {
      const files = {
        'home/.claude.json': { projects: { HERE: { disabledMcpServers: ['off'] } } },
        'project/.cursor/mcp.json': SHARED,
        'project/.claude/settings.json': '{',
      }
      const found = await states(files, 'cursor')
      expect(found.map(({ entry }) => entry)).toEqual([ENTRY, ENTRY])
    })
  })
})
