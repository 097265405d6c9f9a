import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFile, mkdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { tempProject } from '../../testing/temp-project.ts'
import { effectFixture } from './testing/effect-fixture.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

async function deskWith(files: Record<string, string> = {}) {
  const project = await tempProject(files)
  return { ...project, ...effectFixture({ projectDir: project.dir, dataDir: project.path('.quartermaster') }) }
}

describe('fileWritten', () => {
  const NOTE = { kind: 'fileWritten', path: 'notes/{operationId}.md', contains: 'id: {operationId}' }

  it('is verified by a text that a new file has', async () => {
    const desk = await deskWith()
    expect(await desk.verifyAround(NOTE, () => desk.write('notes/op_1.md', '---\nid: op_1\n'))).toMatchObject({
      state: 'verified',
    })
  })

  it('is absent when there is no file, or one without the text', async () => {
    const desk = await deskWith()
    expect(await desk.verifyAround(NOTE, () => {})).toMatchObject({ state: 'absent', reason: 'There is no such file.' })
    expect(await desk.verifyAround(NOTE, () => desk.write('notes/op_1.md', 'id: op_2'))).toMatchObject({
      state: 'absent',
      reason: 'The file does not have the text.',
    })
  })

  it('is not proved by what was there already, however the rest of the file changes', async () => {
    const desk = await deskWith({ 'notes/op_1.md': 'id: op_1' })
    const findings = [
      await desk.verifyAround(NOTE, () => {}),
      await desk.verifyAround(NOTE, () => desk.write('notes/op_1.md', 'id: op_1\nand more')),
    ]
    expect(findings).toMatchObject([
      { state: 'absent', seen: 'there' },
      { state: 'absent', seen: 'there' },
    ])
    expect(await desk.verifyAround(NOTE, () => appendFile(desk.path('notes/op_1.md'), 'id: op_1'))).toMatchObject({
      state: 'verified',
    })
  })

  it('is verified by a hash, in capitals too', async () => {
    const desk = await deskWith({ 'a.bin': 'before' })
    const spec = { kind: 'fileWritten', path: 'a.bin', sha256: '{input.hash}' }
    const write = () => desk.write('a.bin', 'after')
    const values = { input: { hash: sha256('after').toUpperCase() } }
    expect(await desk.verifyAround(spec, () => {}, values)).toMatchObject({ state: 'absent' })
    expect(await desk.verifyAround(spec, write, values)).toMatchObject({ state: 'verified' })
    expect(await desk.verifyAround(spec, write, values)).toMatchObject({ state: 'absent', seen: 'there' })
  })

  it('is verified by any change when nothing else is said', async () => {
    const desk = await deskWith({ 'a.txt': 'before' })
    const spec = { kind: 'fileWritten', path: 'a.txt' }
    expect(await desk.verifyAround(spec, () => desk.write('a.txt', 'before'))).toMatchObject({ state: 'absent' })
    expect(await desk.verifyAround(spec, () => desk.write('a.txt', 'after'))).toMatchObject({ state: 'verified' })
  })

  it('searches no file over 16 MiB, and hashes one of any size', async () => {
    const desk = await deskWith({ 'large.bin': '' })
    await truncate(desk.path('large.bin'), 16 * 1024 * 1024 + 1)
    expect(await desk.look({ kind: 'fileWritten', path: 'large.bin', contains: 'x' })).toEqual({
      seen: 'unclear',
      reason: 'The file is larger than 16 MiB, and so much is not searched.',
    })
    const hash = createHash('sha256')
      .update(Buffer.alloc(16 * 1024 * 1024 + 1))
      .digest('hex')
    expect(await desk.look({ kind: 'fileWritten', path: 'large.bin' })).toEqual({ seen: 'there', mark: hash })
  })

  it('finds a text over the borders of what is read at once', async () => {
    const text = `${'a'.repeat(64 * 1024 - 3)}needle${'a'.repeat(70_000)}needle`
    const desk = await deskWith({ 'a.txt': text })
    expect(await desk.look({ kind: 'fileWritten', path: 'a.txt', contains: 'needle' })).toMatchObject({ count: 2 })
  })

  it('counts texts that are made to be slow to find, none over another', async () => {
    const desk = await deskWith({ 'a.txt': 'a'.repeat(1_000_000) })
    const count = (contains: string) => desk.look({ kind: 'fileWritten', path: 'a.txt', contains })
    expect(await count('a'.repeat(1_000))).toMatchObject({ count: 1_000 })
    expect(await count(`b${'a'.repeat(60_000)}`)).toMatchObject({ seen: 'absent' })
    expect(await count(`${'a'.repeat(60_000)}b`)).toMatchObject({ seen: 'absent' })
    await desk.write('b.txt', 'ababac abac aabacbac')
    expect(await desk.look({ kind: 'fileWritten', path: 'b.txt', contains: 'abac' })).toMatchObject({ count: 3 })
  })

  it.each([
    ['an empty text', { contains: '{input.text}' }, { text: '' }],
    ['a text that is too long', { contains: '{input.text}' }, { text: 'a'.repeat(65 * 1024) }],
    ['a hash that is none', { sha256: '{input.text}' }, { text: 'abc' }],
    ['a path with a zero byte', { path: '{input.text}' }, { text: 'a\0b' }],
    ['a path out of the folder', { path: 'a/{input.text}' }, { text: '../../b' }],
    ['an absolute path elsewhere', { path: '{input.text}' }, { text: '/etc/passwd' }],
    ['the folder itself', { path: '{input.text}' }, { text: '.' }],
  ])('refuses %s before anything runs', async (_what, fields, input) => {
    const desk = await deskWith()
    const looking = desk.look({ kind: 'fileWritten', path: 'a', ...fields }, { input })
    await expect(looking).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('"one"') as string,
    })
  })
})

