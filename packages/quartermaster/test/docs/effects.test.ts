import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createEffectKinds } from '../../src/adapters/effects/index.ts'
import type { EffectSpec } from '../../src/contracts/index.ts'
import type { CallContext } from '../../src/core/catalogue/index.ts'
import { concreteEffects, kindsFor, missingOf, takeBaseline, verifyEffects } from '../../src/core/operations/index.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { createHub } from '../../src/testing/hub.ts'
import { tempProject } from '../../src/testing/temp-project.ts'
import { membersOf } from './interfaces.ts'
import { ROOT, readPage, tableBelow } from './pages.ts'

const page = readPage('docs/reference/effects.md')
const bare = (cell = '') => cell.replaceAll('`', '').replaceAll('\\|', '|')
const kinds = createEffectKinds({ projectDir: '/project', connections: { get: () => undefined } })

describe('docs/reference/effects.md', () => {
  it('explains every ready-made kind, and no other', () => {
    const explained = [...page.text.matchAll(/^## ([a-z][a-zA-Z]+)$/gm)].map(match => match[1])
    expect(explained).toEqual([...kinds.keys()])
    expect(explained).toEqual(['fileWritten', 'lineAppended', 'fileDeleted', 'rowPresent', 'httpState'])
  })

  it.each([...kinds.values()].map(kind => ({ name: kind.kind, kind })))(
    'has every field of $name, and no other, and says which must be there',
    ({ name, kind }) => {
      const rows = tableBelow(page, `\n## ${name}\n`)
      expect(rows.map(([field]) => bare(field))).toEqual(kind.fields)
      const problems = kind.check({ name: 'one', kind: name }).join('\n')
      const required = rows.filter(([, , otherwise]) => otherwise === 'required').map(([field]) => bare(field))
      expect(kind.fields.filter(field => problems.includes(`${field} is missing`))).toEqual(required)
    },
  )

  it('has every field of a kind of one’s own', () => {
    const rows = tableBelow(page, '\n## Your own\n').map(([field, type, otherwise]) => ({
      name: bare(field),
      type: bare(type),
      isOptional: otherwise !== 'required',
    }))
    expect(rows).toEqual(membersOf('core/catalogue/definitions.ts', 'EffectDefinition'))
  })
})

/** Loads an example, as a project would, and runs its tool once, as far as effects are concerned. */
async function runExample(file: string, missingEffects: readonly EffectSpec[] = []) {
  const source = await readFile(join(ROOT, 'examples/snippets/capabilities', file), 'utf8')
  const project = await tempProject({ [`capabilities/${file}`]: source })
  const { default: capability } = (await import(project.path(`capabilities/${file}`))) as { default: never }
  const effectKinds = createEffectKinds({ projectDir: project.dir, connections: { get: () => undefined } })
  const hub = await createHub({ units: { [file]: { capabilities: [capability] } }, effectKinds })
  expect(hub.catalogue.problems()).toEqual([])
  const [tool] = hub.catalogue.current().tools.values()
  await hub.stop()
  if (!tool) throw new Error('there is no tool')
  const known = kindsFor(effectKinds, tool)
  const values = { input: { title: 'First', text: 'words' }, config: {}, operationId: 'op_1' }
  const clock = createFakeClock()
  const kept = await takeBaseline(concreteEffects(tool.effects, values, known), known, { clock })
  await tool.handler(values.input, { operationId: 'op_1', missingEffects } as unknown as CallContext)
  const verdict = await verifyEffects(kept, known, { clock })
  return { verdict: verdict.verdict, missing: missingOf(verdict, tool.effects).map(({ name }) => name) }
}

describe('the examples of effects', () => {
  it('are verified after a run', async () => {
    expect(await runExample('journal.ts')).toEqual({ verdict: 'verified', missing: [] })
    expect(await runExample('tickets.ts')).toEqual({ verdict: 'verified', missing: [] })
  })

  it('do only what is missing on a second attempt', async () => {
    expect(await runExample('journal.ts', [{ name: 'line', kind: 'lineAppended' }])).toEqual({
      verdict: 'partial',
      missing: ['page'],
    })
  })
})
