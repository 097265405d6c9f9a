import { sep } from 'node:path'
import { describe, expect, it } from 'vitest'
import { find, inDesktop, inFile, only } from './testing/found.ts'

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
    ['{ "mcpServers": [{ "command": "a" }] }', /"mcpServers" is no object of names and servers/],
    ['{ "servers": "a" }', /"servers" is no object of names and servers/],
    ['/* */'.concat('['.repeat(100_000)), /nested too deep/],
  ])('that cannot be read says why: %s', async (text, problem) => {
    const { places, servers } = await find({ 'project/x.json': text }, 'x.json')
    expect({ places, servers }).toMatchObject({
      places: [{ found: true, problem: expect.stringMatching(problem) }],
      servers: [],
    })
  })

  it.each([
    ['utf-16le', Buffer.from('\uFEFF{ "ä": { "command": "a" } }', 'utf16le')],
    ['utf-16be', Buffer.from('\uFEFF{ "ä": { "command": "a" } }', 'utf16le').swap16()],
    ['utf-8 with a mark', Buffer.from('\uFEFF{ "ä": { "command": "a" } }')],
  ])('is read in %s, as shells and editors of Windows write it', async (_, bytes) => {
    expect((await find({ 'project/x.json': bytes }, 'x.json')).servers).toMatchObject([{ entry: { command: 'a' } }])
  })

  it('that is in another encoding is not guessed at', async () => {
    const latin = Buffer.from('{ "a": { "command": "/opt/zubehör/a" } }', 'latin1')
    const { places, servers } = await find({ 'project/x.json': latin }, 'x.json')
    expect({ places, servers }).toMatchObject({
      places: [{ found: true, problem: 'It is not UTF-8 text. Save it as UTF-8.' }],
      servers: [],
    })
  })

  it('keeps its secrets, which is told where it lies in the project', async () => {
    const text = JSON.stringify({
      mcpServers: {
        open: { command: 'a', env: { API_TOKEN: 'ghp_0123456789abcdefghij' } },
        apart: { command: 'b', envFile: '.env' },
        none: { command: 'c' },
      },
    })
    const files = { 'project/.env': 'API_KEY=k-0123456789', 'project/conf/mcp.json': text, 'other/mcp.json': text }
    const leftOf = async (file: string) =>
      (await find(files, file)).servers.filter(one => one.isLeftInClear).map(one => one.name)
    expect(await leftOf('conf/mcp.json')).toEqual(['open'])
    expect(await leftOf('../other/mcp.json')).toEqual([])
  })

  it('that is not there is told as not found', async () => {
    expect((await find({}, 'nowhere.json')).places).toMatchObject([{ client: 'file', found: false }])
  })

  it.each([
    [{}, 'It has neither "command" nor "url".'],
    [{ command: 'a', url: 'https://a.example' }, 'It has both "command" and "url".'],
    [{ command: ['a'] }, 'Its "command" is no text.'],
    [{ command: 'a', args: 'x' }, 'Its "args" are no list of texts.'],
    [{ command: 'a', args: ['x', {}] }, 'Its "args" are no list of texts.'],
    [{ command: 'a', env: 'A=1' }, 'Its "env" is no object of names and texts.'],
    [{ url: 'https://a.example', headers: ['A: 1'] }, 'Its "headers" is no object of names and texts.'],
    [{ command: 'a'.repeat(40_000) }, 'It has a text of more than 32768 characters.'],
    [{ command: 'a', args: Array.from({ length: 100 }, () => 'a'.repeat(20_000)) }, 'It is larger than 1 MiB.'],
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
  ])('has entries that are skipped with the reason: %.200j', async (entry, reason) => {
    const { skipped, entry: translated } = await only(entry, { ownUrl: 'http://127.0.0.1:9999' })
    expect(skipped).toMatch(reason)
    expect(translated).toBeUndefined()
  })

  it.each(['http://192.168.1.5:9999/mcp', 'http://localhost:9999/mcp/'])(
    'has us in it at %s where we listen at an address of this machine',
    async url => {
      const { skipped } = await only({ url }, { ownUrl: 'http://192.168.1.5:9999' })
      expect(skipped).toBe('It is Quartermaster itself.')
    },
  )

  it.each([
    ['npx', ['-y', 'mcp-remote@0.1.0', 'http://localhost:PORT/mcp', '--allow-http']],
    ['npx', ['-y', 'supergateway', '--streamableHttp', 'http://127.0.0.1:PORT/mcp']],
    ['uvx', ['mcp-proxy', '--transport', 'streamablehttp', 'http://127.0.0.1:PORT/mcp/']],
    ['bridge', ['--url', 'http://127.0.0.1:PORT/mcp']],
    ['bridge', ['--url=http://127.0.0.1:PORT/mcp']],
    ['sh', ['-c', 'exec npx -y mcp-remote "http://127.0.0.1:PORT/mcp"']],
    ['cmd', ['/c', 'npx mcp-remote http://127.0.0.1:PORT/mcp']],
  ])('has us in it behind a bridge, where we listen, or would if no up runs: %s %j', async (command, args) => {
    const at = (port: string) => ({ command, args: args.map(word => word.replace('PORT', port)) })
    const running = { ownUrl: 'http://127.0.0.1:9999' }
    const ours = [await only(at('9999'), running), await only(at('7420'))]
    expect(ours.map(({ skipped }) => skipped)).toEqual(Array(2).fill('It is Quartermaster itself.'))
    const others = [await only(at('7420'), running), await only(at('9999'))]
    expect(others.map(({ skipped }) => skipped)).toEqual([undefined, undefined])
  })

  it('has another Quartermaster in it, as a server like any other, where ours listens elsewhere', async () => {
    const url = 'http://127.0.0.1:7420/mcp'
    expect((await only({ url }, { ownUrl: 'http://127.0.0.1:9999' })).entry).toEqual({ type: 'http', url })
    expect((await only({ url })).skipped).toBe('It is Quartermaster itself.')
  })

  it.each([
    [{ command: 'quartermaster-notes' }],
    [{ command: 'tsx', args: ['/x/quartermaster.tsx', 'connect'] }],
    [{ command: 'npx', args: ['-y', 'acme-mcp', 'connect', '--root', '/home/me/quartermaster'] }],
    [{ command: 'node', args: ['acme.js', '--root', '/home/me/quartermaster', 'connect'] }],
    [{ url: 'http://localhost:9998/mcp' }],
    [{ url: 'https://example.com/mcp' }],
    [{ url: 'https://gateway.example/mcp', headers: { Authorization: `Bearer qm_${'a'.repeat(43)}` } }],
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
      'Größe Tür': { command: '6' },
    }
    const found = await inFile({ mcpServers: servers })
    expect(found.servers.map(one => one.as)).toEqual([
      'a-b',
      'a-b-2',
      'x'.repeat(32),
      'server',
      'constructor-2',
      'Grosse-Tur',
    ])
  })
})

