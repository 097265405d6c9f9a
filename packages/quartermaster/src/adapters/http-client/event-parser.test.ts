import { describe, expect, it } from 'vitest'
import { createEventParser, type ServerEvent } from './index.ts'

function eventsIn(chunks: readonly string[], maxBytes = 100) {
  const events: ServerEvent[] = []
  const retries: number[] = []
  const parse = createEventParser({
    maxBytes,
    onEvent: event => void events.push(event),
    onRetry: ms => void retries.push(ms),
  })
  for (const chunk of chunks) parse(Buffer.from(chunk))
  return { events, retries }
}

describe('server-sent events', () => {
  it.each([
    [['data: a\n\n'], [{ type: 'message', data: 'a' }]],
    [['data:a\r\n\r\n'], [{ type: 'message', data: 'a' }]],
    [
      ['data: a\r\r', 'data: b\r', '\ndata: c\r\n', '\r\n'],
      [
        { type: 'message', data: 'a' },
        { type: 'message', data: 'b\nc' },
      ],
    ],
    [['data: a\r', 'data: b\r\r\n'], [{ type: 'message', data: 'a\nb' }]],
    [['\u{FEFF}data: a\n\n\u{FEFF}data: b\n\n'], [{ type: 'message', data: 'a' }]],
    [['da', 'ta: a\ndata:  b\n', '\n'], [{ type: 'message', data: 'a\n b' }]],
    [['id: 7\nevent: x\ndata: a\n\n'], [{ id: '7', type: 'x', data: 'a' }]],
    [['id: 7\n\n'], [{ id: '7', type: 'message', data: '' }]],
    [['data\n\n'], [{ type: 'message', data: '' }]],
    [[': comment\n\n', 'other: x\n\n', 'data: never ended\n'], []],
  ])('of %j are %j', (chunks, events) => {
    expect(eventsIn(chunks).events).toEqual(events)
  })

  it('put characters together that arrive in pieces', () => {
    const bytes = Buffer.from('data: ü\n\n')
    const events: ServerEvent[] = []
    const parse = createEventParser({ maxBytes: 100, onEvent: event => void events.push(event), onRetry: () => {} })
    for (const byte of bytes) parse(Buffer.of(byte))
    expect(events).toEqual([{ type: 'message', data: 'ü' }])
  })

  it('say how long to wait, in digits', () => {
    expect(eventsIn(['retry: 300\n', 'retry: soon\n', 'retry: -1\n']).retries).toEqual([300])
  })

  it('are refused beyond the limit, in one line or in many; comments do not add up', () => {
    expect(() => eventsIn([`data: ${'x'.repeat(100)}`])).toThrow(/longer than 100 bytes/)
    expect(() => eventsIn([`data: ${'x'.repeat(40)}\n`.repeat(3)])).toThrow(/longer than 100 bytes/)
    expect(eventsIn([': ping\n'.repeat(100), 'data: a\n\n']).events).toHaveLength(1)
  })
})
