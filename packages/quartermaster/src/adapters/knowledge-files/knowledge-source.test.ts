import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { silentLog } from '../system/index.ts'
import { createKnowledgeSource } from './index.ts'

let dir: string
beforeEach(async () => {
  dir = join(await mkdtemp(join(tmpdir(), 'knowledge-')), 'knowledge')
})
afterEach(() => rm(dirname(dir), { recursive: true, force: true }))

async function write(name: string, text: string): Promise<void> {
  await mkdir(dirname(join(dir, name)), { recursive: true })
  await writeFile(join(dir, name), text)
}

const open = (options = {}) =>
  createKnowledgeSource({ id: 'knowledge', kind: 'declaration', dir, watch: false, log: silentLog, ...options })
const load = async () => open().load(new AbortController().signal)

const CONCEPT = '---\nkind: concept\ntitle: Refunds\n---\nMoney goes back.\n'

it('has no units without a folder', async () => {
  expect(await load()).toEqual([])
})

it('reads every Markdown file below the folder, by its path', async () => {
  await write('refunds.md', CONCEPT)
  await write('shop/index.md', CONCEPT)
  await write('shop/till.md', CONCEPT)
  await write('_draft.md', 'not yet')
  await write('.hidden/x.md', 'no')
  await write('notes.txt', 'no')
  await write('README.md', '# What is here')
  const units = await load()
  expect(units.map(({ id }) => id)).toEqual([
    'knowledge/refunds.md',
    'knowledge/shop/index.md',
    'knowledge/shop/till.md',
  ])
  expect(units.map(unit => ('definitions' in unit ? unit.definitions.written?.[0] : unit))).toEqual(
    ['refunds', 'shop', 'shop/till'].map(path => ({
      path,
      front: { kind: 'concept', title: 'Refunds' },
      body: 'Money goes back.',
      lines: { body: 5, fields: { kind: 2, title: 3 } },
    })),
  )
})

it('has one path for an accented name in either Unicode form', async () => {
  await write('e\u0301te\u0301.md', CONCEPT)
  expect(await load()).toMatchObject([{ definitions: { written: [{ path: '\u00e9t\u00e9' }] } }])
})

it('reports a file in another encoding', async () => {
  await write('a.md', CONCEPT)
  await writeFile(join(dir, 'a.md'), Buffer.from([0xff, 0xfe, 0x41, 0x00]))
  expect(await load()).toMatchObject([{ broken: [{ message: expect.stringContaining('not written in UTF-8') }] }])
})

it('puts its prefix before every path', async () => {
  await write('refunds.md', CONCEPT)
  const [unit] = await open({ prefix: 'quartermaster/' }).load(new AbortController().signal)
  expect(unit).toMatchObject({ definitions: { written: [{ path: 'quartermaster/refunds' }] } })
})

it.each([
  ['plain', 'title: Refunds', { title: 'Refunds' }],
  ['in quotes', 'title: "Refunds"', { title: 'Refunds' }],
  ['a list in brackets', 'tags: [a, b]', { tags: ['a', 'b'] }],
  ['a list in lines', 'tags:\n  - a\n  - b', { tags: ['a', 'b'] }],
  ['a text in lines', 'summary: |-\n  a\n  b', { summary: 'a\nb' }],
  ['empty', 'summary:', { summary: null }],
  ['of JSON', 'with: { "a": "b" }', { with: { a: 'b' } }],
])(
  'takes lines that end as on Windows, a last field that is %s, and a mark at the beginning',
  async (_, last, front) => {
    const text = `---\nkind: concept\n${last}\n---\nMoney goes back.\n`
    await write('unix.md', text)
    await write('windows.md', `\uFEFF${text.replaceAll('\n', '\r\n')}`)
    const written = (await load()).map(unit => ('definitions' in unit ? unit.definitions.written?.[0] : unit))
    const lines = { body: 4 + last.split('\n').length, fields: { kind: 2, [Object.keys(front)[0] ?? '']: 3 } }
    expect(written).toEqual(
      ['unix', 'windows'].map(path => ({
        path,
        front: { kind: 'concept', ...front },
        body: 'Money goes back.',
        lines,
      })),
    )
  },
)