it.each(['', '// a comment\n'])('loses no server for its name, with %j before it', async before => {
  const { servers } = await inDesktop(`${before}{ "mcpServers": { "__proto__": { "command": "a" } } }`)
  expect(servers).toMatchObject([{ name: '__proto__', as: 'proto', entry: { command: 'a' } }])
})

it('says of what stands twice in a file that only the last is taken over, and of a null among arguments that it is not', async () => {
  const text = `{ "mcpServers": {
    "a": { "command": "first" },
    "a": { "command": "last", "args": ["x", null, "y"], "env": { "MODE": "1", "MODE": "2" } },
    "b": { "command": "b" }, "b": {}
  } }`
  const { server } = await find({ 'project/x.json': text }, 'x.json')
  expect(server('a')).toMatchObject({
    entry: { command: 'last', args: ['x', 'y'], env: { MODE: '2' } },
    notes: [
      '"a" stands more than once in its file: only the last one is taken over.',
      '"env.MODE" stands more than once in its entry: only the last one is taken over.',
      'Not taken over: null among its "args".',
    ],
  })
  expect(server('b')).toMatchObject({ skipped: expect.any(String), notes: [expect.stringContaining('"b" stands')] })
})

it.each([
  ['Authorization', 'Bearer ', 'no token behind "Bearer"', 'Bearer ${secret:ONE_AUTHORIZATION}'],
  ['authorization', 'Basic', 'no token behind "Basic"', 'Basic ${secret:ONE_AUTHORIZATION}'],
  ['X-Api-Key', ' ', 'no value', '${secret:ONE_X_API_KEY}'],
])('says which header has nothing in it, and how to fill it in: %s, %j', async (header, value, what, whole) => {
  const { entry, notes } = await only({ url: 'https://a.example/mcp', headers: { [header]: value, Mode: 'basic' } })
  expect(entry).toMatchObject({ headers: { [header]: value } })
  expect(notes).toEqual([
    `The header "${header}" of "one" has ${what}. If one belongs there, put it into secrets.json as ` +
      `"${/ONE_\w+/.exec(whole)?.[0]}", make the header "${whole}", then: quartermaster reload`,
  ])
})

