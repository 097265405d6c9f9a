import { describe, expect, it } from 'vitest'
import { createEffectKinds } from '../../src/adapters/effects/index.ts'
import gateway from '../../src/capabilities/gateway/index.ts'
import notes from '../../src/capabilities/notes/index.ts'
import registry from '../../src/capabilities/registry/index.ts'
import { checkExamples, type Tool } from '../../src/core/catalogue/index.ts'
import { builtinUnit } from '../../src/testing/builtin-unit.ts'
import { createHub } from '../../src/testing/hub.ts'
import { type Page, readPage, tableBelow } from './pages.ts'

/** What reads the registry has nothing to do here: only definitions are looked at. */
const REGISTRY = {} as never
const SERVICES = {
  registry: REGISTRY,
  paths: { projectDir: '/project', dataDir: '/project/.quartermaster' },
  secrets: { get: () => undefined },
}
const EFFECT_KINDS = createEffectKinds({ projectDir: '/project', connections: { get: () => undefined } })

describe.each([
  { file: 'docs/gateway-view.md', module: gateway, section: 'gateway' },
  { file: 'docs/reference/registry.md', module: registry, section: 'registry' },
  { file: 'docs/reference/notes.md', module: notes, section: 'notes' },
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
  const modules = { gateway, registry, notes }
  const units = Object.fromEntries(Object.entries(modules).map(([name, one]) => [name, builtinUnit(one, SERVICES)]))
  const hub = await createHub({ units, effectKinds: EFFECT_KINDS })
  const tools = [...hub.catalogue.current().tools.values()]
  expect(tools.filter(tool => tool.whenToUse === '' || tool.examples.length === 0).map(tool => tool.name)).toEqual([])
  expect(await checkExamples(hub.catalogue.current())).toEqual([])
})

function headings({ text }: Page): string[] {
  return [...text.matchAll(/^## ([a-z]+_[a-z_]+)$/gm)].map(([, name = '']) => name)
}

/** A tool without a table takes nothing. */
function inputsOf(page: Page, { name }: Tool): string[] {
  const [, rest = ''] = page.text.split(`## ${name}\n`)
  const [own = ''] = rest.split('\n## ')
  if (!own.includes('| input |')) return []
  return tableBelow({ ...page, text: own }, '| input |').map(([input = '']) => input.replaceAll('`', ''))
}
