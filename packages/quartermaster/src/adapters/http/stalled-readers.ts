import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** Connections of whose answers something waits to be read. */
export interface StalledReaders {
  watch(socket: WatchedSocket): void
  /** Cuts those that have read nothing for too long. */
  look(): void
}

/** As much of a socket as is looked at. */
export interface WatchedSocket extends Pick<Socket, 'bytesWritten' | 'writableLength'> {
  /**
   * Node tells only here how much of what it was given the system has taken. Without it a large answer would count as unread
   * until all of it is gone, and a reader that is merely slow would be cut.
   */
  readonly _handle?: { readonly bytesWritten?: number; readonly writeQueueSize?: number } | null
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
}

export interface StalledReadersDeps {
  /** How long a client may leave what was sent to it unread. */
  readonly stalledReaderMs: number
  /** A time that nobody puts back. */
  now(): number
}

/** What the system had taken at the first look that found it so. */
interface Stall {
  readonly taken: number
  readonly since: number
}

export function createStalledReaders({ stalledReaderMs, now }: StalledReadersDeps): StalledReaders {
  const watched = new Map<WatchedSocket, Stall | undefined>()

  function lookAt(socket: WatchedSocket, stall: Stall | undefined): void {
    // A connection over which there is nothing to say may be silent for as long as it likes.
    if (socket.writableLength === 0) return void watched.set(socket, undefined)
    const taken = takenOf(socket)
    if (stall?.taken !== taken) watched.set(socket, { taken, since: now() })
    else if (now() - stall.since >= stalledReaderMs) socket.destroy()
  }

  return {
    watch(socket) {
      watched.set(socket, undefined)
      socket.once('close', () => watched.delete(socket))
    },
    look() {
      for (const [socket, stall] of [...watched]) lookAt(socket, stall)
    },
  }
}

function takenOf({ bytesWritten, writableLength, _handle: handle }: WatchedSocket): number {
  const { bytesWritten: given, writeQueueSize: left } = handle ?? {}
  return given === undefined || left === undefined ? bytesWritten - writableLength : given - left
}

/** So often in the time that a reader has: that much later than it should be one is cut at most. */
const LOOKS = 12

/**
 * Cuts clients that do not read. Node's own time limit for sockets begins anew when it finds that something was read since the last
 * one, and with every byte that comes in, so that it takes twice as long or never ends.
 */
export function cutStalledReaders(server: Server, { stalledReaderMs }: Pick<StalledReadersDeps, 'stalledReaderMs'>) {
  const readers = createStalledReaders({ stalledReaderMs, now: () => performance.now() })
  server.on('connection', readers.watch)
  const timer = setInterval(readers.look, Math.max(1, stalledReaderMs / LOOKS))
  // What is open keeps the process; this alone does not.
  timer.unref()
  server.once('close', () => clearInterval(timer))
}
