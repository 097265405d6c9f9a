import { once } from 'node:events'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempProject } from '../src/testing/temp-project.ts'
import { GREETER } from './support/greeter.ts'
import { makeProject, quartermaster, startProcess, startUp } from './support/product.ts'
import { onFixture, startHttpServer, textOf } from './support/upstream-fixture.ts'

const DEFAULT = '{\n  // mine\n  "capabilities": { "files": { "dirs": ["./notes"] } }\n}\n'

interface Added {
  outcome: string
  granted: string[]
  secrets: string[]
  status?: { state: string; tools: { offered: number } }
}

async function project(files: Record<string, string> = {}) {
  const dir = await makeProject({
    'greeter.mjs': GREETER,
    'notes/a.txt': 'a',
    'agents/default.json': DEFAULT,
    ...files,
  })
  const run = (...args: string[]) =>
    quartermaster(args, { cwd: dir, env: { HOME: join(dir, 'home'), XDG_CONFIG_HOME: '' } })
  const json = async (file: string) => JSON.parse(await readFile(join(dir, file), 'utf8'))
  return { dir, run, json }
}

const greet = ['call', 'greeter_greet', 'name=Ada']

const WITH_GREETER = JSON.stringify({ mcpServers: { greeter: { command: process.execPath, args: ['greeter.mjs'] } } })

describe('a server that is added while up runs', () => {
  it('can be used at once, and keeps its secret', async () => {
    const { dir, run, json } = await project()
    await startUp(dir)
    const command = ['--', process.execPath, 'greeter.mjs']
    const added = await run('add', 'greeter', '--json', '--env', 'GREETER_TOKEN=hush-hush-1', ...command)
    expect(added.json<Added>()).toMatchObject({
      outcome: 'added',
      granted: ['default'],
      secrets: ['GREETER_TOKEN'],
      status: { state: 'up', tools: { offered: 1 } },
    })
    const { mcpServers } = await json('quartermaster.config.json')
    expect(mcpServers.greeter.env).toEqual({ GREETER_TOKEN: '${secret:GREETER_TOKEN}' })
    expect(await json('.quartermaster/secrets.json')).toEqual({ GREETER_TOKEN: 'hush-hush-1' })
    expect((await run(...greet)).stdout).toBe('Hello, Ada!')
    const logs = await run('logs', 'greeter')
    expect(logs.stdout).toContain('greeter starts with ')
    expect(logs.stdout).not.toContain('hush-hush-1')
  })
})

describe('a server that is added at the root of a clone', () => {
  it('goes to the project that `npm start` runs, and says so', async () => {
    const clone = await tempProject({
      'package.json': await readFile(new URL('../../../package.json', import.meta.url), 'utf8'),
      'examples/hello/quartermaster.config.json': '{}',
      'examples/hello/greeter.mjs': GREETER,
      'docs/first-tool.md': '',
    })
    const hello = clone.path('examples/hello')
    await startUp(hello)
    const added = await quartermaster(['add', 'greeter', '--', process.execPath, 'greeter.mjs'], { cwd: clone.dir })
    expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining(join(hello, 'quartermaster.config.json')) })
    expect((await quartermaster(greet, { cwd: clone.path('docs') })).stdout).toBe('Hello, Ada!')
    expect(await readdir(clone.dir)).toEqual(['docs', 'examples', 'package.json'])
  })
})

