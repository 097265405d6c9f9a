import { mkdir, symlink } from 'node:fs/promises'
import { describe, expect, it, vi } from 'vitest'
import { type Declared, programFixture } from '../../testing/op-fixture.ts'
import { type TempProject, tempProject } from '../../testing/temp-project.ts'

const text = { type: 'string' }
const needed = { type: 'string', required: true }
const node = process.execPath

/** A busy machine takes its time to end a process. */
const PATIENCE = { timeout: 300_000, interval: 20 }

/** Prints what it was given. */
const TELL = `process.stdout.write(JSON.stringify(process.argv.slice(2)))`

async function project(script = TELL): Promise<TempProject> {
  const made = await tempProject({ 'tell.mjs': script, '.quartermaster/admin.token': 'TOP-SECRET' })
  await mkdir(made.path('docs'))
  return made
}

/** A tool that runs a script with arguments. */
async function scripted(declared: Declared, script?: string, secrets?: Record<string, string>, env = {}) {
  const made = await project(script)
  const { args = [], ...rest } = declared.with as { args?: unknown[] }
  const file = made.path('tell.mjs')
  const desk = await programFixture(
    { ...declared, with: { program: node, output: 'json', ...rest, args: [file, ...args] } },
    made,
    { ...(secrets && { secrets }), env },
  )
  return { ...desk, project: made }
}