it('takes a field that is null for none, and says what is null in others', async () => {
  const { server } = await find(
    {
      'project/x.json': JSON.stringify({
        mcpServers: {
          a: { command: 'a', url: null, type: null, env: { KEY: null, MODE: '1' } },
          b: { url: 'https://b.example/mcp', command: null, headers: { Authorization: null } },
          c: { command: null },
        },
      }),
    },
    'x.json',
  )
  expect(server('a')).toMatchObject({
    entry: { command: 'a', env: { MODE: '1' } },
    notes: ['Not taken over: null for "KEY".'],
  })
  expect(server('b')).toMatchObject({
    entry: { type: 'http', url: 'https://b.example/mcp' },
    notes: ['Not taken over: null for "Authorization".'],
  })
  expect(server('c')).toMatchObject({ skipped: 'It has neither "command" nor "url".' })
})

it.each([
  ['project/.mcp.json', '{ "mcpServers": {}, "mcpServers": { "a": { "command": "a" } } }', '"mcpServers"'],
  ['project/.vscode/mcp.json', '{ "servers": { "a": { "command": "a" } , "a": { "command": "b" }, }, }', '"a"'],
])('says so wherever a client keeps its servers: %s', async (file, text, key) => {
  const { server } = await find({ [file]: text })
  const note = `${key} stands more than once in its file: only the last one is taken over.`
  expect(server('a').notes).toEqual([note])
})