describe('a server by HTTP that is added by its address', () => {
  it('can be called by a client at once while up runs, with the header that it was added with', async () => {
    const { url } = await startHttpServer('--token=of-far-0123456789')
    const dir = await makeProject({ 'agents/default.json': DEFAULT })
    const fixture = await onFixture(dir)
    const client = await fixture.connect()
    const added = await fixture.run('add', 'far', url, '--header', 'Authorization=Bearer of-far-0123456789')
    expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/^✓ .*it is up, with \d+ tools/) })
    expect(await textOf(client, 'far_echo', { text: 'hi' })).toBe('hi')
    expect(await readFile(join(dir, 'quartermaster.config.json'), 'utf8')).not.toContain('of-far-0123456789')
  })

  it('is there for the clients of the next up when nothing runs', async () => {
    const { url } = await startHttpServer()
    const dir = await makeProject({ 'agents/default.json': DEFAULT })
    const added = await quartermaster(['add', 'far', url, '--json'], { cwd: dir })
    expect(added.json<Added>()).toMatchObject({ outcome: 'added', granted: ['default'], status: { state: 'up' } })
    const client = await (await onFixture(dir)).connect()
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('far_echo')
    await expect.poll(() => textOf(client, 'far_echo', { text: 'hi' })).toBe('hi')
  })
})

describe('a server whose name cannot be used', () => {
  it('is reported by every command, and hides no other', async () => {
    const greeter = { command: process.execPath, args: ['greeter.mjs'] }
    const { dir, run } = await project({
      'quartermaster.config.json': JSON.stringify({ mcpServers: { 'brave search': greeter, greeter } }),
    })
    await startUp(dir)
    const upstreams = (await run('upstreams', '--json')).json<{ name: string; state: string }[]>()
    expect(upstreams).toMatchObject([{ name: 'greeter' }, { name: 'brave search', state: 'off' }])
    for (const words of [['review'], ['show', 'greeter'], ['show', 'brave search']])
      expect(await run('upstreams', ...words)).toMatchObject({ code: 0 })
  })
})

describe('a server that is removed while up runs', () => {
  it('is gone at once, and the agents that had it keep everything else', async () => {
    const { dir, run } = await project()
    const entry = { command: process.execPath, args: ['greeter.mjs'] }
    await writeFile(join(dir, 'quartermaster.config.json'), JSON.stringify({ mcpServers: { greeter: entry } }))
    await writeFile(join(dir, 'agents', 'default.json'), DEFAULT.replace('{ "files"', '{ "greeter": {}, "files"'))
    await startUp(dir)
    expect((await run('upstreams', 'restart', 'greeter')).code).toBe(0)
    expect((await run('remove', 'greeter', '--json')).json()).toMatchObject({
      revokedFrom: ['default'],
      stillNamedBy: [],
    })
    expect(await readFile(join(dir, 'agents', 'default.json'), 'utf8')).toBe(DEFAULT)
    expect((await run(...greet)).code).toBe(4)
    expect((await run('call', 'read_file', 'path=a.txt')).stdout).toContain('a')
  })

  it('is taken from an agent that had only some of its tools, too, and the answer says which', async () => {
    const { dir, run } = await project({
      'agents/default.json': DEFAULT.replace('{ "files"', '{ "greeter": { "tools": ["greet"] }, "files"'),
      'quartermaster.config.json': WITH_GREETER,
    })
    await startUp(dir)
    expect((await run('upstreams', 'restart', 'greeter')).code).toBe(0)
    const removed = await run('remove', 'greeter')
    expect(removed).toMatchObject({ code: 0, stdout: expect.stringContaining('"greeter": {"tools":["greet"]}') })
    expect(await readFile(join(dir, 'agents', 'default.json'), 'utf8')).toBe(DEFAULT)
    expect((await run('call', 'read_file', 'path=a.txt')).stdout).toContain('a')
  })
})

describe('a tool that is left out in the entry of its server', () => {
  it('is unavailable to an agent whose list names it, which keeps everything else', async () => {
    const { dir, run, json } = await project({
      'agents/default.json': DEFAULT.replace('{ "files"', '{ "greeter": { "tools": ["greet"] }, "files"'),
      'quartermaster.config.json': WITH_GREETER,
    })
    await startUp(dir)
    expect((await run('upstreams', 'restart', 'greeter')).code).toBe(0)
    const { greeter } = (await json('quartermaster.config.json')).mcpServers
    const leaving = { mcpServers: { greeter: { ...greeter, leaveOut: ['greet'] } } }
    await writeFile(join(dir, 'quartermaster.config.json'), JSON.stringify(leaving))
    expect((await run('reload')).code).toBe(0)
    expect((await run('agents', 'check', 'default', '--json')).json()).toMatchObject({
      ok: true,
      problems: [],
      report: expect.arrayContaining([
        expect.objectContaining({ tool: 'greet', state: 'unavailable', reason: expect.stringContaining('"leaveOut"') }),
      ]),
    })
    expect(await run(...greet)).toMatchObject({ code: 5, stderr: expect.stringContaining('The owner leaves it out') })
    expect((await run('call', 'read_file', 'path=a.txt')).stdout).toContain('a')
  })
})

