import type { Server } from 'node:http'
import type { Socket } from 'node:net'

export interface SilentConnections {
  end(): void
}

/**
 * Connections over which nothing has come. Browsers and agents' clients open them to have one ready; Node takes them for busy,
 * so that closing would wait for them to its very end.
 */
export function createSilentConnections(server: Server): SilentConnections {
  const all = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    all.add(socket)
    socket.once('close', () => all.delete(socket))
  })
  return {
    end() {
      for (const socket of all) if (socket.bytesRead === 0) socket.destroy()
    },
  }
}
