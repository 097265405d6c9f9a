import { describe, expect, it } from 'vitest'
import { parseChallenge } from './http-sender.ts'

const WANTED = { error: undefined, scope: 'read', resourceMetadata: 'https://a.example/meta' }
const BEARER = 'Bearer scope="read", resource_metadata="https://a.example/meta"'

describe('a challenge', () => {
  it.each([
    BEARER,
    BEARER.replace('Bearer', 'bearer '),
    BEARER.replace('Bearer', 'DPoP'),
    `Basic realm="x", ${BEARER}`,
    `Negotiate, ${BEARER}`,
    `Negotiate dG9rZW4=, ${BEARER}, Basic realm="y", scope="write"`,
    `Basic realm="Bearer scope=no, Bearer scope=\\"none\\"",${BEARER}`,
    `, ${BEARER}`,
    `Bearer realm="x", Basic realm="y", error="theirs", ${BEARER}`,
  ])('is what a server wants of a bearer of tokens, wherever it stands: %s', header => {
    expect(parseChallenge(header)).toEqual(WANTED)
  })

  it.each([
    undefined,
    '',
    'Basic realm="Bearer", scope="read"',
    'Basic realm=", Bearer scope=read"',
    'BearerOf scope="read"',
    'Basic bearer="x", scope="read"',
    'Bearer',
  ])('is none otherwise: %s', header => {
    expect(Object.values(parseChallenge(header)).filter(value => value !== undefined)).toEqual([])
  })

  it.each([
    'Bearer realm=My Realm, scope=read, resource_metadata=https://a.example/meta',
    'Bearer scope=read write, resource_metadata="https://a.example/meta"',
  ])('may have words in it that are not quoted: %s', header => {
    expect(parseChallenge(header)).toEqual(WANTED)
  })

  it.each(['a', '-', 'a ', 'a=', 'a="', ', ', 'Bearer ', 'a="\\', ' '])(
    'takes no longer to read than it is long, be it made of %j',
    piece => {
      const long = piece.repeat(200_000 / piece.length)
      for (const header of [`${long}!`, `Bearer ${long}"`, `Bearer a="${long}`]) parseChallenge(header)
      expect(parseChallenge(`${BEARER}, ${long}`)).toEqual(WANTED)
    },
  )

  it('takes the first of each of its fields, and what is quoted in it as it is meant', () => {
    const header = 'Bearer error=insufficient_scope, scope="a \\"b\\"", scope="c", Bearer scope="d"'
    expect(parseChallenge(header)).toMatchObject({ error: 'insufficient_scope', scope: 'a "b"' })
  })
})
