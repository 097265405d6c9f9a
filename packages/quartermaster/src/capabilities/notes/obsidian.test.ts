import { writeFileSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { TLS_IDENTITY } from '../../adapters/mcp-upstream/testing/tls-identity.ts'
import type { Probe, ProbeVerdict } from '../../core/catalogue/index.ts'
import { type NotesFixture, type NotesFixtureOptions, notesFixture } from '../../testing/notes-fixture.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { type RestServer, type RestServerOptions, restServer } from './testing/rest-server.ts'

const KEY = 'a'.repeat(64)

interface SeatOptions extends NotesFixtureOptions {
  server?: Partial<RestServerOptions>
  /** What the agent's file says beside the address and the secret. */
  rest?: object
}

/** A vault on disk, and an Obsidian that has it open. */
async function seat(options: SeatOptions = {}): Promise<{ desk: NotesFixture; rest: RestServer }> {
  const project = await tempProject(options.files)
  await mkdir(project.path('vault'), { recursive: true })
  const rest = await restServer({ vault: project.path('vault'), key: KEY, ...options.server })
  const settings = { rest: { url: rest.url, secret: 'OBSIDIAN_KEY', ...options.rest } }
  const desk = await notesFixture({ secrets: { OBSIDIAN_KEY: KEY }, ...options, project, settings })
  return { desk, rest }
}

async function look({ obsidian }: NotesFixture): Promise<ProbeVerdict | boolean> {
  return (obsidian.dependency.probe as Probe).run({ signal: new AbortController().signal, hasSecret: () => true })
}

describe.each([
  { name: 'a version that takes conditions', isOld: false },
  { name: 'a version that knows none', isOld: true },
])('through Obsidian, with $name of its plugin,', ({ isOld }) => {
  const server = { isOld }

  it('notes are read and written byte for byte', async () => {
    const text = '\uFEFF---\r\nx: 1\r\n---\r\nÜbung 🌱\r\n\tend'
    const { desk, rest } = await seat({ server, files: { 'vault/A B/Ü.md': text } })
    expect((await desk.read({ note: 'A B/Ü' })).data).toMatchObject({ text, through: 'obsidian' })
    expect((await desk.append({ note: 'A B/Ü', text: 'more' })).data).toMatchObject({ through: 'obsidian' })
    expect(await desk.note('A B/Ü.md')).toBe(`${text}\r\nmore\r\n`)
    expect(rest.asked).toContain('PUT /vault/A B/Ü.md')
  })

  it('a task gets its note and its line', async () => {
    const { desk, rest } = await seat({ server })
    expect((await desk.create({ title: 'Buy milk', due: '2026-12-01' })).data).toMatchObject({ through: 'obsidian' })
    expect((await desk.complete({ task: 'Buy milk' })).data).toMatchObject({ changed: true, through: 'obsidian' })
    expect(await desk.note('Tasks.md')).toBe('- [x] [[Tasks/Buy milk]] 📅 2026-12-01 ✅ 2026-11-15\n')
    const puts = rest.asked.filter(line => line.startsWith('PUT'))
    expect(puts).toEqual(['PUT /vault/Tasks/Buy milk.md', 'PUT /vault/Tasks.md', 'PUT /vault/Tasks.md'])
  })

  it('an edit is made again on what somebody else wrote in between', async () => {
    const { desk, rest } = await seat({ server, files: { 'vault/Tasks.md': '- [ ] a\n' } })
    let gets = 0
    // The first is the read, the second the look right before the write.
    rest.before.GET = () =>
      ++gets === 2 && writeFileSync(desk.project.path('vault/Tasks.md'), '- [ ] theirs\n- [ ] a\n')
    expect((await desk.complete({ task: 'a' })).data).toMatchObject({ through: 'obsidian', line: 2 })
    expect(await desk.note('Tasks.md')).toBe('- [ ] theirs\n- [x] a ✅ 2026-11-15\n')
  })
})

it('sees an edit between its last look and the write, where the plugin takes conditions', async () => {
  const { desk, rest } = await seat({ files: { 'vault/Tasks.md': '- [ ] a\n' } })
  let puts = 0
  rest.before.PUT = () => ++puts === 1 && writeFileSync(desk.project.path('vault/Tasks.md'), '- [ ] theirs\n- [ ] a\n')
  await desk.complete({ task: 'a' })
  expect(await desk.note('Tasks.md')).toBe('- [ ] theirs\n- [x] a ✅ 2026-11-15\n')
})

describe('by disk, and saying so,', () => {
  const files = { 'vault/A.md': 'text\n' }

  it('goes what finds no Obsidian, and through it again when it is back', async () => {
    let now = 0
    const { desk, rest } = await seat({ files, now: () => now })
    const port = Number(new URL(rest.url).port)
    await rest.stop()
    let news = 0
    desk.obsidian.dependency.onChange?.(() => void news++)
    const fallback = `Nothing listens on ${rest.url}; Obsidian or its plugin is not running.`
    const said = await desk.append({ note: 'A', text: 'more' })
    expect(said.data).toMatchObject({ through: 'disk', fallback })
    expect(said.text).toContain(`[By disk, not through Obsidian: ${fallback}]`)
    expect(await desk.note('A.md')).toBe('text\nmore\n')
    expect(news).toBe(1)
    expect(await look(desk)).toEqual({ up: false, reason: fallback })
    await restServer({ vault: desk.project.path('vault'), key: KEY, port })
    expect((await desk.read({ note: 'A' })).data).toMatchObject({ through: 'disk', fallback })
    now = 5_000
    expect((await desk.read({ note: 'A' })).data).toMatchObject({ through: 'obsidian' })
    expect(await look(desk)).toEqual({ up: true })
    expect(news).toBe(1)
  })

  it('goes at once through it again when a look has found it', async () => {
    const { desk, rest } = await seat({ files, now: () => 0 })
    const port = Number(new URL(rest.url).port)
    await rest.stop()
    await desk.read({ note: 'A' })
    await restServer({ vault: desk.project.path('vault'), key: KEY, port })
    expect(await look(desk)).toEqual({ up: true })
    expect((await desk.read({ note: 'A' })).data).toMatchObject({ through: 'obsidian' })
  })

  it.each([
    {
      why: 'its key is not accepted',
      options: { secrets: { OBSIDIAN_KEY: 'wrong' } },
      fallback: 'Obsidian does not accept the key.',
    },
    {
      why: 'there is no key',
      options: { secrets: {} },
      fallback: 'There is no secret "OBSIDIAN_KEY" with the key of Obsidian\'s plugin.',
    },
    {
      why: 'its owner switched it off',
      options: { isOptedOut: () => true },
      fallback: 'The dependency "obsidian" is switched off in the configuration.',
    },
    {
      why: 'its certificate cannot be read',
      options: { rest: { certificate: 'none.pem' } },
      fallback: 'The file with the certificate of Obsidian\'s plugin cannot be read; correct "certificate".',
    },
  ])('goes what may not use it, because $why', async ({ options, fallback }) => {
    const { desk } = await seat({ files, ...options })
    expect((await desk.read({ note: 'A' })).data).toMatchObject({ text: 'text\n', through: 'disk', fallback })
  })

  it('goes what meets another vault, and nothing is written there', async () => {
    const other = await tempProject({ 'Theirs.md': 'theirs' })
    const { desk, rest } = await seat({ files, server: { vault: other.dir } })
    const fallback = 'Obsidian has another vault open than "./vault".'
    expect((await desk.create({ title: 'New' })).data).toMatchObject({ through: 'disk', fallback })
    expect(rest.asked.filter(line => line.startsWith('PUT'))).toEqual([])
    expect(await look(desk)).toEqual({ up: false, reason: fallback })
  })

  it('goes what meets a vault with the same names and other texts', async () => {
    const other = await tempProject({ 'A.md': 'theirs' })
    const { desk } = await seat({ files, server: { vault: other.dir } })
    const said = await desk.append({ note: 'A', text: 'mine' })
    expect(said.data).toMatchObject({ through: 'disk' })
    expect(said.data.fallback).toContain('Obsidian shows another "A.md" than the folder has')
    expect([await desk.note('A.md'), await other.read('A.md')]).toEqual(['text\nmine\n', 'theirs'])
  })

  it('goes every search, and asks nobody', async () => {
    const { desk, rest } = await seat({ files })
    expect((await desk.search({ query: 'text' })).data).toMatchObject({ found: 1, through: 'disk' })
    expect(rest.asked).toEqual([])
  })
})

it('accepts no other certificate than the one it was given', async () => {
  const files = { 'vault/A.md': 'text\n', 'own.pem': TLS_IDENTITY.cert, 'other.pem': 'no certificate' }
  const own = await seat({ files, rest: { certificate: 'own.pem' } })
  expect((await own.desk.read({ note: 'A' })).data).toMatchObject({ through: 'obsidian' })
  const other = await seat({ files, rest: { certificate: 'other.pem' } })
  expect((await other.desk.read({ note: 'A' })).data).toMatchObject({ through: 'disk' })
  expect(other.rest.asked).toEqual([])
})

describe('when the answer to a write is lost', () => {
  it('looks whether it was done, and says so', async () => {
    const { desk, rest } = await seat({ files: { 'vault/A.md': 'text\n' } })
    rest.insteadOfPut = async (response, write) => {
      await write()
      response.destroy()
    }
    expect((await desk.append({ note: 'A', text: 'more' })).data).toMatchObject({ line: 2 })
    expect(await desk.note('A.md')).toBe('text\nmore\n')
  })

  it('tells that the outcome is unknown rather than doing it twice', async () => {
    const { desk, rest } = await seat({ files: { 'vault/A.md': 'text\n' } })
    rest.insteadOfPut = response => response.destroy()
    await expect(desk.append({ note: 'A', text: 'more' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    rest.insteadOfPut = response => response.writeHead(204).end()
    await expect(desk.append({ note: 'A', text: 'more' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(await desk.note('A.md')).toBe('text\n')
  })

  it('goes by disk when it was refused', async () => {
    const { desk, rest } = await seat({ files: { 'vault/A.md': 'text\n' } })
    rest.insteadOfPut = response => response.writeHead(400).end()
    expect((await desk.append({ note: 'A', text: 'more' })).data).toMatchObject({
      through: 'disk',
      fallback: 'Obsidian answered with status 400.',
    })
    expect(await desk.note('A.md')).toBe('text\nmore\n')
  })
})

it('has the same walls through Obsidian, which follows every link', async () => {
  const { desk, rest } = await seat({ files: { 'outside/Secret.md': 'secret', 'vault/.obsidian/x.md': 'x' } })
  await symlink('../outside', desk.project.path('vault/Folder'))
  for (const note of ['Folder/Secret', '.obsidian/x', '../outside/Secret']) {
    expect((await desk.read({ note })).ok).toBe(false)
    expect((await desk.append({ note, text: 'x', create: true })).ok).toBe(false)
  }
  expect(rest.asked.filter(line => line.includes('Secret') || line.includes('.obsidian'))).toEqual([])
})
