import { connect } from 'node:net'
import type { Probe, ProbeVerdict } from '../../core/catalogue/index.ts'
import { down, onAbort, probeResultOf, UP } from './values.ts'

export interface TcpOptions {
  /** Default `127.0.0.1`. */
  readonly host?: string
  readonly port: number
}

/** Looks whether something accepts connections on a port. */
export function tcp({ host = '127.0.0.1', port }: TcpOptions): Probe {
  return {
    describe: { kind: 'tcp', host, port },
    run: ({ signal }) => {
      const isPort = Number.isInteger(port) && port > 0 && port < 65_536
      return isPort ? look(host, port, signal) : down(`${port} is not a port; one is a whole number from 1 to 65535.`)
    },
  }
}

function look(host: string, port: number, signal: AbortSignal): Promise<ProbeVerdict> {
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
  return new Promise<ProbeVerdict>((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const socket = connect({ host, port })
    const forget = onAbort(signal, () => socket.destroy(signal.reason))
    socket.once('connect', () => {
      resolve(UP)
      socket.destroy()
    })
    // Never removed: a destroyed socket may emit one more error, which would end the process without a listener.
    socket.on('error', error => {
      const verdict = signal.aborted ? undefined : probeResultOf(error, { host, address })
      if (verdict) resolve(verdict)
      else reject(error)
    })
    socket.once('close', forget)
  })
}
