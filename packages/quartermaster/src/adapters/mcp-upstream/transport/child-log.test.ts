import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { type ChildLogOptions, createChildLog } from './child-log.ts'

function logWith(options: Partial<ChildLogOptions> = {}) {
  const clock = createFakeClock()
  const log = createChildLog({ clock, ...options })
  return { log, clock, texts: (limit = 10_000) => log.lines({ limit }).map(line => line.text) }
}

describe('the log of a server', () => {
  it('keeps who said what and when, to the millisecond', async () => {
    const { log, clock } = logWith()
    await clock.advance(0.6)
    log.add('stderr', 'starting')
    log.add('log', 'ready')
    log.add('gateway', 'It was restarted.')
    const at = Math.round(clock.now())
    expect(log.lines({ limit: 10 })).toEqual([
      { at, from: 'stderr', text: 'starting' },
      { at, from: 'log', text: 'ready' },
      { at, from: 'gateway', text: 'It was restarted.' },
    ])
    expect(log.lines({ limit: 1 })).toEqual([{ at, from: 'gateway', text: 'It was restarted.' }])
    expect(log.lines({ limit: 0 })).toEqual([])
  })

  it('knows whether its server has said anything, beside what was said about it', () => {
    const { log } = logWith()
    log.add('gateway', 'There is no such program.')
    expect(log.hasSpoken()).toBe(false)
    log.add('stderr', 'starting')
    log.add('gateway', 'It was restarted.')
    expect(log.hasSpoken()).toBe(true)
  })

  it('knows what a program writes in place of messages, until it sends one or ends', () => {
    const { log, texts } = logWith({ secrets: ['hunter2'] })
    expect(log.noise()).toBeUndefined()
    for (const over of ['onFirstMessage', 'end'] as const) {
      const run = log.begin(7)
      run.addNoise('Usage: frob')
      run.addNoise('  --key hunter2')
      expect(log.noise()).toBe('Usage: frob\n  --key [secret]\n')
      run[over]()
      expect(log.noise()).toBeUndefined()
    }
    expect(texts(2)).toEqual([
      'Not a message on its output: Usage: frob',
      'Not a message on its output:   --key [secret]',
    ])
    expect(log.hasSpoken()).toBe(true)
  })

  it('lays what one program writes to no other one, nor to one that has sent messages', () => {
    const { log } = logWith()
    const working = log.begin(7)
    working.onFirstMessage()
    working.addNoise('heartbeat')
    expect([working.noise(), log.noise()]).toEqual([undefined, undefined])
    const starting = log.begin(8)
    expect(log.noise()).toBeUndefined()
    starting.addNoise('Usage: frob')
    expect(log.noise()).toBe('Usage: frob\n')
    const beside = log.begin(9)
    expect(log.noise()).toBeUndefined()
    beside.end()
    expect([log.noise(), starting.noise()]).toEqual(['Usage: frob\n', 'Usage: frob\n'])
  })

  it('keeps control characters, which are for whoever shows it', () => {
    const { log, texts } = logWith()
    log.add('stderr', '\u001b[31mred\u001b[0m')
    expect(texts()).toEqual(['\u001b[31mred\u001b[0m'])
  })

  it('keeps the newest thousand lines', async () => {
    const { log, clock, texts } = logWith()
    for (let i = 0; i < 1_500; i++) {
      log.add('stderr', `line ${i}`)
      await clock.advance(10)
    }
    expect(texts()).toHaveLength(1_000)
    expect(texts(2)).toEqual(['line 1498', 'line 1499'])
  })

  it('keeps no more than 256 KiB', async () => {
    const { log, clock, texts } = logWith()
    for (let i = 0; i < 100; i++) {
      log.add('stderr', `${i} ${'x'.repeat(8_000)}`)
      await clock.advance(100)
    }
    const kept = texts()
    expect(kept.reduce((sum, text) => sum + text.length, 0)).toBeLessThanOrEqual(256 * 1024)
    expect(kept.length).toBeGreaterThan(30)
    expect(kept.at(-1)).toMatch(/^99 /)
  })

  it('cuts a long line, never through a character', () => {
    const { log, texts } = logWith()
    log.add('stderr', '世'.repeat(10_000_000))
    log.add('stderr', '世'.repeat(2_000))
    const [long = '', short] = texts()
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(8 * 1024)
    expect(long).toMatch(/^世{2700,}…$/)
    expect(short).toBe('世'.repeat(2_000))
  })

  it('keeps 200 lines a second and says how many it dropped', async () => {
    const { log, clock, texts } = logWith()
    for (let i = 0; i < 500; i++) log.add('stderr', `line ${i}`)
    expect(log.isFull('stderr')).toBe(true)
    log.drop('stderr', 1_000)
    await clock.advance(1_000)
    expect(log.isFull('stderr')).toBe(false)
    log.add('stderr', 'calm again')
    expect(texts(3)).toEqual(['line 199', '… 1300 lines were dropped', 'calm again'])
  })

  it('says so also when nothing more comes', () => {
    const { log, texts } = logWith()
    for (let i = 0; i < 201; i++) log.add('stderr', `line ${i}`)
    expect(texts(1)).toEqual(['… 1 line was dropped'])
    expect(texts()).toHaveLength(201)
  })

  it('hears everybody, however loud one is', () => {
    const { log, texts } = logWith()
    const run = log.begin(7)
    for (let i = 0; i < 500; i++) log.add('stderr', `line ${i}`)
    for (let i = 0; i < 500; i++) run.addNoise(`line ${i}`)
    log.add('gateway', 'It has ended.')
    expect(texts()).toContain('It has ended.')
  })
})

