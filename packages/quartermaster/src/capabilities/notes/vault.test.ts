import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, stat, symlink } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { type NotesFixture, notesFixture } from '../../testing/notes-fixture.ts'

/** Somebody else, who writes right before a new text takes its place, as often as told. */
function meddler(desk: NotesFixture, path: string, { times, write }: { times: number; write(text: string): string }) {
  const file = desk.project.path(`vault/${path}`)
  let looks = 0
  // The first look of each attempt is before anything is touched, the second before the file takes its name.
  const throwIfAborted = () => {
    if (++looks % 2 === 0 && looks / 2 <= times) writeFileSync(file, write(readFileSync(file, 'utf8')))
  }
  const signal = new AbortController().signal
  return Object.assign(signal, { throwIfAborted })
}

describe('an edit of a note', () => {
  it('is made again on what somebody else wrote in between', async () => {
    const desk = await notesFixture({ files: { 'vault/A.md': 'one\n' } })
    const signal = meddler(desk, 'A.md', { times: 2, write: text => `${text}theirs\n` })
    expect((await desk.append({ note: 'A', text: 'mine' }, { signal })).ok).toBe(true)
    expect(await desk.note('A.md')).toBe('one\ntheirs\ntheirs\nmine\n')
  })

  it('gives up when somebody else writes all the time, and loses nothing of theirs', async () => {
    const desk = await notesFixture({ files: { 'vault/A.md': 'one\n' } })
    const signal = meddler(desk, 'A.md', { times: 99, write: text => `${text}theirs\n` })
    await expect(desk.append({ note: 'A', text: 'mine' }, { signal })).rejects.toMatchObject({ code: 'EDIT_CONFLICT' })
    expect(await desk.note('A.md')).toBe(`one\n${'theirs\n'.repeat(5)}`)
    expect(await readdir(desk.project.path('vault'))).toEqual(['A.md'])
  })

  it('does not take the place of a note that came there meanwhile', async () => {
    const desk = await notesFixture({ files: { 'vault/Tasks/x.md': '' } })
    const file = desk.project.path('vault/Tasks/New.md')
    let looks = 0
    const signal = Object.assign(new AbortController().signal, {
      throwIfAborted: () => void (++looks === 2 && writeFileSync(file, 'theirs')),
    })
    expect((await desk.create({ title: 'New' }, { signal })).text).toContain('There is a note "Tasks/New.md" already')
    expect(await desk.note('Tasks/New.md')).toBe('theirs')
  })

  it('loses none of many that come at once', async () => {
    const desk = await notesFixture({ files: { 'vault/A.md': '' } })
    const texts = Array.from({ length: 30 }, (_, index) => `line ${index}`)
    await Promise.all(texts.map(text => desk.append({ note: 'A', text })))
    expect((await desk.note('A.md')).trimEnd().split('\n').toSorted()).toEqual(texts.toSorted())
    await Promise.all(texts.map(title => desk.create({ title }, { operationId: `op_${title}` })))
    expect((await desk.list({ limit: 500 })).data.found).toBe(30)
  })

  it('keeps the mode of a note and leaves nothing behind', async () => {
    const desk = await notesFixture({ files: { 'vault/A.md': 'one\n' } })
    chmodSync(desk.project.path('vault/A.md'), 0o640)
    await desk.append({ note: 'A', text: 'two' })
    expect((await stat(desk.project.path('vault/A.md'))).mode & 0o777).toBe(0o640)
    expect(await readdir(desk.project.path('vault'))).toEqual(['A.md'])
  })
})

describe('the walls of a vault', () => {
  it('let no path and no link lead out', async () => {
    const desk = await notesFixture({ files: { 'vault/In.md': 'in', 'outside/Secret.md': 'secret' } })
    await symlink('../outside/Secret.md', desk.project.path('vault/Link.md'))
    await symlink('../outside', desk.project.path('vault/Folder'))
    await symlink('In.md', desk.project.path('vault/Same.md'))
    for (const note of ['Link', 'Folder/Secret', '../outside/Secret', desk.project.path('outside/Secret.md')]) {
      expect((await desk.read({ note })).ok).toBe(false)
      expect((await desk.append({ note, text: 'x', create: true })).ok).toBe(false)
    }
    expect(await desk.project.read('outside/Secret.md')).toBe('secret')
    expect((await desk.read({ note: 'Same' })).data).toMatchObject({ text: 'in' })
    expect((await desk.search({ query: 'secret' })).data).toMatchObject({ found: 0 })
  })

  it('keep hidden folders apart, also behind a link', async () => {
    const desk = await notesFixture({ files: { 'vault/.obsidian/Config.md': 'plugin' } })
    await symlink('.obsidian', desk.project.path('vault/Settings'))
    for (const note of ['.obsidian/Config', 'Settings/Config', 'Settings/New']) {
      expect((await desk.read({ note })).ok).toBe(false)
      expect((await desk.append({ note, text: 'x', create: true })).ok).toBe(false)
    }
    expect(await readdir(desk.project.path('vault/.obsidian'))).toEqual(['Config.md'])
  })

  it('keep control files and the data folder from a vault that is the project itself', async () => {
    const desk = await notesFixture({ files: { 'knowledge/Unit.md': 'unit' }, settings: { vault: '.' } })
    expect((await desk.append({ note: 'knowledge/Unit', text: 'x' })).text).toContain(
      "belongs to the project's control files",
    )
    expect((await desk.append({ note: 'agents/New', text: 'x', create: true })).ok).toBe(false)
    expect((await desk.append({ note: 'Fine', text: 'x', create: true })).ok).toBe(true)
    expect(await desk.project.read('knowledge/Unit.md')).toBe('unit')
  })

  it('say what is wrong with the vault itself', async () => {
    const missing = await notesFixture({ settings: { vault: './nowhere' } })
    expect((await missing.read({ note: 'A' })).text).toBe(
      'The folder "./nowhere" does not exist. A person has to create it, or correct "vault" in this agent\'s file.',
    )
    const own = await notesFixture({ settings: { vault: './.quartermaster' } })
    expect((await own.search({ query: 'x' })).text).toContain('belongs to the gateway itself and is closed')
  })

  it('take a folder with the name of a note for what it is', async () => {
    const desk = await notesFixture()
    await mkdir(desk.project.path('vault/A.md'))
    expect((await desk.read({ note: 'A' })).text).toContain('is not a note but a folder')
    expect((await desk.append({ note: 'A', text: 'x', create: true })).ok).toBe(false)
  })
})
