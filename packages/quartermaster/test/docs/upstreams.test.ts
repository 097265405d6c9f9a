import { describe, expect, it } from 'vitest'
import { HttpEntry, StdioEntry, ToolExample, UpstreamToolOptions } from '../../src/contracts/index.ts'
import { readPage, tableBelow } from './pages.ts'

const page = readPage('docs/reference/upstreams.md')

const keysBelow = (heading: string) => tableBelow(page, heading).map(([key = '']) => key.replaceAll('`', ''))

describe('docs/reference/upstreams.md', () => {
  it.each([
    ['## A program', StdioEntry],
    ['## An address', HttpEntry],
  ])('has every field of an entry, and no other: %s', (heading, schema) => {
    const written = [...keysBelow(heading), ...keysBelow('## Both')]
    expect(written.toSorted()).toEqual(Object.keys(schema.shape).toSorted())
  })

  it('has every field of a tool, and no other', () => {
    expect(keysBelow('## A tool').toSorted()).toEqual(Object.keys(UpstreamToolOptions.shape).toSorted())
  })

  it('names every key of an example', () => {
    const row = tableBelow(page, '## A tool').find(([key]) => key === '`examples`')
    for (const key of Object.keys(ToolExample.shape)) expect(row?.[1]).toContain(`\`${key}\``)
  })
})