describe('the script of an entry', () => {
  const FILES = {
    'claude-code': ['project/.mcp.json', 'claude'],
    'claude-desktop': ['home/.config/Claude/claude_desktop_config.json', 'claude'],
    cursor: ['project/.cursor/mcp.json', 'cursor'],
    vscode: ['project/.vscode/mcp.json', 'vscode'],
    file: ['project/x.json', 'x.json'],
  } as const

  /** What becomes of a script there. */
  const scriptOf = async (client: keyof typeof FILES, script: string) => {
    const [file, source] = FILES[client]
    const inputs = [{ id: '-id', type: 'promptString' }]
    const servers = { one: { command: 'docker', args: ['run', 'img', 'sh', '-c', script, '${PLAIN}'] } }
    const key = client === 'vscode' ? 'servers' : 'mcpServers'
    const { server } = await find({ [file]: JSON.stringify({ inputs, [key]: servers }) }, source)
    const args = server('one').entry?.['args'] as string[] | undefined
    const isFilledIn = client === 'claude-code' || client === 'file'
    expect(args?.at(-1)).toBe(isFilledIn ? '${PLAIN}' : '$${PLAIN}')
    return args?.at(-2)
  }

  it.each(['claude-desktop', 'cursor', 'vscode'] as const)('keeps the variables of its shell: %s', async client => {
    expect(await scriptOf(client, 'A=1; x ${A} "${B:-${C:-c}}" ${D%.*} $E "${1}" --token ${F}')).toBe(
      'A=1; x $${A} "$${B:-$${C:-c}}" $${D%.*} $E "$${1}" --token $${F}',
    )
  })

  it.each(['claude-code', 'file'] as const)('has those filled in that are filled in there: %s', async client => {
    expect(await scriptOf(client, 'x ${A} ${B:-$C} ${D%.*} "${1}"')).toBe('x ${A} ${B:-$C} $${D%.*} "$${1}"')
  })

  it.each([
    ['.cursor/mcp.json', 'x $${A}'],
    ['claude_desktop_config.json', 'x $${A}'],
    ['.mcp.json', 'x ${A}'],
  ])('is read as its client reads it where the file is named: %s', async (file, script) => {
    const servers = { one: { command: 'sh', args: ['-c', 'x ${A}'] } }
    const { server } = await find({ [`project/${file}`]: JSON.stringify({ mcpServers: servers }) }, `./${file}`)
    expect(server('one').entry?.['args']).toEqual(['-c', script])
  })

  it.each(['claude-desktop', 'cursor'] as const)('leaves to a program what it fills in itself: %s', async client => {
    const [file, source] = FILES[client]
    const one = {
      command: 'npx',
      args: ['mcp-remote@0.1.0', 'https://a.example/mcp', '--header', 'Authorization:${AUTH_HEADER}'],
      env: { AUTH_HEADER: 'Bearer abcdef123456' },
    }
    const { server } = await find({ [file]: JSON.stringify({ mcpServers: { one } }) }, source)
    expect(server('one').entry).toMatchObject({
      args: [...one.args.slice(0, -1), 'Authorization:$${AUTH_HEADER}'],
      env: { AUTH_HEADER: expect.stringContaining('${secret:') },
    })
  })

  it('has the variables of its client in our words', async () => {
    expect(await scriptOf('cursor', 'x ${env:A} ${/}')).toBe(`x \${env:A} ${sep}`)
    expect(await scriptOf('vscode', 'x ${env:A} ${input:-id}')).toBe('x ${env:A:-} ${secret:ONE_ID}')
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

it('says of no fallback that it is a secret which stands for none', async () => {
  const entry = { url: 'https://a.example/mcp', headers: { Authorization: 'Bearer ${X:-none}' } }
  expect(await only(entry)).toMatchObject({ entry, secrets: {}, notes: [] })
})

describe('a server that is taken over', () => {
  const entry = { command: 'a' }
  const shared = JSON.stringify({ mcpServers: { s: entry } })
  const own = (file: string, ...keys: string[]) => ({ file, keys })
  const byClaude = (...words: string[]) => ({ command: ['claude', 'mcp', 'remove', '--scope', ...words] })

  it('says for each client how it is removed there', async () => {
    const dir = '/no/such/project'
    const claude = {
      mcpServers: { user: entry, '--all': entry },
      projects: { [dir]: { mcpServers: { local: entry } } },
    }
    const files = {
      'home/.claude.json': JSON.stringify(claude),
      'home/.config/Claude/claude_desktop_config.json': '{ "mcpServers": { "desk top": { "command": "a" } } }',
      'home/.cursor/mcp.json': '{ "mcpServers": { "c": { "command": "a" } } }',
      'home/.config/Code/User/mcp.json': '{ "servers": { "v": { "command": "a" } } }',
    }
    const { server, folder } = await find(files, undefined, { dir })
    expect(server('user').removal).toEqual(byClaude('user', 'user'))
    expect(server('--all').removal).toEqual(byClaude('user', '--', '--all'))
    expect(server('local').removal).toEqual({ ...byClaude('local', 'local'), folder: dir })
    const path = (file: string) => folder.path(`home/${file}`)
    expect(server('desk top').removal).toEqual(
      own(path('.config/Claude/claude_desktop_config.json'), 'mcpServers', 'desk top'),
    )
    expect(server('c').removal).toEqual(own(path('.cursor/mcp.json'), 'mcpServers', 'c'))
    expect(server('v').removal).toEqual(own(path('.config/Code/User/mcp.json'), 'servers', 'v'))
  })

  it.each([
    ['.mcp.json', shared, 'mcpServers'],
    ['settings.json', '{ "mcp": { "servers": { "s": { "command": "a" } } } }', 'mcp', 'servers'],
    ['x.json', '{ "s": { "command": "a" } }'],
  ])('says for a file that is named, such as %s, how it is removed there', async (file, text, ...keys) => {
    const { server, folder } = await find({ [`other/${file}`]: text }, `../other/${file}`)
    const removal =
      file === '.mcp.json'
        ? { ...byClaude('project', 's'), folder: folder.path('other') }
        : own(folder.path(`other/${file}`), ...keys, 's')
    expect(server('s').removal).toEqual(removal)
  })
})
