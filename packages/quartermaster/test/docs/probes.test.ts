import { describe, expect, it } from 'vitest'
import * as probes from '../../src/probes.ts'
import { readPage } from './pages.ts'

describe('docs/reference/probes.md', () => {
  it('explains every ready-made probe, and no other', () => {
    const { text } = readPage('docs/reference/probes.md')
    const explained = [...text.matchAll(/^## ([a-zA-Z]+)$/gm)].map(match => match[1])
    expect(explained.sort()).toEqual(Object.keys(probes).sort())
  })
})
