import type { Server } from 'node:http'
import type { Socket } from 'node:net'

export interface StalledReadersOptions {
  /** How long a client may leave what was sent to it unread. */
  readonly stalledReaderMs: number
}

/** Connections of whose answers something waits to be read. */
interface StalledReaders {
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

/** So often is looked in the time that a reader has: that much later than it should be one is cut at most. */
const LOOKS = 12

/** What the system had taken, and how often it was found to be no more since. */
interface Stall {
  readonly taken: number
  readonly looks: number
}

/**
 * Looks are counted, and not the time between them: a machine that slept, or a process that stood still, has given nobody the
 * chance to read meanwhile.
 */
function createStalledReaders(): StalledReaders {
  const watched = new Map<WatchedSocket, Stall | undefined>()

  function lookAt(socket: WatchedSocket, stall: Stall | undefined): void {
    // A connection over which there is nothing to say may be silent for as long as it likes.
    if (socket.writableLength === 0) return void watched.set(socket, undefined)
    const taken = takenOf(socket)
    const looks = stall?.taken === taken ? stall.looks + 1 : 0
    if (looks >= LOOKS) socket.destroy()
    else watched.set(socket, { taken, looks })
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

/**
 * Cuts clients that do not read. Node's own time limit for sockets begins anew when it finds that something was read since the last
 * one, and with every byte that comes in, so that it takes twice as long or never ends.
 */
export function cutStalledReaders(server: Server, { stalledReaderMs }: StalledReadersOptions): void {
  const readers = createStalledReaders()
  server.on('connection', readers.watch)
  const timer = setInterval(readers.look, Math.max(1, stalledReaderMs / LOOKS))
  // What is open keeps the process; this alone does not.
  timer.unref()
  server.once('close', () => clearInterval(timer))
}