describe('a name in the entry of a server that nothing answers to', () => {
  it('is reported by doctor', async () => {
    const greeter = { command: process.execPath, args: ['greeter.mjs'], agents: { defalt: { env: {} } } }
    const { run } = await project({ 'quartermaster.config.json': JSON.stringify({ mcpServers: { greeter } }) })
    const findings = (await run('doctor', '--json')).json<{ where?: string; what: string }[]>()
    expect(findings.find(({ where }) => where === 'mcpServers.greeter.agents.defalt')).toMatchObject({
      level: 'warning',
      what: expect.stringContaining('Did you mean "default"?'),
    })
  })
})

describe('a server that is added while nothing runs', () => {
  it('is there for the next command', async () => {
    const { run } = await project()
    const added = (await run('add', 'greeter', '--json', '--', process.execPath, 'greeter.mjs')).json<Added>()
    expect(added).toMatchObject({ outcome: 'added', granted: ['default'], status: { tools: { offered: 1 } } })
    expect((await run(...greet)).stdout).toBe('Hello, Ada!')
  })

  it('is added although it does not work, and says why', async () => {
    const { run } = await project()
    const added = await run('add', 'ghost', '--', 'no-such-program-here')
    expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('no-such-program-here') })
    expect((await run('doctor')).stdout).toContain('Upstream "ghost"')
    expect((await run('call', 'read_file', 'path=a.txt')).stdout).toContain('a')
  })

  it('is tried again when another program takes its place, and says why that does not work', async () => {
    const { run } = await project()
    await run('add', 'greeter', '--', process.execPath, 'greeter.mjs')
    const replaced = await run('add', 'greeter', '--replace', '--no-grant', '--', 'no-such-program-here')
    expect(replaced).toMatchObject({ code: 0, stdout: expect.stringMatching(/^! .*no-such-program-here/) })
    expect(replaced.stdout).toContain('Still with: default.')
  })
})

