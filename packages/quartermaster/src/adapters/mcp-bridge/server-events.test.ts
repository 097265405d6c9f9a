import { describe, expect, it } from 'vitest'
import { readEvents } from './exchange.ts'

async function eventsOf(...chunks: (string | Buffer)[]): Promise<string[]> {
  const body = async function* () {
    for (const chunk of chunks) yield Buffer.from(chunk)
  }
  const events: string[] = []
  for await (const event of readEvents(body())) events.push(event)
  return events
}

describe('events of a stream', () => {
  it.each([
    { chunks: ['event: message\ndata: {"a":1}\n\n'], events: ['{"a":1}'] },
    { chunks: ['data:x\n\ndata: y\n\n'], events: ['x', 'y'] },
    { chunks: ['data: x\r\n\r\n'], events: ['x'] },
    { chunks: ['data: a\ndata: b\n\n'], events: ['a\nb'] },
    { chunks: [': keepalive\n\n', 'id: 4\n\n', 'data: x\n\n'], events: ['x'] },
    { chunks: ['da', 'ta: x', '\n', '\ndata: y\n'], events: ['x'] },
    { chunks: [Buffer.from('data: ü\n\n').subarray(0, 7), Buffer.from('data: ü\n\n').subarray(7)], events: ['ü'] },
  ])('are $events', async ({ chunks, events }) => {
    expect(await eventsOf(...chunks)).toEqual(events)
  })
})
