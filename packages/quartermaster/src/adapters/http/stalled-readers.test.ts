import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { cutStalledReaders, type WatchedSocket } from './listen.ts'

const STALLED_MS = 60_000
const LOOK_MS = 5_000

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** A connection over which so much was said, and of which its client reads as much as it is told to. */
function open() {
  vi.useFakeTimers()
  const socket = {
    bytesWritten: 0,
    writableLength: 0,
    _handle: { bytesWritten: 0, writeQueueSize: 0 },
    isCut: false,
    once: () => {},
    destroy: () => void (socket.isCut = true),
  }
  const server = new EventEmitter()
  cutStalledReaders(server as Server, { stalledReaderMs: STALLED_MS })
  server.emit('connection', socket satisfies WatchedSocket)
  return {
    socket,
    say(bytes: number) {
      socket.bytesWritten += bytes
      socket.writableLength += bytes
      socket._handle.bytesWritten += bytes
      socket._handle.writeQueueSize += bytes
    },
    /** All of a write is there until the last of it has gone. */
    read(bytes: number) {
      socket._handle.writeQueueSize -= bytes
      if (socket._handle.writeQueueSize === 0) socket.writableLength = 0
    },
    pass: (ms: number) => void vi.advanceTimersByTime(ms),
  }
}

describe('a reader that reads nothing', () => {
  it('is cut after a minute, and no later than the look behind that', () => {
    const { socket, say, pass } = open()
    say(1_000)
    pass(STALLED_MS)
    expect(socket.isCut).toBe(false)
    pass(LOOK_MS)
    expect(socket.isCut).toBe(true)
  })

  it('gets no more time by what is said to it meanwhile, nor by what it has read before', () => {
    const { socket, say, read, pass } = open()
    say(1_000)
    pass(30_000)
    read(10)
    for (let i = 0; i < 6; i++) {
      pass(2 * LOOK_MS)
      say(100)
    }
    expect(socket.isCut).toBe(false)
    pass(LOOK_MS)
    expect(socket.isCut).toBe(true)
  })
})

describe('a reader that is slow', () => {
  it('is never cut, however large the one answer is', () => {
    const { socket, say, read, pass } = open()
    say(1_000)
    for (let i = 0; i < 20; i++) {
      pass(STALLED_MS - LOOK_MS)
      read(1)
    }
    expect(socket.isCut).toBe(false)
  })

  it('is not cut because nobody looked for long, as when the machine slept', () => {
    const { socket, say, pass } = open()
    say(1_000)
    pass(LOOK_MS)
    const asleep = performance.now() + 3_600_000
    vi.spyOn(performance, 'now').mockReturnValue(asleep)
    vi.setSystemTime(Date.now() + 3_600_000)
    pass(LOOK_MS)
    expect(socket.isCut).toBe(false)
  })

  it('is not cut when there is nothing to read, for however long', () => {
    const { socket, say, read, pass } = open()
    say(1_000)
    pass(30_000)
    read(1_000)
    pass(10 * STALLED_MS)
    say(1)
    pass(STALLED_MS)
    expect(socket.isCut).toBe(false)
  })
})
