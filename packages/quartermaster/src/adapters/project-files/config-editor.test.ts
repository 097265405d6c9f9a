import { stat, symlink } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { tempProject } from '../../testing/temp-project.ts'
import { createConfigEditor } from './index.ts'

const CONFIG = 'quartermaster.config.json'

async function project(text?: string) {
  const { dir, path, read, write } = await tempProject(text === undefined ? {} : { [CONFIG]: text })
  const configFile = () => (text === undefined ? undefined : path(CONFIG))
  const editor = createConfigEditor({ projectDir: dir, dataDir: path('data'), configFile })
  return { editor, path, read, write, config: () => read(CONFIG) }
}

const SERVER = { command: 'npx', args: ['-y', 'files@1.0.0'], env: { KEY: '${secret:KEY}' } }

describe('an upstream that is added', () => {
  it('makes the file where there is none', async () => {
    const { editor, config, path } = await project()
    expect(await editor.setUpstream('files', SERVER, { replace: false })).toEqual({
      file: path(CONFIG),
      outcome: 'added',
      secrets: [],
      missing: {},
      unneeded: [],
      spared: {},
    })
    expect(JSON.parse(await config())).toEqual({ mcpServers: { files: SERVER } })
  })

  it.each([
    ['mcpServers.a.headers.X', { X: 'a\r\nY: b' }, 'has a line break'],
    ['the name', { 'X Y': 'a' }, 'is no name of a header'],
  ])('has no header that could not be sent, by %s', async (_what, headers, message) => {
    const { editor, config } = await project('{}')
    await expect(
      editor.setUpstream('a', { url: 'https://a.example', headers }, { replace: false }),
    ).rejects.toMatchObject({ code: 'INPUT_INVALID', message: expect.stringContaining(message) })
    expect(await config()).toBe('{}')
  })

  it.each([
    ['an empty name', { '': 'a' }, 'is no name of a variable'],
    ['a name with a value in it', { 'KEY=b': 'a' }, 'is no name of a variable'],
    ['mcpServers.a.env.KEY', { KEY: 'a\0b' }, 'has a character that no program can be given'],
  ])('has no variable that no program can be given, by %s', async (_what, env, message) => {
    const { editor, config } = await project('{}')
    await expect(editor.setUpstream('a', { command: 'a', env }, { replace: false })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining(message),
    })
    expect(await config()).toBe('{}')
  })

  it('leaves everything else in the file as it was written', async () => {
    const { editor, config } = await project('{\n  // mine\n  "settings": { "logLevel": "warn" }, // loud\n}\n')
    await editor.setUpstream('a', { url: 'https://a.example' }, { replace: false })
    expect(await config()).toBe(
      '{\n  // mine\n  "settings": { "logLevel": "warn" }, // loud\n  "mcpServers": {\n    "a": {\n      "url": "https://a.example"\n    }\n  },\n}\n',
    )
  })

  it('takes no name that another one has, unless it is to be replaced', async () => {
    const { editor, config } = await project('{ "mcpServers": { "a": { "command": "old" } } }')
    await expect(editor.setUpstream('a', SERVER, { replace: false })).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    expect(await editor.setUpstream('a', { command: 'old' }, { replace: false })).toMatchObject({
      outcome: 'unchanged',
    })
    expect(await editor.setUpstream('a', SERVER, { replace: true })).toMatchObject({ outcome: 'replaced' })
    expect(JSON.parse(await config())).toEqual({ mcpServers: { a: SERVER } })
  })

  it('is checked before anything is written, except for what references lead to', async () => {
    const { editor, config } = await project('{}')
    const wrong = editor.setUpstream('a', { command: 'x', agrs: [] }, { replace: false })
    await expect(wrong).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('Did you mean "args"?'),
      details: { problems: [{ where: CONFIG, field: 'agrs' }] },
    })
    await expect(editor.setUpstream('a b', SERVER, { replace: false })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    })
    expect(await config()).toBe('{}')
    await editor.setUpstream('a', { url: '${env:ADDRESS}' }, { replace: false })
    expect(JSON.parse(await config())).toEqual({ mcpServers: { a: { url: '${env:ADDRESS}' } } })
  })

  it.each(['constructor', 'prototype', '__proto__'])('is never called "%s"', async name => {
    const { editor, config } = await project('{}')
    await expect(editor.setUpstream(name, SERVER, { replace: true })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: `An upstream cannot be named "${name}". Choose another name.`,
    })
    await expect(editor.removeUpstream(name)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
    expect(await config()).toBe('{}')
  })

  it.each(['Files', 'FILES'])('is not called "%s" beside "files", and leaves no secret behind', async name => {
    const { editor, config, read } = await project('{ "mcpServers": { "files": { "command": "a" } } }')
    const text = await config()
    for (const replace of [false, true]) {
      const wish = { replace, secrets: { KEY: 'hush' } }
      await expect(editor.setUpstream(name, SERVER, wish)).rejects.toMatchObject({
        code: 'NAME_TAKEN',
        message: expect.stringContaining('too much like that of "files"'),
      })
    }
    expect(await config()).toBe(text)
    await expect(read('data/secrets.json')).rejects.toThrow()
  })

  it('is not put into a file that does not read', async () => {
    const { editor, config } = await project('{ "mcpServers": ')
    await expect(editor.setUpstream('a', SERVER, { replace: false })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    expect(await config()).toBe('{ "mcpServers": ')
  })

  it('may come with others at the same time', async () => {
    const { editor, config } = await project('{}')
    const names = ['a', 'b', 'c', 'd']
    await Promise.all(names.map(name => editor.setUpstream(name, SERVER, { replace: false })))
    expect(Object.keys(JSON.parse(await config()).mcpServers)).toEqual(names)
  })

  it.skipIf(process.platform === 'win32')('is not written through a link', async () => {
    const { editor, path, write } = await project()
    await symlink(await write('elsewhere.json', '{}'), path(CONFIG))
    await expect(editor.setUpstream('a', SERVER, { replace: false })).rejects.toMatchObject({
      message: expect.stringContaining('is a link'),
    })
  })
})

