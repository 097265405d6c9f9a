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
    })
    expect(JSON.parse(await config())).toEqual({ mcpServers: { files: SERVER } })
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
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('Did you mean "args"?'),
      details: { problems: [{ where: CONFIG, field: 'agrs' }] },
    })
    await expect(editor.setUpstream('a b', SERVER, { replace: false })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    })
    expect(await config()).toBe('{}')
    await editor.setUpstream('a', { url: '${env:ADDRESS}' }, { replace: false })
    expect(JSON.parse(await config())).toEqual({ mcpServers: { a: { url: '${env:ADDRESS}' } } })
  })

  it.each(['constructor', 'prototype', '__proto__'])('is never called "%s"', async name => {
    const { editor, config } = await project('{}')
    await expect(editor.setUpstream(name, SERVER, { replace: true })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: `An upstream cannot be named "${name}". Choose another name.`,
    })
    await expect(editor.removeUpstream(name)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
    expect(await config()).toBe('{}')
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

  it('may be named by others: in the configuration, by agents, in code', async () => {
    const { editor, write } = await project('{ "mcpServers": { "b": { "command": "${secret:A}" } } }')
    await write('agents/ada.json', '{ "capabilities": { "files": { "x": "${secret:B}" } } }')
    await write('capabilities/mail/index.ts', "secrets.get('mail-password')")
    await write('capabilities/node_modules/x.js', 'NOBODY')
    expect(Object.fromEntries(await editor.secretUses(['A', 'B', 'mail-password', 'mail', 'NOBODY']))).toEqual({
      A: [CONFIG],
      B: ['agents/ada.json'],
      'mail-password': ['capabilities/mail/index.ts'],
      mail: [],
      NOBODY: [],
    })
  })
})

describe('secrets that are added', () => {
  it('make a file that only its owner can read', async () => {
    const { editor, path, read } = await project()
    expect(await editor.addSecrets({ KEY: 'hush' })).toEqual({ names: { KEY: 'KEY' }, added: ['KEY'] })
    expect(JSON.parse(await read('data/secrets.json'))).toEqual({ KEY: 'hush' })
    const { mode } = await stat(path('data/secrets.json'))
    // Windows keeps no such bits.
    expect(process.platform === 'win32' ? 0o600 : mode & 0o777).toBe(0o600)
  })

  it('never take the place of another text, and share the name with the same one', async () => {
    const { editor, read, write } = await project()
    await write('data/secrets.json', '{\n  // mine\n  "KEY": "old"\n}\n', 0o600)
    expect(await editor.addSecrets({ KEY: 'new' })).toEqual({ names: { KEY: 'KEY_2' }, added: ['KEY_2'] })
    expect(await editor.addSecrets({ KEY: 'new' })).toEqual({ names: { KEY: 'KEY_2' }, added: [] })
    expect(await editor.addSecrets({ KEY: 'old' })).toEqual({ names: { KEY: 'KEY' }, added: [] })
    expect(await read('data/secrets.json')).toBe('{\n  // mine\n  "KEY": "old",\n  "KEY_2": "new"\n}\n')
  })

  it('can be taken back', async () => {
    const { editor, read } = await project()
    await editor.addSecrets({ A: 'one', B: 'two' })
    expect(await editor.removeSecrets(['A', 'C'])).toEqual(['A'])
    expect(JSON.parse(await read('data/secrets.json'))).toEqual({ B: 'two' })
  })

  it.skipIf(process.platform === 'win32')('are not put into a file that others can read', async () => {
    const { editor, write } = await project()
    await write('data/secrets.json', '{}', 0o644)
    await expect(editor.addSecrets({ KEY: 'hush' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('chmod 600'),
    })
  })

  it.each(['a b', '', 'constructor', 'a'.repeat(200)])('take no name like "%s"', async name => {
    const { editor } = await project()
    await expect(editor.addSecrets({ [name]: 'x' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})
