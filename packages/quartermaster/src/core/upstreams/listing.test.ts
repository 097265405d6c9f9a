import { describe, expect, it } from 'vitest'
import { sha256 } from '../../adapters/system/index.ts'
import { runToEnd } from '../kernel/index.ts'
import { LISTING_LIMITS, type Listing, readListing } from './index.ts'

const read = (listing: Partial<Listing>, limits = LISTING_LIMITS) =>
  runToEnd(readListing('github', { server: {}, ...listing }, { digest: sha256, limits }))
const placesOf = ({ definitions }: ReturnType<typeof read>) => definitions.map(({ kind, name }) => `${kind}:${name}`)

describe('what can be pinned of a listing', () => {
  it('is everything that has a name, of every kind', () => {
    const seen = read({
      tools: [{ name: 'a' }],
      prompts: [{ name: 'a' }],
      resources: [{ uri: 'x://a', name: 'A' }],
      templates: [{ uriTemplate: 'x://{a}', name: 'A' }],
    })
    expect(placesOf(seen)).toEqual(['server:server', 'tool:a', 'prompt:a', 'resource:x://a', 'template:x://{a}'])
    expect(seen.problems).toEqual([])
  })

  it('is hashed as it came, the order of its keys included', () => {
    const hashOf = (tool: object) => read({ tools: [tool] }).definitions[1]?.hash
    expect(hashOf({ name: 'a', b: 1 })).toBe(sha256('{"name":"a","b":1}'))
    expect(hashOf({ name: 'a', b: 1 })).not.toBe(hashOf({ b: 1, name: 'a' }))
  })

  it('is of a server its name, title and instructions, and not its version', () => {
    const hashOf = (server: unknown) => read({ server }).definitions[0]?.hash
    const server = { name: 's', title: 'S', instructions: 'Read.' }
    expect(hashOf({ ...server, version: '1' })).toBe(hashOf({ ...server, version: '2' }))
    expect(hashOf(server)).not.toBe(hashOf({ ...server, instructions: 'Write.' }))
    expect(hashOf('nonsense')).toBe(hashOf({}))
    expect(hashOf({ instructions: 'x'.repeat(1024 * 1024) })).toBe(hashOf({}))
  })

  it('tells of lists that were not read to their end', () => {
    const { definitions, problems } = read({ tools: [{ name: 'a' }], cut: ['tools', 'templates'] })
    expect(definitions).toHaveLength(2)
    expect(problems.map(({ message }) => message)).toEqual([
      'The list of the tools of "github" has no end, or one too far away. What was read of it is used.',
      'The list of the templates of resources of "github" has no end, or one too far away. What was read of it is used.',
    ])
  })

  it('says which kinds could be asked for', () => {
    expect([...read({ tools: [] }).kinds]).toEqual(['server', 'tool'])
  })

  it.each([
    ['no record', 'text', 'it has none'],
    ['null', null, 'it has none'],
    ['no name', {}, 'it has none'],
    ['an empty name', { name: '' }, 'it has none'],
    ['a number for a name', { name: 7 }, 'it has none'],
    ['a name of a kilobyte', { name: 'x'.repeat(1024) }, 'it is longer than 256 characters'],
    ['NUL in its name', { name: 'a\0' }, 'it holds NUL or half a character'],
    ['half a character in its name', { name: 'a\ud800' }, 'it holds NUL or half a character'],
  ])('is not what has %s, told by its place', (_what, tool, fault) => {
    const seen = read({ tools: [{ name: 'b' }, tool] })
    expect(placesOf(seen)).toEqual(['server:server', 'tool:b'])
    const message = `The tool at place 2 of those listed has no usable name: ${fault}.`
    expect(seen.problems).toMatchObject([{ severity: 'warning', where: 'upstream:github', message }])
  })

  it('is the first of two with the same name', () => {
    const seen = read({
      tools: [
        { name: 'a', description: '1' },
        { name: 'a', description: '2' },
      ],
    })
    expect(seen.definitions.map(({ value }) => value.description)).toEqual([undefined, '1'])
    expect(seen.problems).toMatchObject([{ subject: 'tool:a' }])
  })

  it('is not what nests deeper than anybody can follow, or is too large', () => {
    let deep: unknown = {}
    for (let i = 0; i < 200_000; i++) deep = [deep]
    const seen = read({ tools: [{ name: 'deep', deep }, { name: 'large', text: 'x'.repeat(600_000) }, { name: 'b' }] })
    expect(placesOf(seen)).toEqual(['server:server', 'tool:b'])
    expect(seen.problems).toHaveLength(2)
  })

  it('ends at 2,000 definitions and 8 MiB, and says how many are left', () => {
    const many = Array.from({ length: 100_000 }, (_, i) => ({ name: `t${i}` }))
    const seen = read({ tools: many })
    expect(seen.definitions.filter(({ kind }) => kind === 'tool')).toHaveLength(2_000)
    const told = expect.stringContaining('2000 definitions are used, 98000 are not')
    expect(seen.problems).toMatchObject([{ message: told }])
    const large = Array.from({ length: 100 }, (_, i) => ({ name: `t${i}`, text: 'x'.repeat(500_000) }))
    expect(read({ tools: large }).definitions.length).toBe(17)
  })

  it('tells of twenty bad ones and no more', () => {
    expect(read({ tools: Array.from({ length: 500 }, () => 7) }).problems).toHaveLength(20)
  })
})
