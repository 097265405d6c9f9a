import { describe, expect, it } from 'vitest'
import type { Tool } from '../../core/catalogue/index.ts'
import { createToolIndex } from './tool-index.ts'

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

const generation = (number: number, tools: readonly Tool[]) =>
  ({ number, tools: new Map(tools.map(one => [one.name, one])) }) as never

const ALL = { limit: 10, filter: () => true }

describe('the index of tools', () => {
  it('finds a tool whose words cannot be read by its name, and all others as ever', async () => {
    const unreadable = tool('mends', { examples: null })
    const index = await createToolIndex().upTo(generation(1, [unreadable, tool('prints')]))
    expect(index.search('prints', ALL).map(({ value }) => value)).toEqual(['prints'])
    expect(index.search('mends', ALL).map(({ value }) => value)).toEqual(['mends'])
  })

  it('reads a parameter that says nothing about itself', async () => {
    const silent = tool('prints', { inputSchema: { properties: { page: null, size: true } } })
    const index = await createToolIndex().upTo(generation(1, [silent]))
    expect(index.search('page', ALL).map(({ value }) => value)).toEqual(['prints'])
  })

  it('is brought up to date by the next who asks when it could not be once', async () => {
    const tools = createToolIndex()
    const broken = {
      number: 1,
      get tools(): never {
        throw new Error('gone')
      },
    }
    await expect(tools.upTo(broken as never)).rejects.toThrow('gone')
    const index = await tools.upTo(generation(2, [tool('prints')]))
    expect(index.search('prints', ALL).map(({ value }) => value)).toEqual(['prints'])
  })
})