describe('an upstream that is removed', () => {
  it('is taken out, and the rest stays', async () => {
    const { editor, config } = await project(
      '{\n  "mcpServers": {\n    "a": {}, // first\n    "b": { "command": "b" } // second\n  }\n}\n',
    )
    await editor.removeUpstream('a')
    expect(await config()).toBe('{\n  "mcpServers": {\n    "b": { "command": "b" } // second\n  }\n}\n')
  })

  it('must be there', async () => {
    const { editor } = await project('{ "mcpServers": { "files": {} } }')
    await expect(editor.removeUpstream('flies')).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
      message: expect.stringContaining('Did you mean "files"?'),
    })
  })
})

describe('the secrets of an upstream that is removed', () => {
  it('are those that its entry refers to', async () => {
    const { editor } = await project(
      '{ "mcpServers": { "a": { "command": "a", "args": ["${secret:A}", "$${secret:B}"], "env": { "X": "x${secret:A}${secret:C}" } } } }',
    )
    expect(await editor.removeUpstream('a')).toMatchObject({ secrets: ['A', 'C'] })
  })

  it('stay while others name them: in the configuration, by agents, in code', async () => {
    const { editor, write, read } = await project('{ "mcpServers": { "b": { "command": "${secret:A}" } } }')
    await write('data/secrets.json', '{ "A": "1", "B": "2", "mail-password": "3", "mail": "4", "NOBODY": "5" }', 0o600)
    await write('agents/ada.json', '{ "capabilities": { "files": { "x": "${secret:B}" } } }')
    await write('capabilities/mail/index.ts', "secrets.get('mail-password')")
    await write('capabilities/node_modules/x.js', 'NOBODY')
    const names = ['A', 'B', 'mail-password', 'mail', 'NOBODY', 'GONE']
    expect(await editor.releaseSecrets(names, { keep: false })).toEqual({
      removedSecrets: ['mail', 'NOBODY'],
      keptSecrets: [
        { name: 'A', usedBy: [CONFIG] },
        { name: 'B', usedBy: ['agents/ada.json'] },
        { name: 'mail-password', usedBy: ['capabilities/mail/index.ts'] },
      ],
    })
    expect(Object.keys(JSON.parse(await read('data/secrets.json')))).toEqual(['A', 'B', 'mail-password'])
  })

  it('stay where they are on request, and where nobody can look', async () => {
    const { editor, write, read } = await project('{}')
    await write('data/secrets.json', '{ "A": "1" }', 0o600)
    const kept = { removedSecrets: [], keptSecrets: [{ name: 'A', usedBy: [] }] }
    expect(await editor.releaseSecrets(['A', 'B'], { keep: true })).toEqual(kept)
    await write('data/secrets.json', '{ "A": "1"', 0o600)
    expect(await editor.releaseSecrets(['A'], { keep: false })).toEqual(kept)
    expect(await read('data/secrets.json')).toBe('{ "A": "1"')
  })
})