describe('lineAppended', () => {
  const LINE = { kind: 'lineAppended', path: 'list.md', line: '- [ ] {input.title}' }
  const MILK = { input: { title: 'Milk' } }

  it('is verified by one more of the line, wherever it stands and however lines end', async () => {
    const desk = await deskWith({ 'list.md': '# List\r\n- [ ] Milk\r\n- [ ] Milk and more\r\n' })
    const file = desk.path('list.md')
    expect(await desk.verifyAround(LINE, () => {}, MILK)).toMatchObject({ state: 'absent', seen: 'there' })
    expect(await desk.verifyAround(LINE, () => appendFile(file, '- [ ] Milk'), MILK)).toMatchObject({
      state: 'verified',
    })
    expect(await desk.verifyAround(LINE, () => appendFile(file, '\n- [ ] Milk\n'), MILK)).toMatchObject({
      state: 'verified',
    })
    expect(await desk.look(LINE, MILK)).toMatchObject({ count: 3 })
  })

  it('is not verified by one less', async () => {
    const desk = await deskWith({ 'list.md': '- [ ] Milk\n- [ ] Milk\n' })
    expect(await desk.verifyAround(LINE, () => desk.write('list.md', '- [ ] Milk\n'), MILK)).toMatchObject({
      state: 'absent',
    })
  })

  it.each([
    ['- [ ] Milk', 1],
    ['﻿- [ ] Milk\n', 1],
    ['\n- [ ] Milk\n\n', 1],
    ['- [ ] Milk\r', 1],
    ['- [ ] Milk\r\r\n', 0],
    [' - [ ] Milk\n', 0],
    ['- [ ] Milk \n', 0],
    ['- [ ] Mil', 0],
    ['', 0],
    ['- [ ] Milk\n'.repeat(20_000), 20_000],
  ])('counts exact lines alone (%#)', async (text, count) => {
    const desk = await deskWith({ 'list.md': text })
    expect(await desk.look(LINE, MILK)).toMatchObject(count > 0 ? { seen: 'there', count } : { seen: 'absent' })
  })

  it('knows a first letter that only begins like a byte order mark', async () => {
    const desk = await deskWith({ 'list.md': 'ﻼ\n' })
    expect(await desk.look({ ...LINE, line: 'ﻼ' })).toMatchObject({ count: 1 })
  })

  it('refuses a line that is two', async () => {
    const desk = await deskWith()
    await expect(desk.look(LINE, { input: { title: 'a\nb' } })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })
})

describe('fileDeleted', () => {
  const GONE = { kind: 'fileDeleted', path: '{input.path}' }
  const values = { input: { path: 'old/a.md' } }

  it('is verified when a file that was there is gone', async () => {
    const desk = await deskWith({ 'old/a.md': 'a' })
    expect(await desk.verifyAround(GONE, () => {}, values)).toMatchObject({ state: 'absent' })
    expect(await desk.verifyAround(GONE, () => rm(desk.path('old/a.md')), values)).toMatchObject({ state: 'verified' })
    expect(await desk.verifyAround(GONE, () => {}, values)).toMatchObject({ state: 'indeterminate' })
  })

  it('is not proved by a folder that is away', async () => {
    const desk = await deskWith({ 'disk/a.md': 'a' })
    const spec = { kind: 'fileDeleted', path: 'a.md', within: '{config.disk}' }
    const away = () => rename(desk.path('disk'), desk.path('elsewhere'))
    expect(await desk.verifyAround(spec, away, { config: { disk: 'disk' } })).toMatchObject({ state: 'indeterminate' })
  })
})

describe('the folder that effects on files look into', () => {
  it('is the project, or the one that "within" names', async () => {
    const outside = await tempProject({ 'a.md': 'text' })
    const desk = await deskWith({ 'a.md': 'text', 'vault/b.md': 'text' })
    const look = (fields: object, config = {}) => desk.look({ kind: 'fileWritten', ...fields }, { config })
    expect(await look({ path: desk.path('a.md') })).toMatchObject({ seen: 'there' })
    expect(await look({ path: 'b.md', within: 'vault' })).toMatchObject({ seen: 'there' })
    const config = { vault: outside.dir }
    expect(await look({ path: 'a.md', within: '{config.vault}' }, config)).toMatchObject({ seen: 'there' })
    expect(await look({ path: '{config.vault}/a.md', within: '{config.vault}' }, config)).toMatchObject({
      seen: 'there',
    })
    await expect(look({ path: '{config.vault}/a.md' }, config)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    await expect(look({ path: '../a.md', within: 'vault' })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  it('is not left by links, neither to what is there nor to what is not', async () => {
    const outside = await tempProject({ 'a.md': 'text', 'deep/b.md': 'text' })
    const desk = await deskWith({ 'real/c.md': 'text' })
    await symlink(outside.path('a.md'), desk.path('file-out'))
    await symlink(outside.dir, desk.path('folder-out'))
    await symlink(desk.path('nowhere'), desk.path('dangling'))
    await symlink(desk.path('circle'), desk.path('circle'))
    await symlink('real', desk.path('inside'))
    for (const kind of ['fileWritten', 'fileDeleted']) {
      const seen = async (path: string) => (await desk.look({ kind, path })).seen
      for (const path of ['file-out', 'folder-out/a.md', 'folder-out/deep/b.md', 'folder-out/missing.md'])
        expect(await seen(path), `${kind} ${path}`).toBe('unclear')
      for (const path of ['dangling', 'dangling/a.md', 'circle'])
        expect(await seen(path), `${kind} ${path}`).toBe('unclear')
      expect(await seen('inside/c.md')).toBe('there')
      expect(await seen('inside/missing.md')).toBe('absent')
      expect(await seen('real/c.md/below')).toBe('absent')
    }
  })

  it('is never the data folder, by whatever way', async () => {
    const desk = await deskWith({ '.quartermaster/token': 'secret' })
    await symlink('.quartermaster', desk.path('data'))
    for (const path of ['.quartermaster/token', 'data/token', '.quartermaster/missing'])
      expect(await desk.look({ kind: 'fileWritten', path, contains: 's' })).toEqual({
        seen: 'unclear',
        reason: 'It cannot be looked for: its path leads out of the folder that it must be in.',
        isLasting: true,
      })
  })

  it('has nothing changed of which nobody could ever see whether it was', async () => {
    const outside = await tempProject({ 'a.md': 'text' })
    const desk = await deskWith({ 'real.md': 'text', '.quartermaster/token': 'secret' })
    await symlink(outside.path('a.md'), desk.path('out'))
    await symlink(desk.path('circle'), desk.path('circle'))
    await mkdir(desk.path('folder'))
    execFileSync('mkfifo', [desk.path('pipe')])
    const changed = (path: string) => desk.verifyAround({ kind: 'fileWritten', path }, () => desk.write('new.md', 'x'))
    const HOPELESS = { code: 'INPUT_INVALID', message: expect.stringContaining('could never be looked for') }
    for (const path of [
      'out',
      'out/below',
      'circle',
      'folder',
      'pipe',
      `${'x'.repeat(300)}.md`,
      '.quartermaster/token',
    ])
      await expect(changed(path)).rejects.toMatchObject(HOPELESS)
    expect(await desk.look({ kind: 'fileWritten', path: 'new.md' })).toMatchObject({ seen: 'absent' })
    expect(await changed('new.md')).toMatchObject({ state: 'verified' })
  })

  it('has things that are no files', async () => {
    const desk = await deskWith()
    await mkdir(desk.path('folder'))
    expect(await desk.look({ kind: 'fileWritten', path: 'folder' })).toMatchObject({ seen: 'unclear' })
    expect(await desk.look({ kind: 'fileDeleted', path: 'folder' })).toMatchObject({ seen: 'there' })
    await writeFile(desk.path('empty'), '')
    expect(await desk.look({ kind: 'fileWritten', path: 'empty' })).toMatchObject({ seen: 'there' })
  })
})
