import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Log } from '../../core/kernel/index.ts'
import { createIds, createJsonLog, sha256 } from './index.ts'

function lineOf(write: (log: Log) => void): { text: string; json: Record<string, unknown> } {
  const lines: string[] = []
  write(createJsonLog({ write: line => lines.push(line), level: () => 'debug' }))
  expect(lines).toHaveLength(1)
  const [text = ''] = lines
  expect(text.indexOf('\n')).toBe(text.length - 1)
  return { text, json: JSON.parse(text) }
}

const ids = createIds()
const token = ids.secret('qm')
const adminToken = randomBytes(32).toString('base64url')

describe('a log line', () => {
  it('is one JSON object with time, level, message and facts', () => {
    const { json } = lineOf(log => log.warn('two\nlines', { operationId: 'op_1', nested: { a: [1, null, true] } }))
    expect(json).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      level: 'warn',
      message: 'two\nlines',
      operationId: 'op_1',
      nested: { a: [1, null, true] },
    })
  })

  it('holds nothing that a terminal could act on, and says the same', () => {
    const strange = 'a\u009b2J\u202eb\u{e0041}\u2060'
    const { text, json } = lineOf(log => log.warn(strange, { [strange]: strange }))
    expect(text).not.toMatch(/[\u009b\u202e\u2060]|\u{e0041}/u)
    expect(json).toMatchObject({ message: strange, [strange]: strange })
  })

  it('keeps its own time, level and message whatever the facts say', () => {
    const { json } = lineOf(log => log.info('real', { message: 'forged', level: 'error', time: 'never' }))
    expect(json).toMatchObject({ message: 'real', level: 'info', time: expect.stringContaining('T') })
  })

  it.each([
    ['the message', (log: Log, secret: string) => log.info(`sent ${secret} away`)],
    ['a fact', (log: Log, secret: string) => log.info('x', { header: `Bearer ${secret}` })],
    ['a deep fact', (log: Log, secret: string) => log.info('x', { a: [{ b: { c: `"${secret}"` } }] })],
    ['an error', (log: Log, secret: string) => log.info('x', { error: new Error(`bad: ${secret}`) })],
    ['a value with a form of its own', (log: Log, secret: string) => log.info('x', { a: { toJSON: () => secret } })],
  ])('holds no token of ours in %s', (_where, write) => {
    for (const secret of [token, adminToken]) {
      const { text } = lineOf(log => write(log, secret))
      expect(text).not.toContain(secret)
      expect(text).toContain('[redacted]')
    }
  })

  it.each([
    ['authorization', 'Basic dXNlcjpwYXNz'],
    ['Authorization', 'x'],
    ['apiKey', 'short'],
    ['api_key', 'short'],
    ['client_secret', 'short'],
    ['token', 'short'],
    ['password', 'short'],
    ['set-cookie', 'a=b'],
    ['accessToken', 'short'],
    ['refreshToken', 'short'],
    ['clientSecret', 'short'],
    ['dbPassword', 'short'],
    ['DBPassword', 'short'],
    ['myAPIKey', 'short'],
    ['token', ['short', 'shorter']],
    ['secret', { part: 'short' }],
    ['password', 1234],
  ])('hides a field whose name says that it is secret: %s', (name, value) => {
    expect(lineOf(log => log.info('x', { headers: { [name]: value } })).json).toMatchObject({
      headers: { [name]: '[redacted]' },
    })
  })

  it('hides credentials of others in texts', () => {
    const { text } = lineOf(log =>
      log.info('GET https://user:hunter2@example.org failed', { error: 'sent Authorization: Bearer sk-abcdef123456' }),
    )
    expect(text).not.toMatch(/hunter2|sk-abc/)
  })

  it.each([
    `Authorization=Bearer%20qm_${'aB3-'.repeat(10)}xyz`,
    `"failed:\\nqm_${'aB3-'.repeat(10)}xyz"`,
    'Bearer azfgkAhWnRPDCTaz was refused',
    'bearer eyJ/abc.def',
    'sent Basic I/AILuIfjAZxSsMZ',
    'https://ada:hunter2@example.org',
  ])('hides credentials as they travel: %s', text => {
    const { message } = lineOf(log => log.info(text)).json
    expect(message).toContain('[redacted]')
    expect(message).not.toMatch(/aB3-|azfgk|eyJ|I\/AIL|hunter2|ada/)
  })

  it.each([
    'everything_get-annotated-message-of-server1',
    'modelcontextprotocol-server-filesystem_read',
    'playwright_browser_network_requests_replay2',
    'chrome-devtools-mcp_performance_start_trace',
  ])('spares a name as long as a token of ours: %s', name => {
    expect(name).toHaveLength(43)
    expect(lineOf(log => log.info('x', { subject: `tool:${name}` })).json).toMatchObject({ subject: `tool:${name}` })
  })

  it('spares hashes, paths, ids and plain words', () => {
    const facts = {
      digest: sha256('x'),
      commit: 'f0c9d74a9c1be0d1b0f9f1a7f0e8f34cf5f0a001',
      path: `/srv/${'a'.repeat(43)}/node_modules/@scope/${'b'.repeat(43)}.js:12:7`,
      operationId: ids.next('op'),
      tokenId: ids.next('tok'),
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      hasToken: true,
      token: null,
      nonsecretive: 'plain',
      maxTokens: 5,
      sentence: 'The bearer of bad news: basic facts and secret agents.',
    }
    expect(lineOf(log => log.info('x', facts)).json).toMatchObject(facts)
  })

  it('is written whatever it is given', () => {
    const cyclic: Record<string, unknown> = { big: 12n, gone: undefined }
    cyclic.self = cyclic
    Object.defineProperty(cyclic, 'broken', {
      enumerable: true,
      get() {
        throw new Error('no')
      },
    })
    const deep = JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`)
    const { json } = lineOf(log => log.info('x', { cyclic, deep, long: 'x'.repeat(1_000_000) }))
    expect(json).toMatchObject({ level: 'info', message: 'x' })
    expect(String(json.long).length).toBeLessThan(20_000)
  })
})