describe('the secrets of an upstream that is added', () => {
  const OTHERS = '{ "mcpServers": { "other": { "command": "b", "env": { "X": "${secret:KEY}" } } } }'

  it('make a file that only its owner can read', async () => {
    const { editor, path, read } = await project()
    const secrets = { KEY: 'hush' }
    expect(await editor.setUpstream('a', SERVER, { replace: false, secrets })).toMatchObject({ secrets: ['KEY'] })
    expect(JSON.parse(await read('data/secrets.json'))).toEqual({ KEY: 'hush' })
    const { mode } = await stat(path('data/secrets.json'))
    // Windows keeps no such bits.
    expect(process.platform === 'win32' ? 0o600 : mode & 0o777).toBe(0o600)
  })

  it('never take the place of another text, and share the name with the same one', async () => {
    const { editor, read, write } = await project('{}')
    await write('data/secrets.json', '{\n  // mine\n  "KEY": "old"\n}\n', 0o600)
    const names = async (name: string, text: string) =>
      (await editor.setUpstream(name, SERVER, { replace: false, secrets: { KEY: text } })).secrets
    expect([await names('a', 'new'), await names('a', 'new'), await names('b', 'old')]).toEqual([
      ['KEY_2'],
      ['KEY_2'],
      ['KEY'],
    ])
    expect(await read('data/secrets.json')).toBe('{\n  // mine\n  "KEY": "old",\n  "KEY_2": "new"\n}\n')
  })

  it.each([
    ['another upstream', CONFIG, OTHERS],
    ['a setting', CONFIG, '{ "settings": { "logLevel": "${secret:KEY}" } }'],
    ['an agent', 'agents/ada.json', '{ "title": "${secret:KEY}" }'],
    ['code', 'capabilities/mail/index.ts', "secrets.get('KEY')"],
  ])('take no name that %s refers to, though nothing has it', async (_what, file, text) => {
    const { editor, write, read, config } = await project('{}')
    await write(file, text)
    expect(await editor.setUpstream('a', SERVER, { replace: false, secrets: { KEY: 'hush' } })).toMatchObject({
      secrets: ['KEY_2'],
    })
    expect(JSON.parse(await read('data/secrets.json'))).toEqual({ KEY_2: 'hush' })
    expect(JSON.parse(await config()).mcpServers.a.env).toEqual({ KEY: '${secret:KEY_2}' })
  })

  it('take the name that the entry itself was waiting for', async () => {
    const { editor, write } = await project('{}')
    await write(CONFIG, '{ "mcpServers": { "a": { "command": "old", "env": { "KEY": "${secret:KEY}" } } } }')
    expect(await editor.setUpstream('a', SERVER, { replace: true, secrets: { KEY: 'hush' } })).toMatchObject({
      secrets: ['KEY'],
      unneeded: [],
    })
  })

  it.skipIf(process.platform === 'win32')('find a name though a link leads out of the project', async () => {
    const { editor, path, write } = await project('{}')
    await symlink(await write('notes.txt', ''), path('linked.ts'))
    expect(await editor.setUpstream('a', SERVER, { replace: false, secrets: { KEY: 'hush' } })).toMatchObject({
      secrets: ['KEY'],
    })
  })

  it('are told when the one before needs them no longer', async () => {
    const { editor } = await project('{}')
    await editor.setUpstream('a', SERVER, { replace: false, secrets: { KEY: 'old' } })
    expect(await editor.setUpstream('a', SERVER, { replace: true, secrets: { KEY: 'new' } })).toMatchObject({
      outcome: 'replaced',
      secrets: ['KEY_2'],
      unneeded: ['KEY'],
    })
  })

  it('stay whole when two processes write at the same time, whoever is refused', async () => {
    const { editor, path, read, write, config } = await project('{}')
    await write('data/secrets.json', '{}', 0o600)
    const other = createConfigEditor({ projectDir: path('.'), dataDir: path('data'), configFile: () => path(CONFIG) })
    const wish = { replace: false, secrets: { KEY: 'hush' } }
    for (let round = 0; round < 10; round++) {
      await Promise.allSettled([
        editor.setUpstream(`a${round}`, SERVER, wish),
        other.setUpstream(`b${round}`, SERVER, wish),
      ])
      const { mcpServers } = JSON.parse(await config()) as { mcpServers: Record<string, typeof SERVER> }
      const secrets = JSON.parse(await read('data/secrets.json')) as Record<string, string>
      for (const { env } of Object.values(mcpServers)) {
        expect(secrets[env.KEY.replace(/^\$\{secret:(.*)\}$/, '$1')]).toBe('hush')
      }
    }
  })

  it.skipIf(process.platform === 'win32')('are not put into a file that others can read', async () => {
    const { editor, write, config } = await project('{}')
    await write('data/secrets.json', '{}', 0o644)
    const wish = { replace: false, secrets: { KEY: 'hush' } }
    await expect(editor.setUpstream('a', SERVER, wish)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('chmod 600'),
    })
    expect(await config()).toBe('{}')
  })

  it.each(['a b', '', 'constructor', 'a'.repeat(200)])('take no name like "%s"', async name => {
    const { editor } = await project()
    const wish = { replace: false, secrets: { [name]: 'x' } }
    await expect(editor.setUpstream('a', SERVER, wish)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })
})

