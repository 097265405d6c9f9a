import { describe, expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { boundedStream } from './http-streams.ts'

const KILOBYTE = new Uint8Array(1024)

/** A stream whose source the test writes to, without looking whether anybody reads. */
function streamOf(maxBacklogBytes = 4 * 1024) {
  const events: string[] = []
  const cancelled = deferred()
  const ending = new AbortController()
  let write: ReadableStreamDefaultController<Uint8Array> | undefined
  const source = new ReadableStream<Uint8Array>({
    start: controller => {
      write = controller
    },
    cancel: () => cancelled.resolve(),
  })
  const stream = boundedStream(source, {
    maxBacklogBytes,
    signal: ending.signal,
    onEnd: () => events.push('end'),
    onCut: () => events.push('cut'),
  })
  return {
    stream,
    events,
    cancelled: cancelled.promise,
    ending,
    send: (bytes: Uint8Array) => write?.enqueue(bytes),
    done: () => write?.close(),
  }
}

describe('a stream', () => {
  it('delivers every byte in order', async () => {
    const { stream, send, done, events } = streamOf()
    for (const byte of [1, 2, 3]) send(new Uint8Array([byte]))
    done()
    expect([...new Uint8Array(await new Response(stream).arrayBuffer())]).toEqual([1, 2, 3])
    expect(events).toEqual(['end'])
  })

  it('ends after the queued bytes for a reader that falls behind, and cancels its source', async () => {
    const { stream, send, cancelled, events } = streamOf()
    for (let sent = 0; sent < 10; sent++) send(KILOBYTE)
    await cancelled
    expect(events).toEqual(['cut'])
    expect((await new Response(stream).arrayBuffer()).byteLength).toBe(4 * 1024)
    expect(events).toEqual(['cut', 'end'])
  })

  it('carries one message of any size', async () => {
    const { stream, send, done } = streamOf()
    send(new Uint8Array(1024 * 1024))
    done()
    expect((await new Response(stream).arrayBuffer()).byteLength).toBe(1024 * 1024)
  })

  it('is not cut for a reader that keeps up', async () => {
    const { stream, send, done, events } = streamOf()
    const reader = stream.getReader()
    for (let sent = 0; sent < 100; sent++) {
      send(KILOBYTE)
      expect((await reader.read()).value?.byteLength).toBe(1024)
    }
    done()
    expect((await reader.read()).done).toBe(true)
    expect(events).toEqual(['end'])
  })

  it('ends when it is aborted, and when its reader disconnects', async () => {
    const ended = streamOf()
    ended.ending.abort()
    expect((await new Response(ended.stream).arrayBuffer()).byteLength).toBe(0)
    await ended.cancelled
    expect(ended.events).toEqual(['end'])
    const left = streamOf()
    await left.stream.cancel()
    await left.cancelled
    expect(left.events).toEqual(['end'])
  })
})
