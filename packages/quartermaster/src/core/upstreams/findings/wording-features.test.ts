import { expect, it } from 'vitest'
import { plainText } from './plain-text.ts'
import { wordingFeatures, wordingWords } from './wording-features.ts'

const wordsOf = (text: string) => wordingWords(plainText(text))

it('are the same whichever form a word has', () => {
  expect(wordsOf('Passing requests')).toEqual(wordsOf('passes the request').filter(word => word !== 'the'))
})

it.each([
  ['https://a.test/x?y=1 and www.b.test', ['@url', 'and', '@url']],
  ['write to ada@mail.test', ['write', 'to', '@mail']],
  ['call send_mail, mail.send, x-y', ['call', '@name', '@name', 'x', 'y']],
  ['at most 1,000', ['at', 'most', '@number']],
  ['a: b; c=$d', ['a', ':', 'b', ';', 'c', '=', '$', 'd']],
])('say of what is named only what kind of name it is: %s', (text, words) => {
  expect(wordsOf(text)).toEqual(words)
})

it('know what lies on the way to a file', () => {
  expect(wordsOf('~/.ssh/config')).toEqual(['@path', '/ssh', '/config'])
  expect(wordsOf('the .env there')).toEqual(['the', '@path', '/env', 'there'])
})

it('are words, and pairs of words next to each other or one apart', () => {
  expect([...wordingFeatures(['a', 'b', 'c'])]).toEqual(['a', 'a+b', 'a~c', 'b', 'b+c', 'c'])
})

it('have no stem where nothing is that long', () => {
  const long = 'ing'.repeat(20)
  expect(wordingWords(long)).toEqual([long])
})
