import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { type ChildLogOptions, createChildLog } from './child-log.ts'

function logWith(options: Partial<ChildLogOptions> = {}) {
  const clock = createFakeClock()
  const log = createChildLog({ clock, ...options })
  return { log, clock, texts: (limit = 10_000) => log.lines({ limit }).map(line => line.text) }
}

describe('the log of a server', () => {
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
  it('leaves no beginning where a line is cut', () => {
    const secret = `hunter2-${'x'.repeat(100)}`
    const text = said(`${'.'.repeat(8 * 1024 - 20)}${secret}`, secret)
    expect(text).not.toContain('hunter')
  })
  it('may become known later, and the newest of such are remembered', () => {
    const { log, texts } = logWith({ secrets: ['hunter2'] })
    log.hide('token-first', undefined, 'ab')
    for (let i = 0; i < 256; i++) log.hide(`token-${i}-of-many`)
    log.add('stderr', 'hunter2 token-0-of-many token-255-of-many token-first ab')
    expect(texts()).toEqual(['[secret] [secret] [secret] token-first ab'])
  })
})