describe('a program that is written down', () => {
  it('gets each value as one argument, whatever is in it', async () => {
    const desk = await scripted({
      parameters: {
        name: needed,
        files: { type: 'array', items: text },
        limit: { type: 'integer' },
        all: { type: 'boolean' },
      },
      with: {
        args: ['--name={name}', ['--limit', '{limit}'], { when: 'all', args: ['--all'] }, '--', '{files...}'],
        notPaths: ['name'],
      },
    })
    const nasty = 'a b; rm -rf $(pwd) `id` "x" \\ \n*'
    const all = await desk.call({ name: nasty, files: ['one', '-two', nasty], limit: 3, all: true })
    expect(all.data).toEqual({ value: [`--name=${nasty}`, '--limit', '3', '--all', '--', 'one', '-two', nasty] })
    expect((await desk.call({ name: '-x', all: false })).data).toEqual({ value: ['--name=-x', '--'] })
  })

  it('never takes a value for an option', async () => {
    const desk = await scripted({ parameters: { file: needed }, with: { args: ['{file}'] } })
    expect(await desk.call({ file: '--output=/etc/passwd' })).toMatchObject({
      ok: false,
      text: expect.stringContaining('"file" must not begin with "-"'),
    })
    expect(await desk.call({ file: 'a\0b' })).toMatchObject({ ok: false, text: expect.stringContaining('zero byte') })
  })

  it('is given no path to the data folder by a caller, however it is written', async () => {
    const desk = await scripted({
      parameters: { file: needed, filter: text },
      with: { args: ['{file}', '--filter={filter}'], notPaths: ['filter'] },
    })
    await symlink(desk.project.path('.quartermaster'), desk.project.path('docs/link'))
    const paths = [
      '.quartermaster/admin.token',
      './docs/../.quartermaster',
      'docs/link/admin.token',
      '.',
      desk.project.dir,
    ]
    for (const file of paths)
      expect(await desk.call({ file }), `the path ${file}`).toMatchObject({
        ok: false,
        text: expect.stringContaining('data folder'),
      })
    expect(await desk.call({ file: 'docs/a.md', filter: '.' })).toMatchObject({ ok: true })
  })

  it.each([
    { args: ['-F', 'file=@{f}'] },
    { args: ['-d', '@{f}'] },
    { args: ['-T{f}'] },
    { args: ['-czf{f}'] },
    { args: ['--data=@{f}'] },
    { args: ['-F{g}=<{f};type=text/plain'] },
    { args: ['{list...}'] },
    { args: ['--files={list}'] },
    { args: ['-d@docs/{f}'], f: 'link/admin.token' },
    { args: ['-czfdocs/{f}'], f: 'link/admin.token' },
    { args: ['-d@{f}'], f: '"docs/link/admin.token"' },
    { args: ['{f}'], f: 'far/../../.quartermaster/admin.token' },
    { args: ['{f}'], f: '/proc/self/cwd/.quartermaster/admin.token' },
    { args: ['{f}'], f: 'FILE:///proc/self/cwd/%2equartermaster/admin.token' },
    { args: ['{f}'], f: 'file:/HERE/%2equartermaster/admin.token' },
    { args: ['{f}'], f: 'file://127.0.0.1/HERE/%2equartermaster/admin.token' },
    { args: ['{f}'], f: 'file:///HERE/{.quartermaster}/admin.token' },
    { args: ['{f}'], f: 'file:.quartermaster/admin.token?mode=ro' },
    { args: ['{f}'], f: '%2equartermaster/admin.token' },
    { args: ['{f}'], f: '.quartermaster/admin.token[0]' },
    { args: ['{f}'], f: 'concat:a|.quartermaster/admin.token' },
    { args: ['{f}'], f: '.quartermaster/not-there-yet' },
    ...['(', '`', '+', '!', '#'].map(mark => ({ args: ['{f}'], f: `x${mark}.quartermaster/admin.token` })),
    { args: ['{f}'], f: 'type=bind,src=/,dst=/x' },
    { args: ['{f}'], f: '/:/host' },
    { args: ['{f}'], f: 'file:///' },
    { args: ['{f}'], f: '.quartermaster' },
    { args: ['-d@{f}'], f: '..' },
    { args: ['-'], stdin: '{f}', f: 'docs\n/\n' },
    { args: ['-'], stdin: '{f}', f: 'Look:\n  {"a": "b\\n\\u002equartermaster/admin.token"}' },
    { args: ['-'], stdin: '{f}' },
    { args: ['-'], stdin: 'docs\n{lines}\n' },
    { args: ['-'], stdin: '-C\0{list}' },
  ])('is given none in a part of its arguments or its input: $args $f $stdin', async ({ f, ...given }) => {
    const parameters = { f: text, g: text, lines: text, list: { type: 'array', items: text } }
    const used = Object.entries(parameters).filter(([name]) => JSON.stringify(given).includes(`{${name}`))
    const desk = await scripted({ parameters: Object.fromEntries(used), with: given })
    await symlink(desk.project.path('.quartermaster'), desk.project.path('docs/link'))
    await mkdir(desk.project.path('docs/a'))
    await symlink(desk.project.path('docs/a'), desk.project.path('far'))
    const call = (path: string) => {
      const values = { f: path, g: 'a', lines: `docs\n${path}\nx`, list: ['docs', path] }
      return desk.call(Object.fromEntries(used.map(([name]) => [name, values[name as keyof typeof values]])))
    }
    const refused = { ok: false, text: expect.stringContaining('data folder') }
    for (const path of f === undefined
      ? ['.quartermaster/admin.token', desk.project.path('.quartermaster')]
      : [f.replace('/HERE', desk.project.dir)])
      expect(await call(path), `the path ${path}`).toMatchObject(refused)
  })

  it('is given all other paths, and values that only look like some', async () => {
    const desk = await scripted({
      parameters: { f: text, list: { type: 'array', items: text } },
      with: { args: ['-T{f}', '-czfdocs/{f}', 'x=@{f};y', '{list...}'], stdin: '/ is the root\n{f}\n.' },
    })
    for (const f of ['docs/a.md', 'home', '@', 'me@example.com', 'far/../docs', 'a sentence. With / and .. in it'])
      expect(await desk.call({ f, list: [f, '/usr/lib'] }), `the value ${f}`).toMatchObject({ ok: true })
  })

  const WORDS = [
    '{\n  "name": "a",\n  "exports": { ".": "./docs/a.js" },\n  "sep": "/"\n}',
    'services:\n  a:\n    build:\n      context: .\n',
    'path: /',
    'package a\n\n//\n// All of it.\n//\nfunc a() {}',
    'https://example.com/login?next=/',
    'Add .quartermaster to .gitignore',
    'node_modules/\n.quartermaster/\n# Look at "/".',
    'SELECT a FROM b WHERE c = "."',
    '{"sep":"/"}',
    'Look at /tmp',
    '[.]',
  ]

  it('is given texts in which a path around the data folder is a word', async () => {
    const desk = await scripted({
      parameters: { value: text, object: { type: 'object' } },
      with: { args: ['--text={value}', '--', '{value}', '{object}'], stdin: '{value}' },
    })
    for (const value of WORDS)
      expect(await desk.call({ value, object: { sep: '/', '.': value } }), `the text ${value}`).toMatchObject({
        ok: true,
      })
  })

  it('is told which value has which path in it', async () => {
    const desk = await scripted({ parameters: { where: text }, with: { args: ['--at={where}'] } })
    expect((await desk.call({ where: 'a,.quartermaster/admin.token' })).text).toContain(
      '"where" has ".quartermaster/admin.token" in it',
    )
  })

  it('is given no more arguments than the system takes, which is no failure of it', async () => {
    const desk = await scripted({ parameters: { f: text }, with: { args: ['{f}'], notPaths: ['f'] } })
    expect(await desk.call({ f: 'x'.repeat(200_000) })).toMatchObject({
      ok: false,
      text: expect.stringContaining('Give less'),
    })
  })

  it('is given no more than can be looked through for such paths', async () => {
    const lines = `${Array.from({ length: 30_000 }, (_, i) => `/usr/${i}`).join('\n')}`
    const settings = { parameters: { lines: text }, with: { stdin: '{lines}' } }
    const desk = await scripted(settings)
    expect(await desk.call({ lines })).toMatchObject({ ok: false, text: expect.stringContaining('more in it than') })
    const free = await scripted({ ...settings, with: { ...settings.with, notPaths: ['lines'] } })
    expect(await free.call({ lines })).toMatchObject({ ok: true })
  })

  it('reads its input from a template, and runs where the declaration says', async () => {
    const desk = await scripted(
      { parameters: { words: needed }, with: { stdin: 'Say {words}', cwd: 'docs' } },
      `let all = ''; for await (const part of process.stdin) all += part
       console.log(JSON.stringify({ all, cwd: process.cwd().endsWith('docs') }))`,
    )
    expect((await desk.call({ words: '"x"\n' })).data).toEqual({ all: 'Say "x"\n', cwd: true })
  })

  it.each(['out', 'data', 'gone'])('does not run where %s leads', async cwd => {
    const desk = await scripted({ with: { cwd } })
    await symlink('..', desk.project.path('out'))
    await symlink('.quartermaster', desk.project.path('data'))
    expect(await desk.call()).toMatchObject({ ok: false, text: expect.stringContaining('working folder') })
  })

  it('has the variables that the declaration names, and nothing else of ours; secrets are masked', async () => {
    const desk = await scripted(
      { with: { env: { KEY: '${secret:KEY}', MODE: 'fast' }, passEnv: ['REGION', 'API_TOKEN', 'ABSENT'] } },
      `const { KEY, MODE, REGION, API_TOKEN, OURS } = process.env
       console.log(JSON.stringify({ KEY, length: KEY.length, MODE, REGION, API_TOKEN, OURS }))`,
      { KEY: 'k-1234567890' },
      { REGION: 'eu', API_TOKEN: 'abcdefghijkl', OURS: 'ours' },
    )
    const shown = { KEY: '[secret]', length: 12, MODE: 'fast', REGION: 'eu', API_TOKEN: '[secret]' }
    expect((await desk.call()).data).toEqual(shown)
  })

  it('masks a secret however the program spells it in JSON, and one that is a number', async () => {
    const desk = await scripted(
      { with: { env: { KEY: '${secret:KEY}', PIN: '${secret:PIN}' } } },
      `const { KEY, PIN } = process.env
       console.log('{"' + KEY.replace('/', '\\\\/') + '": [' + PIN + '], "k": "' + KEY.replace('/', '\\\\u002f') + '"}')`,
      { KEY: 'abcdef/ghijkl', PIN: '123456789' },
    )
    expect((await desk.call()).data).toEqual({ '[secret]': ['[secret]'], k: '[secret]' })
  })

  it('answers with text, lines or data', async () => {
    const said = async (output: string, script: string) => (await scripted({ with: { output } }, script)).call()
    expect(await said('text', `console.log('one')`)).toMatchObject({ ok: true, text: 'one\n' })
    expect((await said('lines', `console.log('one\\ntwo')`)).data).toEqual({ lines: ['one', 'two'] })
    expect(await said('json', `console.log('no')`)).toMatchObject({ ok: false, text: expect.stringContaining('JSON') })
  })

  it('hands on what is no text as what it is, and says where a text is none', async () => {
    const said = async (hex: string, env = {}) => {
      const desk = await scripted(
        { with: { output: 'text', env } },
        `process.stdout.write(Buffer.from('${hex}', 'hex'))`,
        {
          KEY: 'abcdef',
        },
      )
      return desk.call()
    }
    expect((await said('89504e470d0a1a0aff')).result.content).toEqual([
      { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgr/' },
    ])
    expect((await said('00ff')).result.content).toEqual([
      expect.objectContaining({
        resource: expect.objectContaining({ mimeType: 'application/octet-stream', blob: 'AP8=' }),
      }),
    ])
    expect((await said('fffe6100')).text).toBe('a')
    expect((await said('61e9')).text).toMatch(/^a\uFFFD\n.*no UTF-8/)
    const masked = await said('00ff616263646566', { KEY: '${secret:KEY}' })
    expect(masked).toMatchObject({ ok: false, text: expect.stringContaining('has a secret') })
  })

  it('says no with its code and the end of its complaints, without secrets', async () => {
    const script = `console.error('😀'.repeat(2500) + ' it fails with ' + process.env.KEY); process.exitCode = 3`
    const desk = await scripted({ with: { env: { KEY: '${secret:KEY}' } } }, script, { KEY: 'k-1234567890' })
    const said = await desk.call()
    expect(said).toMatchObject({
      ok: false,
      text: expect.stringMatching(/ended with code 3:\n…(?:😀)+ it fails with \[secret\]$/),
    })
    expect(said.text.length).toBeLessThan(2_300)
    const fine = await scripted(
      { with: { output: 'text', okCodes: [0, 3] } },
      `console.log('none'); process.exitCode = 3`,
    )
    expect(await fine.call()).toMatchObject({ ok: true, text: 'none\n' })
  })

  it('is ended when it prints too much', async () => {
    const desk = await scripted(
      { with: { maxBytes: 1_000, output: 'text' } },
      `const more = () => process.stdout.write('x'.repeat(500), () => setImmediate(more)); more()`,
    )
    expect(await desk.call()).toMatchObject({ ok: false, text: expect.stringContaining('printed more than') })
  })

  it('ends with whatever it has started when the caller goes away', async () => {
    const script = `import { spawn } from 'node:child_process'
      import { writeFileSync } from 'node:fs'
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
      writeFileSync('pids', process.pid + ' ' + child.pid)
      process.on('SIGTERM', () => {})
      setInterval(() => {}, 1000)`
    const desk = await scripted({ mutates: false, with: {} }, script)
    const controller = new AbortController()
    const code = desk.call({}, { signal: controller.signal }).catch((error: { code: string }) => error.code)
    const pids = await vi.waitFor(async () => (await desk.project.read('pids')).split(' ').map(Number), PATIENCE)
    controller.abort()
    expect(await code).toBe('CANCELLED')
    await vi.waitFor(() => {
      for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow()
    }, PATIENCE)
  })

  it('leaves nothing running when it ends by itself', async () => {
    const script = `import { spawn } from 'node:child_process'
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
      console.log(JSON.stringify({ pid: child.pid }))
      child.unref()`
    const desk = await scripted({ with: {} }, script)
    const { ok, data } = await desk.call()
    expect(ok).toBe(true)
    await vi.waitFor(() => expect(() => process.kill(Number(data.pid), 0)).toThrow(), PATIENCE)
  })

  it('is a dependency, and so are its secrets', async () => {
    const made = await project()
    const desk = await programFixture({ with: { program: 'no-such-program-here', env: { A: '${secret:NONE}' } } }, made)
    await expect(desk.call()).rejects.toMatchObject({
      code: 'TOOL_DISABLED',
      message: expect.stringMatching(/not on the PATH[\s\S]*no secret named "NONE"/),
    })
  })
})

describe('a declaration of a program that is wrong', () => {
  it.each([
    { says: 'must be the program itself', with: { program: 'bash', args: ['-c', 'ls'] } },
    { says: 'must be the program itself', with: { program: '/usr/bin/env', args: ['ls'] } },
    { says: 'only a shell can run', with: { program: 'tool.cmd' } },
    { says: 'with.program', with: { program: '{x}' } },
    { says: 'with.args.0 has a secret', with: { program: 'git', args: ['${secret:K}'] } },
    { says: 'with.args.0 has "{x}", which is none', with: { program: 'git', args: ['{x}'] } },
    { says: 'with.args.0.when is "x"', with: { program: 'git', args: [{ when: 'x', args: ['-v'] }] } },
    { says: 'with.cwd is not in the project folder', with: { program: 'git', cwd: '..' } },
    { says: 'with.cwd is not in the project folder', with: { program: 'git', cwd: '/' } },
    { says: 'with.cwd belongs to the data folder', with: { program: 'git', cwd: 'docs/../.quartermaster/x' } },
    { says: 'with.env.A has a parameter', with: { program: 'git', env: { A: '{p}' } } },
    { says: 'with.env.LD_PRELOAD must not be one', with: { program: 'git', env: { LD_PRELOAD: 'x' } } },
    { says: 'with.passEnv.0 must not be one', with: { program: 'git', passEnv: ['NODE_OPTIONS'] } },
    { says: 'with.passEnv.0 must not be one', with: { program: 'git', passEnv: ['QUARTERMASTER_TOKEN'] } },
    { says: 'with.args.1 has "{p}"', with: { program: 'python3', args: ['-c', '{p}'] }, parameters: { p: text } },
    { says: 'with.args.0 has "{p}"', with: { program: 'node', args: ['--eval={p}'] }, parameters: { p: text } },
    {
      says: 'with.args.0 has "{p}"',
      with: { program: '/usr/bin/perl5.36', args: [['-e', 'print {p}']] },
      parameters: { p: text },
    },
    ...[
      { program: 'perl', args: ['-lne', '{p}'] },
      { program: 'perl', args: ['-M{p}', 'tool.pl'] },
      { program: 'ruby', args: ['-ane', 'puts {p}'] },
      { program: 'python3.12', args: ['-Ic', '{p}'] },
      { program: 'python3', args: ['-W', 'error', '-c', '{p}'] },
      { program: 'python3', args: [['{q}'], '-c', '{p}'] },
      { program: 'node', args: ['-pe', '{p}'] },
      { program: 'node', args: ['--require', '{p}', 'tool.js'] },
      { program: 'deno', args: ['eval', '{p}'] },
      { program: 'awk', args: ['-F', ',', '/{p}/'] },
      { program: 'gawk', args: ['-f', 'a.awk', '-e', '{p}'] },
      { program: 'sed', args: ['-n', 's/{p}/x/', 'file'] },
      { program: 'sed', args: ['-ne', 's/{p}/x/', 'file'] },
      { program: 'sed', args: ['--expression', 's/{p}/x/', 'file'] },
      { program: 'gawk', args: ['--assign', 'a=b', '/{p}/'] },
    ].map(one => ({
      says: '"{p}" in what',
      with: one,
      parameters: { p: needed, ...(Array.isArray(one.args[0]) && { q: text }) },
    })),
  ])('$says: $with', async ({ says, with: settings, parameters }) => {
    const desk = await programFixture({ with: settings, ...(parameters && { parameters }) }, await project())
    expect(desk.problems()).toEqual([expect.stringContaining(says)])
  })

  it.each([
    { program: 'python3', args: ['tool.py', '-c', '{p}'] },
    { program: 'python3', args: ['-X', 'dev', 'tool.py', '--eval={p}'] },
    { program: 'node', args: ['tool.mjs', '-e', '{p}'] },
    { program: 'perl', args: ['-i.bak', '-w', 'tool.pl', '-e', '{p}'] },
    { program: 'ruby', args: ['-Ilib', 'tool.rb', '-r', '{p}'] },
    { program: 'awk', args: ['-v', 'x={p}', '{{ print x }}'] },
    { program: 'awk', args: ['-f', 'a.awk', '{p}'] },
    { program: 'sed', args: ['-n', '1,5p', '{p}'] },
    { program: 'sed', args: ['-i', '-e', '1d', '{p}'] },
    { program: 'sed', args: ['--expression=s/a/b/', '{p}'] },
    { program: 'sed', args: ['--expression', 's/a/b/', '{p}'] },
    { program: 'sed', args: ['--file=x.sed', '{p}'] },
    { program: 'awk', args: ['--file=prog.awk', '{p}'] },
    { program: 'python3', args: ['-c', 'import sys', '-m', '{p}'] },
    { program: 'jq', args: ['{p}'] },
  ])('is none that gives a value to code in a file of its own: $program $args', async settings => {
    const desk = await programFixture({ with: settings, parameters: { p: needed } }, await project())
    expect(desk.problems()).toEqual([])
  })
})