it('returns the same object for an unchanged text', async () => {
  await write('refunds.md', CONCEPT)
  const source = open()
  const first = await source.load(new AbortController().signal)
  expect((await source.load(new AbortController().signal))[0]).toBe(first[0])
})

it.each([
  ['has no front matter', '# Refunds\n', 'It has no front matter'],
  ['has no end of its front matter', '---\nkind: concept\n\n# Refunds\n', 'Its front matter has no end'],
  [
    'is nested too deeply',
    `---\na: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n---\n`,
    'nested deeper than can be read',
  ],
  [
    'has front matter that is no YAML',
    '---\nkind: [concept\n---\n',
    'Its front matter is no YAML',
    /^knowledge\/bad\.md:2$/,
  ],
  ['has nothing at its head', '---\n---\n# Refunds\n', 'must be fields with values'],
  ['says a field twice', '---\nkind: concept\nkind: system\n---\n', 'says "kind" twice', /^knowledge\/bad\.md:3$/],
  [
    'says a field of a field twice',
    '---\nwith:\n  - a: 1\n    a: 2\n---\n',
    'says "a" twice',
    /^knowledge\/bad\.md:4$/,
  ],
  [
    'has more at its head than is read in a moment',
    `---\n${Array.from({ length: 21_000 }, (_, at) => `k${at}: 1\n`).join('')}---\n`,
    'more than 65536 characters',
  ],
  [
    'has more fields than there are',
    `---\n${Array.from({ length: 200 }, (_, at) => `k${at}: 1\n`).join('')}---\n`,
    'more than 100 fields',
  ],
  ['has a list for front matter', '---\n- concept\n---\n', 'must be fields with values'],
  ['makes much of little', `---\na: &a [x,x]\nb: [${'*a,'.repeat(50)}]\n---\n`, 'cannot be read'],
  ['is too large', `---\nkind: concept\n---\n${'x'.repeat(300_000)}`, 'Part it into several'],
])('reports a file that %s, and reads the others', async (_what, text, message, where = /^knowledge\/bad\.md$/) => {
  await write('bad.md', text)
  await write('good.md', CONCEPT)
  expect(await load()).toMatchObject([
    {
      id: 'knowledge/bad.md',
      broken: [{ where: expect.stringMatching(where), message: expect.stringContaining(message) }],
    },
    { id: 'knowledge/good.md', hash: expect.any(String) },
  ])
})

it('reads no file that a link leads to outside of the folder', async () => {
  await write('good.md', CONCEPT)
  await writeFile(join(dirname(dir), 'secret.md'), CONCEPT)
  await symlink('../secret.md', join(dir, 'link.md'))
  expect(await load()).toMatchObject([
    { id: 'knowledge/good.md' },
    { broken: [{ message: expect.stringContaining('link') }] },
  ])
})

it('reads no pipe, which would block until a program writes', async () => {
  await write('good.md', CONCEPT)
  execFileSync('mkfifo', [join(dir, 'pipe.md')])
  expect(await load()).toMatchObject([{ id: 'knowledge/good.md' }, { broken: [{ message: 'It is no file.' }] }])
})

it('names files by the given folder, also where that is a link', async () => {
  const elsewhere = join(dirname(dir), 'elsewhere')
  await mkdir(elsewhere)
  await writeFile(join(elsewhere, 'a.md'), CONCEPT)
  await symlink('elsewhere', dir)
  expect(await load()).toMatchObject([{ id: 'knowledge/a.md' }])
})

it('notices an edit, a new file and a new folder', async () => {
  const source = open({ watch: true })
  try {
    const changes = createChangeListener()
    source.onChange(changes.notify)
    for (const name of ['first.md', 'deep/second.md', 'first.md']) {
      await expect(changes.until(() => write(name, `${CONCEPT}${name}${Math.random()}`))).resolves.toBeUndefined()
    }
  } finally {
    await source.close()
  }
})

/** Waits for a change, writing again until the watcher is ready. */
function createChangeListener() {
  let wake = () => {}
  return {
    notify: () => wake(),
    async until(write: () => Promise<void>) {
      const told = new Promise<void>(resolve => {
        wake = resolve
      })
      const again = setInterval(() => void write(), 100)
      await write()
      await told
      clearInterval(again)
    },
  }
}
