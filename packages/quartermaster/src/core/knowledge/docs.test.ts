import { describe, expect, it } from 'vitest'
import type { Generation, Knowledge, Tool } from '../catalogue/index.ts'
import { createDocs } from './index.ts'

const CLOCK = { now: () => 0, breathe: async () => {} }

const tool = (name: string, more: object = {}) =>
  ({
    name,
    title: name,
    short: `Does ${name}.`,
    whenToUse: '',
    section: 'main',
    capability: 'main',
    hash: name,
    inputSchema: {},
    examples: [],
    ...more,
  }) as unknown as Tool

const unit = (path: string, more: object = {}) =>
  ({
    path,
    unit: `knowledge/${path}.md`,
    kind: 'concept',
    title: path,
    tools: [],
    parents: [],
    tags: [],
    aliases: [],
    seeAlso: [],
    body: '',
    hash: path,
    ...more,
  }) as unknown as Knowledge

const generation = (number: number, tools: readonly Tool[], units: readonly Knowledge[] = []) =>
  ({
    number,
    tools: new Map(tools.map(one => [one.name, one])),
    capabilities: new Map(),
    injections: [],
    knowledge: new Map(units.map(one => [one.path, one])),
  }) as unknown as Generation

const ALL = { limit: 10, filter: () => true }

/** Updates the index to a generation and returns a search in it. */
async function finder(known: Generation, index = createDocs(CLOCK).index) {
  const found = await index.upTo(known)
  return (query: string) => found.search(query, ALL).map(({ value }) => value)
}

describe('the search index of the docs', () => {
  it('finds a tool with broken fields by its name, and all others as usual', async () => {
    const find = await finder(generation(1, [tool('fixes', { examples: null }), tool('prints')]))
    expect(find('prints')).toEqual(['tool:prints'])
    expect(find('fixes')).toEqual(['tool:fixes'])
  })

  it('indexes parameters without a description', async () => {
    const silent = tool('prints', { inputSchema: { properties: { page: null, size: true } } })
    const find = await finder(generation(1, [silent]))
    expect(find('page')).toEqual(['tool:prints'])
  })

  it('finds a tool by the search words of its declaration', async () => {
    const find = await finder(generation(1, [tool('prints', { search: ['hardcopy'] })]))
    expect(find('hardcopy')).toEqual(['tool:prints'])
  })

  it('finds a unit by each of its fields and by its whole text', async () => {
    const body = `# Colour\n\n${'Plain words about nothing. '.repeat(400)}\n\nThe last is a zebra.`
    const facts = { aliases: ['tinting'], tags: ['paintwork'], summary: 'On dyes.', whenToUse: 'For fabrics.', body }
    const find = await finder(generation(1, [tool('prints')], [unit('guides/colour', facts)]))
    for (const query of ['colour', 'tinting', 'paintwork', 'dyes', 'fabrics', 'zebra'])
      expect(find(query)).toEqual(['guides/colour'])
  })

  it('indexes added, changed and removed units, and reads no other again', async () => {
    const index = createDocs(CLOCK).index
    let reads = 0
    const counted = Object.defineProperty(unit('kept'), 'tags', {
      get() {
        reads++
        return ['walrus']
      },
    })
    await finder(generation(1, [], [counted, unit('gone', { body: 'ibex' }), unit('edited', { body: 'lynx' })]), index)
    const once = reads
    const edited = unit('edited', { body: 'otter', hash: 'new' })
    const find = await finder(generation(2, [], [counted, edited]), index)
    // Each generation reads the tags for the entry; only the first also for the index.
    expect([once, reads]).toEqual([2, 3])
    expect([find('walrus'), find('ibex'), find('lynx'), find('otter')]).toEqual([['kept'], [], [], ['edited']])
  })

  it('is updated by the next search when an update failed', async () => {
    const index = createDocs(CLOCK).index
    const broken = {
      number: 1,
      get tools(): never {
        throw new Error('gone')
      },
    }
    await expect(index.upTo(broken as never)).rejects.toThrow('gone')
    const find = await finder(generation(2, [tool('prints')]), index)
    expect(find('prints')).toEqual(['tool:prints'])
  })
})