describe('a secret in the log', () => {
  const said = (text: string, ...secrets: string[]) => {
    const { log, texts } = logWith({ secrets })
    log.add('stderr', text)
    return texts()[0]
  }

  it('is replaced wherever it stands', () => {
    expect(said('key=hunter2, again hunter2', 'hunter2')).toBe('key=[secret], again [secret]')
    expect(said('a+b (c) ab', 'a+b', '(c)')).toBe('[secret] [secret] ab')
  })

  it('is replaced whole where one is part of another', () => {
    expect(said('the key is abcdef', 'abc', 'abcdef')).toBe('the key is [secret]')
    expect(said('e is the secret', 'e')).toBe('[secret] is th[secret] s[secret]cr[secret]t')
  })

  it('is known as JSON and addresses write it', () => {
    expect(said('{"key":"say \\"friend\\""}', 'say "friend"')).toBe('{"key":"[secret]"}')
    expect(said('GET /?key=a%20b%2Fc', 'a b/c')).toBe('GET /?key=[secret]')
  })

  it('is known by each of its lines', () => {
    const key = '-----BEGIN KEY-----\nMIIEvQIBADANBg\n}\n-----END KEY-----'
    expect(said('read MIIEvQIBADANBg ok }', key)).toBe('read [secret] ok }')
  })

  it('leaves no beginning where a line is cut', () => {
    const secret = `hunter2-${'x'.repeat(100)}`
    const text = said(`${'.'.repeat(8 * 1024 - 20)}${secret}`, secret)
    expect(text).not.toContain('hunter')
  })

  it('leaves no beginning where masks have made a line short enough to show where it was cut', () => {
    const secret = 'sk-live-4f9A7c2E8b1D6e3F0a5C9d2B7e4A1f8C3d6E'
    const text = said(`token ${secret} `.repeat(400), secret)
    expect(text).toMatch(/^(?:token \[secret\] ?)+t?o?k?e?n? ?…$/)
  })

  it('may become known later, and the newest of such are remembered', () => {
    const { log, texts } = logWith({ secrets: ['hunter2'] })
    log.hide('token-first', undefined, 'ab')
    for (let i = 0; i < 256; i++) log.hide(`token-${i}-of-many`)
    log.add('stderr', 'hunter2 token-0-of-many token-255-of-many token-first ab')
    expect(texts()).toEqual(['[secret] [secret] [secret] token-first ab'])
  })

  it('may be empty, and is nothing then', () => {
    expect(said('hello', '')).toBe('hello')
  })
})
