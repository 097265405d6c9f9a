import { Agent, type IncomingMessage, request as sendRequest } from 'node:http'

export interface ExchangeRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
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
        request.end(body)
      }),
    close: () => agent.destroy(),
  }
}

function isRefusal(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNREFUSED'
}
