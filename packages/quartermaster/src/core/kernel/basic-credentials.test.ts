import { expect, it } from 'vitest'
import { basicCredentials } from './index.ts'

it.each([
  ['http://ada:lovelace@desk.example', 'ada:lovelace'],
  ['http://ada%40home:p%3Aw@desk.example', 'ada@home:p:w'],
  ['http://ada:l%C3%B6v@desk.example', 'ada:löv'],
  ['http://ada:löv@desk.example', 'ada:löv'],
  ['http://ada@desk.example', 'ada:'],
  ['http://:secret@desk.example', ':secret'],
  ['http://us%er:100%@desk.example', 'us%er:100%'],
])('says who we are by %s', (url, pair) => {
  expect(basicCredentials(new URL(url))).toBe(`Basic ${Buffer.from(pair).toString('base64')}`)
})

it('passes on bytes that are no text as they are', () => {
  const pair = Buffer.from([0xff, 0x3a, 0x80])
  expect(basicCredentials(new URL('http://%FF:%80@desk.example'))).toBe(`Basic ${pair.toString('base64')}`)
})

it('says nothing by a URL that says nothing', () => {
  expect(basicCredentials(new URL('http://desk.example'))).toBeUndefined()
})
