import { describe, expect, it } from 'vitest'
import { cut, displayWidth, wrap } from './layout.ts'
import { aheadInWords, inWords, parseDuration } from './units.ts'

describe('display width', () => {
  it.each([
    ['été', 3],
    ['e\u0301', 1],
    ['天気', 4],
    ['👩‍👩‍👧', 2],
    ['🇨🇭', 2],
    ['a\u200bb', 2],
  ])('of %j is %i', (text, width) => {
    expect(displayWidth(text)).toBe(width)
  })

  it('decides where a text is cut, never inside a character', () => {
    expect(cut('天気予報', 5)).toBe('天気…')
    expect(cut('abc', 3)).toBe('abc')
    expect(cut('abc', 0)).toBe('')
  })

  it('decides where lines break, and breaks long words', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
    expect(wrap('天気予報', 4)).toEqual(['天気', '予報'])
    expect(wrap('abcdefgh ij', 3)).toEqual(['abc', 'def', 'gh', 'ij'])
    expect(wrap('天', 1)).toEqual(['天'])
  })
})

describe('durations', () => {
  it.each([['1.5s', 1_500]])('reads %s as %i ms', (text, ms) => {
    expect(parseDuration(text)).toEqual({ ms })
  })

  it.each([
    [20, 'less than a second'],
    [185_000, '3 minutes'],
    [172_800_000, '2 days'],
  ])('says %i ms as %s', (ms, words) => {
    expect(inWords(ms)).toBe(words)
  })

  it.each([
    [59_999, '60 seconds'],
    [86_399_000, '24 hours'],
  ])('says %i ms that lie ahead as %s', (ms, words) => {
    expect(aheadInWords(ms)).toBe(words)
  })
})