describe('servers of another client', () => {
  it('are imported as they are, secrets apart, and their file stays untouched', async () => {
    const { dir, run, json } = await project()
    const servers = {
      greeter: {
        command: process.execPath,
        args: [join(dir, 'greeter.mjs')],
        env: { GREETER_TOKEN: 'ghp_0123456789abcdefghij' },
      },
      old: { type: 'sse', url: 'https://old.example/sse' },
      us: { command: 'quartermaster', args: ['connect', '--agent', 'default'] },
    }
    const source = join(dir, 'home', '.claude.json')
    const text = JSON.stringify({ numStartups: 3, mcpServers: servers })
    await mkdir(dirname(source))
    await writeFile(source, text)
    expect((await run('import')).stdout).toContain('Claude Code')
    const { servers: imported } = (await run('import', 'claude', '--json', '--yes')).json<{
      servers: { as: string; outcome: string }[]
    }>()
    expect(imported.map(({ as, outcome }) => [as, outcome])).toEqual([
      ['greeter', 'added'],
      ['old', 'skipped'],
      ['us', 'skipped'],
    ])
    expect(await readFile(source, 'utf8')).toBe(text)
    expect(await readFile(join(dir, 'quartermaster.config.json'), 'utf8')).not.toContain('ghp_')
    expect(await json('.quartermaster/secrets.json')).toEqual({ GREETER_TOKEN: 'ghp_0123456789abcdefghij' })
    const { mode } = await stat(join(dir, '.quartermaster', 'secrets.json'))
    // Windows keeps no such bits.
    expect(process.platform === 'win32' ? 0 : mode & 0o077).toBe(0)
    expect((await run(...greet)).stdout).toBe('Hello, Ada!')
    const again = (await run('import', 'claude', '--json', '--yes')).json<{ servers: { outcome: string }[] }>()
    expect(again.servers[0]).toMatchObject({ outcome: 'unchanged' })
  })

  it('are copied out of a file of the project, which is told where their secrets still stand', async () => {
    const { dir, run, json } = await project()
    const env = { GREETER_TOKEN: 'ghp_0123456789abcdefghij' }
    const text = JSON.stringify({ mcpServers: { greeter: { command: process.execPath, args: ['greeter.mjs'], env } } })
    await writeFile(join(dir, '.mcp.json'), text)
    const imported = await run('import', 'claude', '--yes')
    expect(imported).toMatchObject({ code: 0, stdout: expect.stringContaining('Remove them there, and keep the file') })
    expect(imported.stdout).toMatch(/^! .*\.mcp\.json: the secrets of greeter are copied, and still stand there/m)
    expect(await readFile(join(dir, '.mcp.json'), 'utf8')).toBe(text)
    expect(await json('.quartermaster/secrets.json')).toEqual(env)
  })

  it('keeps no secret of a command that is a whole line, and says how to write one', async () => {
    const { dir, run, json } = await project()
    const line = { command: 'node x.js --api-key abc' }
    await writeFile(join(dir, 'mcp.json'), JSON.stringify({ mcpServers: { line } }))
    const missing = 'There is no program "node x.js --api-key [secret]". Write the program alone as "command"'
    expect((await run('import', './mcp.json', '--dry-run')).stdout).toContain(
      `! line (file): it would be down: ${missing}`,
    )
    const { stdout } = await run('import', './mcp.json', '--yes')
    expect(stdout).toContain(`! line (file): it is down: ${missing}`)
    const { mcpServers } = await json('quartermaster.config.json')
    expect(mcpServers).toEqual({
      line: { command: 'node x.js --api-key ${secret:LINE_API_KEY}', consent: 'destructive' },
    })
    expect(await json('.quartermaster/secrets.json')).toEqual({ LINE_API_KEY: 'abc' })
    expect(stdout).not.toContain('abc')
  })

  it('takes a server that is called like one of our own capabilities under another name', async () => {
    const { dir, run, json } = await project()
    const server = { command: process.execPath, args: ['greeter.mjs'] }
    await writeFile(join(dir, 'mcp.json'), JSON.stringify({ mcpServers: { memory: server } }))
    expect((await run('import', './mcp.json', '--yes')).stdout).toMatch(/memory-server.*"memory" there/s)
    expect(Object.keys((await json('quartermaster.config.json')).mcpServers)).toEqual(['memory-server'])
  })
})

describe('a wrong entry of mcpServers', () => {
  it('leaves agents everything else, and doctor says what is wrong', async () => {
    const { run } = await project({
      'quartermaster.config.json': '{\n  "mcpServers": {\n    "bad": { "command": "a", "agrs": [] }\n  }\n}',
      'agents/default.json': '{ "capabilities": { "bad": {}, "files": { "dirs": ["./notes"] } } }',
    })
    expect((await run('call', 'read_file', 'path=a.txt')).stdout).toContain('a')
    const doctor = await run('doctor', '--json')
    expect(doctor.json<object[]>()).toContainEqual({
      level: 'error',
      what: '"agrs" is not known here. Did you mean "args"?',
      where: expect.stringMatching(/quartermaster\.config\.json:3:/),
      fix: 'Correct the name or remove it.',
    })
    expect((await run('upstreams', '--json')).json<object[]>()).toMatchObject([
      { name: 'bad', state: 'off', reason: expect.stringContaining('entry in the configuration is wrong') },
    ])
    const { stdout } = await run('agents', 'check', 'default')
    expect(stdout).toMatch(
      /unavailable +bad +Its entry in the configuration is wrong: .* `quartermaster doctor` says where/,
    )
  })
})

