import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CURSOR, VSCODE } from './testing/client-files.ts'
import { find, inFile, only } from './testing/found.ts'

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
      notes: [
        'Not taken over: null for "NONE".',
        `Its envFile ${join(project, '.env')} is not there, so the variables in it are missing here.`,
      ],
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
      entry: { args: ['-c', script] },
      notes: [expect.stringContaining('in its command (TOKEN, PASSWORD)'), expect.stringContaining('behind -k among')],
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

  it.each([
    ['.vscode/mcp.json', 'servers'],
    ['.vscode/mcp.json', 'mcpServers'],
    ['shared.json', 'servers'],
  ])('means the same where its file is named: %s with "%s"', async (file, key) => {
    const script = { command: 'sh', args: ['-c', 'x ${A}'], env: { A: '${env:NOPE}' } }
    const { server } = await find({ [`project/${file}`]: JSON.stringify({ [key]: { one: script } }) }, `./${file}`)
    expect(server('one')).toMatchObject({
      client: 'file',
      entry: { command: 'sh', args: ['-c', 'x $${A}'], env: { A: '${env:NOPE:-}' } },
    })
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

  it.each([
    { command: 'a', args: ['${file}'] },
    { command: 'sh', args: ['-c', 'x ${relativeFileDirname}'] },
    { command: 'a', env: { LINE: 'at ${lineNumber}' } },
  ])('skips what is open in VS Code alone, and takes it for no variable of the environment: %j', async one => {
    const { server } = await find({ 'project/.vscode/mcp.json': JSON.stringify({ servers: { one } }) }, 'vscode')
    expect(server('one').skipped).toMatch(
      /^Only its own client can fill in \$\{(?:file|relativeFileDirname|lineNumber)\}/,
    )
    const { server: ofCursor } = await find({ 'project/.cursor/mcp.json': JSON.stringify({ mcpServers: { one } }) })
    expect(ofCursor('one').skipped).toBeUndefined()
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

  it('is spoken of as one where it has one variable', async () => {
    const entry = { command: 'a', envFile: '.env' }
    const { server, project } = await find(
      { 'project/.vscode/mcp.json': JSON.stringify({ servers: { one: entry } }), 'project/.env': 'MODE=fast' },
      'vscode',
    )
    const file = join(project, '.env')
    expect(server('one').notes).toEqual([
      `The variable of ${file} stands here as it is now; import again when that file changes.`,
    ])
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
    ['.', /cannot be used \(It is not a regular file\.\), so/],
  ])('that cannot be read is told, and the rest taken over: %s', async (envFile, note) => {
    const { entry, notes } = await only({ command: 'a', envFile })
    expect({ entry, notes }).toEqual({ entry: { command: 'a' }, notes: [expect.stringMatching(note)] })
  })
})
