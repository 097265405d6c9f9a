import { connect, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A way to a server that can be cut. */
export interface TestProxy {
  /** The same database by this way. */
  readonly url: string
  /** From now on answers do not come through; questions do. */
  swallowAnswers(): void
  /** Ends every connection without a word, and lets new ones through. */
  cut(): void
  /** Ends every connection on this side alone: the server hears nothing of it. */
  lose(): void
}

export async function testProxy(url: string): Promise<TestProxy> {
  const target = new URL(url)
  const [port, host] = [Number(target.port === '' ? 5432 : target.port), target.hostname]
  const sockets = new Set<Socket>()
  const clients = new Set<Socket>()
  let isOneSided = false
  let isMute = false
  const server = createServer(client => {
    const upstream = connect(port, host)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => isOneSided || [client, upstream].forEach(one => one.destroy()))
    }
    clients.add(client)
    client.on('data', data => upstream.write(data))
    upstream.on('data', data => isMute || client.write(data))
  })
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  target.hostname = '127.0.0.1'
  target.port = String(await portOf(server))
  return {
    url: target.href,
    swallowAnswers: () => {
      isMute = true
    },
    cut() {
      isMute = false
      for (const socket of sockets) socket.destroy()
      sockets.clear()
    },
    lose() {
      isOneSided = true
      for (const client of clients) client.destroy()
      clients.clear()
    },
  }
}

function portOf(server: Server): Promise<number> {
  return new Promise(resolve => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })
}