describe('a secret of one server', () => {
  it('is never sent to another one that asks for something of the same name', async () => {
    const { dir, run, json } = await project()
    await run('add', 'x', '--env', 'GH_TOKEN=ghp_0123456789abcdefghij', '--', process.execPath, 'greeter.mjs')
    const inputs = [{ id: 'token', type: 'promptString', description: 'The token', password: true }]
    const servers = { gh: { url: 'http://127.0.0.1:1/mcp', headers: { 'X-Tok': '${input:token}' } } }
    await writeFile(join(dir, 'mcp.json'), JSON.stringify({ inputs, servers }))
    const imported = await run('import', './mcp.json', '--yes')
    expect(imported.stdout).toContain('There is no answer to "The token". Write it into secrets.json as "GH_TOKEN_2"')
    const { mcpServers } = await json('quartermaster.config.json')
    expect(mcpServers.gh.headers).toEqual({ 'X-Tok': '${secret:GH_TOKEN_2}' })
    const added = await run('add', 'z', '--json', '--env', 'GH_TOKEN_2=of-z', '--', process.execPath, 'greeter.mjs')
    expect(added.json<Added>().secrets).toEqual(['GH_TOKEN_2_2'])
    expect(await json('.quartermaster/secrets.json')).toEqual({
      GH_TOKEN: 'ghp_0123456789abcdefghij',
      GH_TOKEN_2_2: 'of-z',
    })
  })
})

describe('an upstream that is restarted while nothing runs', () => {
  it('is only tried', async () => {
    const { run } = await project()
    await run('add', 'greeter', '--', process.execPath, 'greeter.mjs')
    const { code, stdout } = await run('upstreams', 'restart', 'greeter')
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('was only tried') })
  })
})

describe.skipIf(process.platform === 'win32')('what an upstream says, followed', () => {
  it.each([
    ['Ctrl-C, which is how it ends', 0],
    ['the end of the up, which is not', 5],
  ])('goes on until %s: %i', async (_until, code) => {
    const { dir } = await project({ 'quartermaster.config.json': WITH_GREETER })
    const up = await startUp(dir)
    const child = startProcess(['logs', 'greeter', '--follow'], { cwd: dir })
    const closed = once(child, 'close')
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    if (code === 0) child.kill('SIGINT')
    else await up.stop()
    expect(await closed).toEqual([code, null])
  })
})

describe('a server that is refused', () => {
  it.each([
    [['a', 'https://'], 'It must be an http: or https: URL.'],
    [['a b', '--', 'node'], "An upstream's name must be 1 to 32 of the characters"],
    [['constructor', '--', 'node'], 'Choose another name.'],
    [['us', 'http://127.0.0.1:7420/mcp'], 'Give the address of another server.'],
    [['us', '--', 'quartermaster', 'connect'], 'Another one is added by its address.'],
  ])('is not in the configuration, and no message points there: %j', async (words, said) => {
    const { run, json } = await project()
    const { code, stderr } = await run('add', ...words)
    expect({ code, config: await json('quartermaster.config.json') }).toEqual({ code: 3, config: {} })
    expect(stderr).toContain(said)
    expect(stderr).not.toContain('doctor')
    expect((await run('add', '--json', ...words)).json()).toMatchObject({ error: { code: 'INPUT_INVALID' } })
  })

  it('for what is wrong in the configuration leads to all of that', async () => {
    const { run } = await project({ 'quartermaster.config.json': '{ "mcpServers": ' })
    const { code, stderr } = await run('add', 'a', '--', 'node')
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('Next: See everything that is wrong') })
  })
})

describe('our own address', () => {
  it('is not added', async () => {
    const { dir, run, json } = await project()
    const { url } = await startUp(dir)
    const refused = await run('add', 'us', `${url.replace(/\/$/, '')}/mcp`)
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining('this Quartermaster itself') })
    expect(await json('quartermaster.config.json')).toEqual({})
  })
})
