import { Agent, type IncomingMessage, request as sendRequest } from 'node:http'
import { pipeline } from 'node:stream/promises'

export interface ExchangeRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** A text, or pieces that are sent as they come. What goes wrong with these is the cause of `Dropped`. */
  readonly body?: string | AsyncIterable<Uint8Array>
  readonly signal: AbortSignal
}

/** Sends requests and answers with what comes back, its body not yet read. Rejects with `Dropped`. */
export interface HttpExchange {
  send(request: ExchangeRequest): Promise<IncomingMessage>
  /** Closes the connections that wait for another use. */
  close(): void
}

/** The connection ended before there was an answer. */
export class Dropped extends Error {
  /** Whether the whole request had left: only then can it have been carried out. */
  readonly wasSent: boolean

  constructor(cause: unknown, { wasSent }: { wasSent: boolean }) {
    super('The connection ended without an answer.', { cause })
    this.wasSent = wasSent
  }
}

/**
 * Under the five seconds after which the server closes an idle connection, so that no request meets that end on its way
 * and leaves in doubt whether it was carried out.
 */
const IDLE_MS = 2_000

export function createHttpExchange(): HttpExchange {
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS })
  return {
    send: ({ url, body, ...options }) =>
      new Promise((resolve, reject) => {
        const request = sendRequest(url, { ...options, agent })
        let wasSent = false
        request.once('finish', () => {
          wasSent = true
        })
        request.once('response', resolve)
        request.on('error', error => reject(new Dropped(error, { wasSent: wasSent && !isRefusal(error) })))
        if (typeof body !== 'object') return void request.end(body)
        pipeline(body, request).catch((error: unknown) => {
          // A request that was cut before it had a connection says nothing of it.
          request.destroy()
          reject(new Dropped(error, { wasSent: false }))
        })
      }),
    close: () => agent.destroy(),
  }
}

function isRefusal(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNREFUSED'
}