describe('a secret that nobody gave yet', () => {
  const MISSING = { replace: false, missing: ['KEY'] }

  it('is never one that is there for something else, or that something else waits for', async () => {
    const { editor, write, config } = await project('{}')
    await write('data/secrets.json', '{ "KEY": "of another" }', 0o600)
    await write(CONFIG, '{ "mcpServers": { "b": { "command": "b", "args": ["${secret:KEY_2}"] } } }')
    expect(await editor.setUpstream('a', SERVER, MISSING)).toMatchObject({ secrets: [], missing: { KEY: 'KEY_3' } })
    expect(JSON.parse(await config()).mcpServers.a.env).toEqual({ KEY: '${secret:KEY_3}' })
  })

  it('keeps its name when the same entry comes again, also when it is there by then', async () => {
    const { editor, write, read } = await project('{}')
    await write('data/secrets.json', '{ "KEY": "of another" }', 0o600)
    await editor.setUpstream('a', SERVER, MISSING)
    expect(await editor.setUpstream('a', SERVER, MISSING)).toMatchObject({
      outcome: 'unchanged',
      missing: { KEY: 'KEY_2' },
    })
    await write('data/secrets.json', '{ "KEY": "of another", "KEY_2": "mine" }', 0o600)
    expect(await editor.setUpstream('a', SERVER, MISSING)).toMatchObject({ outcome: 'unchanged', missing: {} })
    expect(JSON.parse(await read('data/secrets.json'))).toEqual({ KEY: 'of another', KEY_2: 'mine' })
  })

  it('is not the one of what is replaced, which may be another server', async () => {
    const { editor } = await project('{}')
    await editor.setUpstream('a', SERVER, { replace: false, secrets: { KEY: 'hush' } })
    const other = { url: 'https://other.example/mcp', headers: { X: '${secret:KEY}' } }
    expect(await editor.setUpstream('a', other, { ...MISSING, replace: true })).toMatchObject({
      missing: { KEY: 'KEY_2' },
      unneeded: ['KEY'],
    })
  })
})
