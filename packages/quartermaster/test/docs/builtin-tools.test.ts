import { describe, expect, it } from 'vitest'
import { createEffectKinds } from '../../src/adapters/effects/index.ts'
import delegation from '../../src/capabilities/delegation/index.ts'
import gateway from '../../src/capabilities/gateway/index.ts'
import history from '../../src/capabilities/history/index.ts'
import inbox from '../../src/capabilities/inbox/index.ts'
import memory from '../../src/capabilities/memory/index.ts'
import notes from '../../src/capabilities/notes/index.ts'
import registry from '../../src/capabilities/registry/index.ts'
import user from '../../src/capabilities/user/index.ts'
import { checkExamples, type Tool } from '../../src/core/catalogue/index.ts'
import { builtinUnit } from '../../src/testing/builtin-unit.ts'
import { createHub } from '../../src/testing/hub.ts'
import { type Page, readPage, tableBelow } from './pages.ts'

/** What reads the registry, and the desks of the platform, have nothing to do here: only definitions are looked at. */
const REGISTRY = {} as never
const DESK = (() => {}) as never
const SERVICES = {
  registry: REGISTRY,
  paths: { projectDir: '/project', dataDir: '/project/.quartermaster' },
  secrets: { get: () => undefined },
  people: DESK,
  inbox: DESK,
  history: DESK,
  attachments: DESK,
  memory: DESK,
  workspace: DESK,
  delegation: DESK,
}
const EFFECT_KINDS = createEffectKinds({ projectDir: '/project', connections: { get: () => undefined } })

describe.each([
  { file: 'docs/gateway-view.md', module: gateway, section: 'gateway' },
  { file: 'docs/reference/registry.md', module: registry, section: 'registry' },
  { file: 'docs/reference/delegation.md', module: delegation, section: 'delegation' },
  { file: 'docs/reference/inbox.md', module: inbox, section: 'inbox' },
  { file: 'docs/reference/history.md', module: history, section: 'history' },
  { file: 'docs/reference/notes.md', module: notes, section: 'notes' },
  { file: 'docs/reference/user.md', module: user, section: 'user' },
  { file: 'docs/reference/memory.md', module: memory, section: 'memory' },
])('$file', ({ file, module, section }) => {
  const page = readPage(file)

  it('has a section for every tool, with its input, and for no other', async () => {
    const hub = await createHub({ units: { one: builtinUnit(module, SERVICES) }, effectKinds: EFFECT_KINDS })
    const tools = [...hub.catalogue.current().tools.values()]
    expect(tools.every(tool => tool.section === section)).toBe(true)
    expect(headings(page)).toEqual(tools.map(tool => tool.name))
    for (const tool of tools) expect(inputsOf(page, tool)).toEqual(Object.keys(tool.inputSchema.properties ?? {}))
  })
})

it('has examples that its own schemas accept, and words for the model that chooses', async () => {
  const modules = { gateway, registry, delegation, inbox, history, notes, user, memory }
  const units = Object.fromEntries(Object.entries(modules).map(([name, one]) => [name, builtinUnit(one, SERVICES)]))
  const hub = await createHub({ units, effectKinds: EFFECT_KINDS })
  const tools = [...hub.catalogue.current().tools.values()]
  expect(tools.filter(tool => tool.whenToUse === '' || tool.examples.length === 0).map(tool => tool.name)).toEqual([])
  expect(await checkExamples(hub.catalogue.current())).toEqual([])
})

function headings({ text }: Page): string[] {
  return [...text.matchAll(/^## ([a-z][a-z_]*)$/gm)].map(([, name = '']) => name)
}

/** A tool without a table takes nothing. */
function inputsOf(page: Page, { name }: Tool): string[] {
  const [, rest = ''] = page.text.split(`## ${name}\n`)
  const [own = ''] = rest.split('\n## ')
  if (!own.includes('| input |')) return []
  return tableBelow({ ...page, text: own }, '| input |').map(([input = '']) => input.replaceAll('`', ''))
}
