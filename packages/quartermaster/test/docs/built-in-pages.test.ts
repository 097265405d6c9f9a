import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { cliReference } from '../../src/adapters/cli/program.ts'
import { createPackedSource, packKnowledge } from '../../src/adapters/knowledge-files/index.ts'
import { createBuiltinSource } from '../../src/adapters/modules/index.ts'
import { FIRST_AGENT, FIRST_AGENT_FILE, FIRST_AGENT_TEXT } from '../../src/adapters/project-files/init-project.ts'
import { silentLog } from '../../src/adapters/system/index.ts'
import { createQuartermaster } from '../../src/app/bootstrap/create-quartermaster.ts'
import { CAPABILITIES_DIR } from '../../src/app/package-info.ts'
import { createPagesSource } from '../../src/app/project/project.ts'
import { HttpSettings } from '../../src/capabilities/http/settings.ts'
import { ProgramSettings } from '../../src/capabilities/program/settings.ts'
import { DeclarationFacts } from '../../src/contracts/index.ts'
import type { Knowledge, Services, Source } from '../../src/core/catalogue/index.ts'
import { createDocs, isDirections } from '../../src/core/knowledge/index.ts'
import { createHub, type Hub } from '../../src/testing/hub.ts'
import { tempProject } from '../../src/testing/temp-project.ts'
import { fencesOf, readPage, tableBelow } from './pages.ts'

/** Only definitions are read, so no handler answers. */
const SERVICES = {
  ...Object.fromEntries(
    ['workspace', 'memory', 'inbox', 'history', 'people', 'attachments', 'delegation'].map(name => [name, () => {}]),
  ),
  paths: { projectDir: '/project', dataDir: '/project/.quartermaster', configFile: undefined },
  secrets: { get: () => undefined },
  registry: {},
  web: {},
  programs: {},
} as unknown as Services

const unitsOf = async (source: Source) => source.load(new AbortController().signal)

async function openHub(): Promise<Hub> {
  const builtin = createBuiltinSource({ dir: fileURLToPath(CAPABILITIES_DIR), services: SERVICES, version: '0' })
  const units = [...(await unitsOf(builtin)), ...(await unitsOf(createPagesSource(silentLog)))]
  const readable = units.flatMap(unit => ('broken' in unit ? [] : [[unit.id, unit.definitions] as const]))
  expect(readable).toHaveLength(units.length)
  return createHub({ builtin: Object.fromEntries(readable) })
}

/** The knowledge that docs show, written into a new project as a reader would. */
async function writeShown(write: (path: string, text: string) => Promise<unknown>): Promise<void> {
  const shownIn = (page: string) => fencesOf(readPage(page)).filter(({ language }) => language === 'markdown')
  const [releasing, people] = shownIn('docs/knowledge.md')
  const [release, whoDecides] = shownIn('docs/directions.md')
  await write('knowledge/guides/releasing.md', releasing?.text ?? '')
  await write('knowledge/people.md', people?.text ?? '')
  await write('knowledge/release.md', release?.text ?? '')
  await write('knowledge/who-decides.md', whoDecides?.text ?? '')
  await write(FIRST_AGENT_FILE, FIRST_AGENT_TEXT)
}

describe('the pages that come with the product', () => {
  let hub: Hub
  let pages: readonly Knowledge[]

  beforeAll(async () => {
    hub = await openHub()
    pages = [...hub.catalogue.current().knowledge.values()]
  })

  it('are right, and name no tool, page or link that does not exist', async () => {
    expect(hub.catalogue.problems().filter(({ where }) => where.endsWith('.md'))).toEqual([])
    const docs = createDocs({ now: () => 0, breathe: async () => {} })
    const parts = { files: { exists: async () => false }, maxResultBytes: 262_144, isOffered: () => undefined }
    expect(await docs.check(hub.catalogue.current(), parts)).toEqual([])
    expect(pages.every(({ path, unit, isBuiltin }) => isBuiltin && unit === `${path}.md`)).toBe(true)
    expect(pages.every(({ path }) => path.startsWith('quartermaster/'))).toBe(true)
  })

  it('have the directions that every project needs, each called by a word of its own', () => {
    expect(pages.filter(isDirections).map(({ command }) => command)).toEqual([
      'answer-approvals',
      'recover-or-reload',
      'review-an-upstream',
      'write-a-tool',
    ])
  })

  it('speak of the tools they name, and name all tools they speak of', () => {
    const { tools } = hub.catalogue.current()
    const spoken = ({ body }: Knowledge) =>
      [...body.matchAll(/`([a-z]+(?:_[a-z]+)*)`/g)].flatMap(([, word = '']) => (tools.has(word) ? [word] : []))
    for (const page of pages)
      expect([page.path, [...new Set(spoken(page))].sort()]).toEqual([page.path, [...page.tools].sort()])
  })

  it('show no command that does not exist', () => {
    const reference = cliReference()
    const shown = pages.flatMap(({ body }) =>
      [...body.matchAll(/quartermaster ((?:[a-z]+ ?)+)/g)].map(([, words = '']) => words.trim()),
    )
    expect(shown.length).toBeGreaterThan(5)
    expect(shown.filter(words => !reference.includes(`## quartermaster ${words}\n`))).toEqual([])
  })

  it('list all that may stand in a declaration and in the settings of its ops', () => {
    const page = pages.find(({ path }) => path.endsWith('/reference/declarations'))
    const listed = (heading: string) =>
      tableBelow({ file: '', text: `${page?.body}\n` }, `\n## ${heading}\n`).map(([name = '']) =>
        name.replaceAll('`', ''),
      )
    expect(listed('Fields')).toEqual(Object.keys(DeclarationFacts.shape))
    expect(listed('`op.http.request`')).toEqual(Object.keys(HttpSettings.shape))
    expect(listed('`op.program.run`')).toEqual(Object.keys(ProgramSettings.shape))
  })

  it('show how to write a tool in all forms, and all work as they are shown', async () => {
    const page = pages.find(({ path }) => path.endsWith('/write-a-tool'))
    const fences = fencesOf({ file: '', text: (page?.body ?? '').replace(/^ {3}/gm, '') })
    const shown = (language: string) => fences.filter(one => one.language === language).map(({ text }) => text)
    const [request = '', program = ''] = shown('markdown')
    const { dir, write } = await tempProject()
    await write('knowledge/weather/get_weather.md', request)
    await write('knowledge/project/list_commits.md', program)
    await write('capabilities/dice.ts', shown('ts')[0] ?? '')
    await writeShown(write)
    const quartermaster = await createQuartermaster({ dir, watch: false, env: {} })
    onTestFinished(() => quartermaster.stop())
    expect(await quartermaster.control.checkDocs({})).toEqual({ units: 6, problems: [] })
    expect(await quartermaster.control.docs({ path: 'release', agent: FIRST_AGENT })).toMatchObject({
      text: expect.stringContaining('Ada decides about releases'),
    })
    expect((await quartermaster.reload()).rejected).toEqual([])
    const names = quartermaster.tools().map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['get_weather', 'list_commits', 'roll_die']))
  })

  it('are the same when they are packed for the build', async () => {
    const { dir, write } = await tempProject()
    const source = createPagesSource(silentLog)
    await write('knowledge.json', await packKnowledge(source))
    const packed = createPackedSource({ id: 'pages', kind: 'builtin', file: new URL(`file://${dir}/knowledge.json`) })
    expect(await unitsOf(packed)).toEqual(await unitsOf(source))
  })
})
