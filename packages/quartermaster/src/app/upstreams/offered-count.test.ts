import { expect, it } from 'vitest'
import { defineInjection } from '../../core/catalogue/index.ts'
import { createHub, simpleCapability, simplePrompt, simpleTool } from '../../testing/hub.ts'
import { status } from '../../testing/upstream-fixture.ts'
import { withOffered } from './upstream-status.ts'

const TOOLS = [simpleTool('read'), simpleTool('write')]

/** What is told of upstreams that have said each that they have two tools and a prompt. */
async function counted(names: readonly string[], loaded: Record<string, ReturnType<typeof simpleCapability>>) {
  const docs = defineInjection({ key: 'docs', short: 'Reads.', modes: ['gateway'], tools: [simpleTool('read_docs')] })
  const { catalogue } = await createHub({
    kind: 'upstream',
    builtin: {
      'builtin:docs': { injections: [docs] },
      'builtin:files': { capabilities: [simpleCapability('files', [simpleTool('list')])] },
    },
    units: Object.fromEntries(
      Object.entries(loaded).map(([name, capability]) => [`upstream:${name}`, { capabilities: [capability] }]),
    ),
  })
  const statuses = names.map(name => ({ ...status(name, 'up'), prompts: 1 }))
  const told = withOffered(statuses, catalogue.current(), catalogue.problems())
  return told.map(({ name, tools: { offered }, prompts, clashes = [] }) => ({ name, offered, prompts, clashes }))
}

it('counts of an upstream what is loaded, whatever has been seen of it since', async () => {
  const loaded = {
    notes: simpleCapability('notes', [simpleTool('note')], { prompts: [simplePrompt('greet')] }),
    slow: simpleCapability('slow', [], { unseen: 'It has not been reached yet.' }),
  }
  expect(await counted(['notes', 'slow', 'new'], loaded)).toEqual([
    { name: 'notes', offered: 1, prompts: 1, clashes: [] },
    { name: 'slow', offered: 0, prompts: 0, clashes: [] },
    { name: 'new', offered: 0, prompts: 0, clashes: [] },
  ])
})

it.each(['docs', 'files'])(
  'counts nothing of one whose name is that of a part of the product, and says so: %s',
  async name => {
    const fix = `Give its entry in "mcpServers" another key than "${name}". Agents then have it by that one.`
    expect(await counted([name], { [name]: simpleCapability(name, TOOLS) })).toEqual([
      {
        name,
        offered: 0,
        prompts: 0,
        clashes: [
          `The capability name "${name}" is taken by builtin:${name} (builtin); what is built in or defined by the project goes before what a server has. ${fix}`,
        ],
      },
    ])
  },
)

it('says of a prefix that it is of no use to a tool that has been given its name', async () => {
  const [status] = await counted(['notes'], { notes: simpleCapability('notes', [simpleTool('list')]) })
  expect(status?.clashes).toEqual([
    expect.stringMatching(
      /"tools": \{ "list": \{ "name": "…" \} \}\. Where it is given no name there, "prefix": "…" .* does as well\.$/,
    ),
  ])
})
