import { describe, expect, it } from 'vitest'
import type { Generation, Knowledge, Tool } from '../catalogue/index.ts'
import { createDocIndex } from './doc-index.ts'

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

/** What a question finds once the index knows a generation. */
async function finder(known: Generation, docs = createDocIndex(CLOCK)) {
  const index = await docs.upTo(known)
  return (query: string) => index.search(query, ALL).map(({ value }) => value)
}

describe('the index of the docs', () => {
  it('finds a tool whose words cannot be read by its name, and all others as ever', async () => {
    const find = await finder(generation(1, [tool('fixes', { examples: null }), tool('prints')]))
    expect(find('prints')).toEqual(['tool:prints'])
    expect(find('fixes')).toEqual(['tool:fixes'])
  })

  it('reads a parameter that says nothing about itself', async () => {
    const silent = tool('prints', { inputSchema: { properties: { page: null, size: true } } })
    const find = await finder(generation(1, [silent]))
    expect(find('page')).toEqual(['tool:prints'])
  })

  it('finds a tool by words that its declaration is to be found by', async () => {
    const find = await finder(generation(1, [tool('prints', { search: ['hardcopy'] })]))
    expect(find('hardcopy')).toEqual(['tool:prints'])
  })

  it('finds a unit by every part of it, its text to the end included', async () => {
    const body = `# Colour\n\n${'Plain words about nothing. '.repeat(400)}\n\nThe last is a zebra.`
    const facts = { aliases: ['tinting'], tags: ['paintwork'], summary: 'On dyes.', whenToUse: 'For fabrics.', body }
    const find = await finder(generation(1, [tool('prints')], [unit('guides/colour', facts)]))
    for (const query of ['colour', 'tinting', 'paintwork', 'dyes', 'fabrics', 'zebra'])
      expect(find(query)).toEqual(['guides/colour'])
  })

  it('follows what was added, changed and removed, and reads nothing else again', async () => {
    const docs = createDocIndex(CLOCK)
    let reads = 0
    const counted = Object.defineProperty(unit('kept'), 'tags', {
      get() {
        reads++
        return ['walrus']
      },
    })
    await finder(generation(1, [], [counted, unit('gone', { body: 'ibex' }), unit('edited', { body: 'lynx' })]), docs)
    const once = reads
    const edited = unit('edited', { body: 'otter', hash: 'new' })
    const find = await finder(generation(2, [], [counted, edited]), docs)
    // Every generation makes an entry of it, which reads them once; the first one's words were read too.
    expect([once, reads]).toEqual([2, 3])
    expect([find('walrus'), find('ibex'), find('lynx'), find('otter')]).toEqual([['kept'], [], [], ['edited']])
  })

  it('is brought up to date by the next who asks when it could not be once', async () => {
    const docs = createDocIndex(CLOCK)
    const broken = {
      number: 1,
      get tools(): never {
        throw new Error('gone')
      },
    }
    await expect(docs.upTo(broken as never)).rejects.toThrow('gone')
    const find = await finder(generation(2, [tool('prints')]), docs)
    expect(find('prints')).toEqual(['tool:prints'])
  })
})
