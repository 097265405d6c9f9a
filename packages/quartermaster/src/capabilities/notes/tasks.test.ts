import { mkdir, readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { notesFixture } from '../../testing/notes-fixture.ts'

/** The effects of `task_create` that a check found missing. */
const missing = (name: 'note' | 'line') => ({ missingEffects: [{ name, kind: 'fileWritten' }] })

const LIST = '# To do\r\n\r\n- [ ] [[Tasks/Old]] #home\r\n  - [ ] a step\r\n\r\nThe end, without a line end'

describe('task_create', () => {
  it('makes a note and a line that links to it, and keeps the rest of the list', async () => {
    const desk = await notesFixture({ files: { 'vault/Tasks.md': LIST } })
    const said = await desk.create(
      { title: ' Buy milk ', due: '2026-12-01', tags: ['home', 'shop/food', 'home'], text: 'Two litres.' },
      { operationId: 'op_7' },
    )
    expect(said.data).toEqual({
      id: 'op_7',
      title: 'Buy milk',
      note: 'Tasks/Buy milk.md',
      list: 'Tasks.md',
      through: 'disk',
    })
    expect(await desk.note('Tasks/Buy milk.md')).toBe(
      `---\nid: op_7\ncreated: ${new Date(2026, 10, 15, 12).toISOString()}\ndue: 2026-12-01\ntags:\n  - home\n  - shop/food\n---\n\nTwo litres.\n`,
    )
    expect(await desk.note('Tasks.md')).toBe(`${LIST}\r\n- [ ] [[Tasks/Buy milk]] 📅 2026-12-01 #home #shop/food\r\n`)
  })

  it('goes where the configuration says', async () => {
    const desk = await notesFixture({ settings: { taskList: 'Lists/Mine', taskFolder: '.' } })
    await desk.create({ title: 'Übung 🌱' })
    expect(await desk.note('Lists/Mine.md')).toBe('- [ ] [[Übung 🌱]]\n')
    expect(await desk.note('Übung 🌱.md')).toContain('id: op_1\n')
  })

  it('makes nothing twice for one operation', async () => {
    const desk = await notesFixture()
    await desk.create({ title: 'Once' })
    const [note, list] = [await desk.note('Tasks/Once.md'), await desk.note('Tasks.md')]
    expect((await desk.create({ title: 'Once' })).ok).toBe(true)
    expect([await desk.note('Tasks/Once.md'), await desk.note('Tasks.md')]).toEqual([note, list])
  })

  it('makes only what is missing', async () => {
    const desk = await notesFixture({ files: { 'vault/Tasks/Half.md': '---\nid: op_1\n---\nchanged by a person' } })
    await desk.create({ title: 'Half' }, missing('line'))
    expect(await desk.note('Tasks/Half.md')).toBe('---\nid: op_1\n---\nchanged by a person')
    expect(await desk.note('Tasks.md')).toBe('- [ ] [[Tasks/Half]]\n')
    await desk.create({ title: 'Other' }, missing('note'))
    expect(await desk.note('Tasks.md')).not.toContain('Other')
  })

  it('leaves a note of that name alone', async () => {
    const desk = await notesFixture({ files: { 'vault/Tasks/Taken.md': 'mine', 'vault/Tasks.md': LIST } })
    expect((await desk.create({ title: 'Taken' })).text).toContain('There is a note "Tasks/Taken.md" already')
    expect(await desk.note('Tasks/Taken.md')).toBe('mine')
    expect(await desk.note('Tasks.md')).toBe(LIST)
  })

  it.each([
    ['is done', '- [x] [[Tasks/Water]] ✅ 2026-10-01\r\n'],
    ['is cancelled and written otherwise', '- [-] [[tasks/water.md|the plants]]\r\n'],
  ])('makes a new line beside one that %s, and leaves that one as it is', async (_how, list) => {
    const desk = await notesFixture({ files: { 'vault/Tasks.md': list } })
    expect((await desk.create({ title: 'Water' })).ok).toBe(true)
    const both = `${list}- [ ] [[Tasks/Water]]\r\n`
    expect(await desk.note('Tasks.md')).toBe(both)
    await desk.create({ title: 'Water' })
    expect(await desk.note('Tasks.md')).toBe(both)
  })

  it.each([
    '- [ ] [[Tasks/Call Bob]]',
    '- [/] [[tasks/call bob]]',
    '* [ ] [[call bob|him]]',
    '- [?] [[Tasks/Call Bob.md]]',
  ])('makes nothing while the list links to it by %s', async line => {
    const list = `# Mine\n${line}\n`
    const desk = await notesFixture({ files: { 'vault/Tasks.md': list } })
    expect((await desk.create({ title: 'Call Bob' })).text).toBe(
      'The list "Tasks.md" links to "Tasks/Call Bob" already, in line 2, and nothing was made. ' +
        'Change that task with task_update, or choose another title.',
    )
    expect(await readdir(desk.project.path('vault'))).toEqual(['Tasks.md'])
    expect(await desk.note('Tasks.md')).toBe(list)
  })

  it('makes the note alone when its line is there already', async () => {
    const desk = await notesFixture({ files: { 'vault/Tasks.md': '- [ ] [[Tasks/A]]\n' } })
    expect((await desk.create({ title: 'A' }, missing('note'))).ok).toBe(true)
    expect(await desk.note('Tasks.md')).toBe('- [ ] [[Tasks/A]]\n')
  })

  it('makes no note when the list cannot be read', async () => {
    const desk = await notesFixture()
    await mkdir(desk.project.path('vault/Tasks.md'))
    expect((await desk.create({ title: 'A' })).ok).toBe(false)
    expect(await readdir(desk.project.path('vault'))).toEqual(['Tasks.md'])
  })

  it('tells that a task is half made when its line cannot be written', async () => {
    const list = 'x'.repeat(1024 * 1024 - 5)
    const desk = await notesFixture({ files: { 'vault/Tasks.md': list } })
    await expect(desk.create({ title: 'A' })).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringContaining('The note "Tasks/A.md" is there'),
    })
    expect(await desk.note('Tasks.md')).toBe(list)
  })

  it.each([
    'a/b',
    '../x',
    'a]]',
    '.hidden',
    'a\nb',
    'dot.',
    '',
    'a\u202eb',
    'a\u200bb',
    'Emoji 📅 2020-01-01',
    'Plants 🔁 every day',
  ])('takes no title such as %j', async title => {
    const desk = await notesFixture()
    await expect(desk.create({ title })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    expect(await readdir(desk.project.path('vault'))).toEqual([])
  })

  it('says of a title once what is wrong with it', async () => {
    const desk = await notesFixture()
    const complaints = async (title: string) => {
      const failure = await desk.create({ title }).catch(error => error)
      return (JSON.parse(failure.message) as { message: string }[]).map(({ message }) => message)
    }
    expect(await complaints('a/b.')).toEqual([
      'must be the name of a note: no \\ / : * ? " < > | # ^ [ ] and no "." at the beginning',
    ])
    expect(await complaints('')).toHaveLength(1)
    expect(await complaints('a'.repeat(151))).toHaveLength(1)
    expect(await complaints('dot.')).toEqual(['is too long, or ends in a dot'])
    expect(await complaints('a\u202eb')).toEqual(['has characters that cannot be seen'])
    expect(await complaints('Emoji 📅 2020-01-01')).toEqual([expect.stringContaining('give due instead')])
  })

  it('takes no line that would break the list', async () => {
    const desk = await notesFixture()
    for (const input of [
      { tags: ['a b'] },
      { tags: ['12'] },
      { due: '2026-13-01' },
      { due: 'Friday' },
      { tags: ['a\n'] },
    ])
      await expect(desk.create({ title: 'A', ...input })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })
})

describe('task_update', () => {
  const NOTE = '---\r\nid: op_0\r\nmine: { a: 1 }\r\ndue: 2026-01-01\r\n---\r\nText\r\n'
  const list = '- [ ] [[Tasks/Report]] ⏫ 📅 2026-01-01 #work ^b1\n- [ ] plain\n- [x] [[Tasks/Old]] ✅ 2025-01-01\n'
  const files = { 'vault/Tasks.md': list, 'vault/Tasks/Report.md': NOTE, 'vault/Tasks/Old.md': 'no front matter' }

  it('changes due date and tags in the list and in the note, and nothing else', async () => {
    const desk = await notesFixture({ files })
    const said = await desk.update({ task: 'Report', due: '2026-12-04', tags: ['work', 'urgent'] })
    expect(said.data).toMatchObject({ title: 'Report', line: 1, changed: true, note: 'Tasks/Report.md' })
    expect(await desk.note('Tasks.md')).toBe(
      list.replace('2026-01-01', '2026-12-04').replace('#work ^b1', '#work #urgent ^b1'),
    )
    expect(await desk.note('Tasks/Report.md')).toBe(
      NOTE.replace('2026-01-01', '2026-12-04').replace('---\r\nText', 'tags:\r\n  - work\r\n  - urgent\r\n---\r\nText'),
    )
    expect((await desk.update({ task: 'Report', due: '2026-12-04' })).data).toMatchObject({ changed: false })
    await desk.update({ task: '[[Tasks/Report]]', due: null })
    expect(await desk.note('Tasks.md')).toContain('- [ ] [[Tasks/Report]] ⏫ #work #urgent ^b1\n')
    expect(await desk.note('Tasks/Report.md')).not.toContain('due')
  })

  it('begins, cancels and reopens', async () => {
    const desk = await notesFixture({ files })
    await desk.update({ task: 'plain', status: 'inProgress' })
    await desk.update({ task: 'Old', status: 'open', due: '2026-12-01' })
    expect(await desk.note('Tasks.md')).toBe(
      list
        .replace('- [ ] plain', '- [/] plain')
        .replace('- [x] [[Tasks/Old]] ✅ 2025-01-01', '- [ ] [[Tasks/Old]] 📅 2026-12-01'),
    )
    expect(await desk.note('Tasks/Old.md')).toBe('no front matter')
  })

  it('finds a note that is linked by its name alone, and changes the list also when its note cannot be', async () => {
    const desk = await notesFixture({
      files: {
        'vault/Tasks.md': '- [ ] [[Deep]]\n- [ ] [[../out]]\n- [ ] [[Gone]]\n',
        'vault/x/Deep.md': '---\na: 1\n---\n',
      },
    })
    expect((await desk.update({ task: 'Deep', due: '2026-12-01' })).data).toMatchObject({ note: 'x/Deep.md' })
    expect(await desk.note('x/Deep.md')).toBe('---\na: 1\ndue: 2026-12-01\n---\n')
    const { data } = await desk.update({ task: 'out', due: '2026-12-01' })
    expect(data).toMatchObject({ changed: true, noteProblem: expect.stringContaining('is no note') })
    expect((await desk.update({ task: 'Gone', due: '2026-12-01' })).data).toMatchObject({ changed: true })
    expect(await desk.note('Tasks.md')).toBe(
      '- [ ] [[Deep]] 📅 2026-12-01\n- [ ] [[../out]] 📅 2026-12-01\n- [ ] [[Gone]] 📅 2026-12-01\n',
    )
  })

  it('says no when nothing is asked for, or no task is meant', async () => {
    const desk = await notesFixture({ files: { 'vault/Tasks.md': '- [ ] a\n- [ ] a\n' } })
    expect((await desk.update({ task: 'a' })).text).toBe('Nothing is to be changed. Give due, tags or status.')
    expect((await desk.update({ task: 'b', due: null })).text).toContain('There is no task "b" in "Tasks.md"')
    expect((await desk.update({ task: 'a', due: null })).text).toContain('are called "a" (lines 1, 2)')
    expect((await (await notesFixture()).update({ task: 'a', due: null })).text).toContain(
      'There is no list of tasks yet',
    )
  })
})

describe('task_complete', () => {
  it('marks a task as done with the day, once', async () => {
    const desk = await notesFixture({ files: { 'vault/Tasks.md': LIST } })
    expect((await desk.complete({ task: 'Old' })).data).toMatchObject({ title: 'Old', line: 3, changed: true })
    expect(await desk.note('Tasks.md')).toBe(
      LIST.replace('[ ] [[Tasks/Old]] #home', `[x] [[Tasks/Old]] #home ✅ ${desk.today}`),
    )
    expect((await desk.complete({ task: 'Old' })).text).toBe('"Old" was done already.')
  })

  it('means the open one of several with the same title', async () => {
    const desk = await notesFixture({ files: { 'vault/Tasks.md': '- [x] water\n- [ ] water\n- [-] water\n' } })
    expect((await desk.complete({ task: 'water' })).data).toMatchObject({ line: 2 })
  })

  it('leaves tasks that come again to Obsidian', async () => {
    const text = '- [ ] water 🔁 every day 📅 2026-11-15\n'
    const desk = await notesFixture({ files: { 'vault/Tasks.md': text } })
    expect((await desk.complete({ task: 'water 🔁 every day' })).text).toContain('only Obsidian makes the next task')
    expect(await desk.note('Tasks.md')).toBe(text)
  })
})

it('lists tasks by status, tag and due date', async () => {
  const desk = await notesFixture({
    files: {
      'vault/Tasks.md':
        '- [ ] [[Tasks/A]] 📅 2026-12-01 #work/mail\n- [/] b 📅 2026-11-01\n- [x] c ✅ 2026-11-02 #work\n- [-] d\n```\n- [ ] code\n```\n',
    },
  })
  const titles = async (input: object) =>
    ((await desk.list(input)).data.tasks as { title: string }[]).map(({ title }) => title)
  expect((await desk.list()).data).toMatchObject({
    tasks: [
      { title: 'A', status: 'open', note: 'Tasks/A', due: '2026-12-01', tags: ['work/mail'], line: 1 },
      { title: 'b', status: 'inProgress', line: 2 },
    ],
    found: 2,
    list: 'Tasks.md',
  })
  expect(await titles({ status: 'all' })).toEqual(['A', 'b', 'c', 'd'])
  expect(await titles({ status: 'all', tag: 'work' })).toEqual(['A', 'c'])
  expect(await titles({ dueBy: '2026-11-30' })).toEqual(['b'])
  expect((await desk.list({ status: 'all', limit: 1 })).text).toContain('[3 more; narrow it, or raise limit]')
  expect((await (await notesFixture()).list()).text).toBe('"Tasks.md" does not exist yet.')
})
