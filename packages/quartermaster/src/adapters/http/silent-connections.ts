import type { Server } from 'node:http'
import type { Socket } from 'node:net'

export interface SilentConnections {
  /** Ends those that were silent at the call before and are so still. */
  end(): void
}

/**
 * Connections over which nothing has come. Browsers and agents' clients open them to have one ready; Node takes them for busy,
 * so that closing would wait for them to its very end.
 */
export function createSilentConnections(server: Server): SilentConnections {
  const all = new Set<Socket>()
  let before: ReadonlySet<Socket> = new Set()
  server.on('connection', (socket: Socket) => {
    all.add(socket)
    socket.once('close', () => all.delete(socket))
  })
  return {
    end() {
      const silent = [...all].filter(({ bytesRead }) => bytesRead === 0)
      // A connection that has just been accepted may have a request with it that nobody had the time to read.
      for (const socket of silent) if (before.has(socket)) socket.destroy()
      before = new Set(silent)
    },
  }
}
