import { describe, expect, it } from 'vitest'
import { sha256 } from '../../adapters/system/index.ts'
import { Name } from '../../contracts/index.ts'
import { type OfferedNamesOptions, offeredNames } from './index.ts'

const namesFor = (names: readonly string[], more: Partial<OfferedNamesOptions> = {}) =>
  offeredNames({ upstream: 'git', prefix: 'git', names, digest: sha256, ...more })
const digestOf = (own: string) => sha256(own).slice(0, 8)

describe('the names under which things of a server are offered', () => {
  it('begin with the prefix', () => {
    expect(Object.fromEntries(namesFor(['log', 'read-file']).names)).toEqual({
      log: 'git_log',
      'read-file': 'git_read-file',
    })
  })

  it('are the server’s own without a prefix', () => {
    expect(namesFor(['log'], { prefix: false }).names.get('log')).toBe('log')
  })

  it('have "_" for every character that some runtime refuses', () => {
    expect(namesFor(['a.b/c d', 'ä']).names).toEqual(
      new Map([
        ['a.b/c d', 'git_a_b_c_d'],
        ['ä', 'git__'],
      ]),
    )
  })

  it('are cut to 64 characters and told apart by a digest', () => {
    const [one, two] = ['1', '2'].map(end => 'x'.repeat(80) + end) as [string, string]
    const { names, problems } = namesFor([one, two])
    expect(names.get(one)).toBe(`git_${'x'.repeat(51)}_${digestOf(one)}`)
    expect(new Set(names.values()).size).toBe(2)
    for (const name of names.values()) expect(Name.safeParse(name).success).toBe(true)
    expect(problems).toEqual([])
  })

  it('stay with the one that is spelled so where two would be the same, and the other is told of', () => {
    const { names, problems } = namesFor(['a.b', 'a_b'])
    expect(names.get('a_b')).toBe('git_a_b')
    expect(names.get('a.b')).toBe(`git_a_b_${digestOf('a.b')}`)
    expect(problems).toMatchObject([
      {
        severity: 'warning',
        where: 'upstream:git',
        subject: 'tool:a.b',
        message: expect.stringContaining('"git_a_b"'),
      },
    ])
  })

  it('get a digest each where none is spelled so', () => {
    expect([...namesFor(['a.b', 'a/b']).names.values()].toSorted()).toEqual(
      [`git_a_b_${digestOf('a.b')}`, `git_a_b_${digestOf('a/b')}`].toSorted(),
    )
  })

  it('do not depend on the order of the list', () => {
    const names = ['a.b', 'a_b', 'a/b', 'x'.repeat(90), 'plain']
    const inOrder = Object.fromEntries(namesFor(names).names)
    expect(Object.fromEntries(namesFor(names.toReversed()).names)).toEqual(inOrder)
  })

  it('are those of the configuration where it gives some, without the prefix', () => {
    const { names, problems } = namesFor(['a', 'b'], { given: new Map([['a', 'git_b']]) })
    expect(names.get('a')).toBe('git_b')
    expect(names.get('b')).toBe(`git_b_${digestOf('b')}`)
    expect(problems).toHaveLength(1)
  })

  it('are given to one only where the configuration gives one twice', () => {
    const given = new Map([
      ['a', 'same'],
      ['b', 'same'],
    ])
    const { names, problems } = namesFor(['a', 'b'], { given })
    expect(Object.fromEntries(names)).toEqual({ a: 'same', b: 'git_b' })
    expect(problems).toMatchObject([{ subject: 'tool:b' }])
  })

  it('are never words that mean something to every object', () => {
    for (const own of ['__proto__', 'constructor', 'prototype'])
      expect(namesFor([own], { prefix: false }).names.get(own)).toBe(`${own}_${digestOf(own)}`)
  })

  it('cannot be taken away by a server that guesses the digest', () => {
    const guess = `a_b_${digestOf('a.b')}`
    const { names } = namesFor(['a.b', 'a_b', guess])
    expect(names.get(guess)).toBe(`git_${guess}`)
    expect(new Set(names.values()).size).toBe(3)
  })

  it('say of what they are names when something is wrong', () => {
    expect(namesFor(['a.b', 'a_b'], { kind: 'prompt' }).problems).toMatchObject([
      { subject: 'prompt:a.b', fix: expect.stringContaining('"prompts": false') },
    ])
  })
})
