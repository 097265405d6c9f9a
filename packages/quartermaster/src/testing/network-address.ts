import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'

/** Another address of this machine: that by which others reach it, where there is one. */
export const OTHER_ADDRESS =
  Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.2'

/** Whether a server accepts connections there. */
export function isReached(host: string, port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, host)
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
