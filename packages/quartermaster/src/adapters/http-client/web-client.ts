import { isUtf8 } from 'node:buffer'
import type { WebAnswer, WebOutcome, WebRequest, WebService } from '../../core/catalogue/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import { AddressRefused, guardedLookup, type Resolve, refuseInside } from './address-guard.ts'
import { BodyTooLong, type HttpAnswer, HttpFailure, headerOf, isUndecoded, readBytes, reasonOf } from './http-answer.ts'
import { createHttpClient, type HttpClient } from './http-client.ts'

export interface ClosableWebClient extends WebService {
  close(): void
}

export interface WebClientOptions {
  readonly clock: Clock
  readonly resolve?: Resolve | undefined
}

/**
 * Requests to hosts that the owner has named, and to public addresses. The two never share a connection, because one to a named
 * host may lead to a private address. Only requests to named hosts use a proxy, because a proxy looks up names itself.
 */
export function createWebClient({ clock, resolve }: WebClientOptions): ClosableWebClient {
  const free = createHttpClient({ clock, useProxy: true })
  const guarded = createHttpClient({ clock, lookup: guardedLookup(resolve) })
  return {
    async send(request) {
      try {
        if (!request.isNamed) refuseInside(request.url.hostname)
        return await exchange(request.isNamed ? free : guarded, request, clock)
      } catch (error) {
        if (request.signal.aborted) throw request.signal.reason
        return outcomeOf(error)
      }
    },
    close() {
      free.close()
      guarded.close()
    },
  }
}

async function exchange(client: HttpClient, request: WebRequest, clock: Clock): Promise<WebOutcome> {
  const { method, url, headers, body, maxBytes, signal } = request
  const answer = await client.send({ method, url, headers, body, signal })
  try {
    const bytes = await readBytes(answer.body, maxBytes)
    const receivedAt = clock.now()
    if (isReadable(answer, bytes)) return { kind: 'answer', answer: { ...toAnswer(answer, bytes), receivedAt } }
    const reason = `The answer of ${url.host} cannot be read: it is compressed in a way that is not known here.`
    return { kind: 'unreadable', reason, answer: { ...toAnswer(answer, NOTHING), receivedAt } }
  } catch (error) {
    if (error instanceof BodyTooLong) {
      const head = isReadable(answer, error.head) ? error.head : NOTHING
      return { kind: 'tooLong', answer: { ...toAnswer(answer, head), receivedAt: clock.now() } }
    }
    const { reason } = reasonOf(error)
    return { kind: 'failed', reason: `The answer of ${url.host} broke off: ${reason}.`, wasSent: 'maybe' }
  }
}

const NOTHING = new Uint8Array()

/** Some servers name a compression and send plain text, so UTF-8 is readable in any case. */
function isReadable({ headers }: HttpAnswer, bytes: Uint8Array): boolean {
  return !isUndecoded(headers['content-encoding']) || isUtf8(bytes)
}

function toAnswer(answer: HttpAnswer, body: Uint8Array): Omit<WebAnswer, 'receivedAt'> {
  const headers = Object.keys(answer.headers).map(name => [name, headerOf(answer, name) ?? ''])
  return { status: answer.status, headers: Object.fromEntries(headers), body }
}

function outcomeOf(error: unknown): WebOutcome {
  const cause = error instanceof HttpFailure ? error.cause : error
  if (cause instanceof AddressRefused) {
    const reason = `"${cause.host}" leads to an address inside this machine or network, and the declaration does not name it under "privateHosts".`
    return { kind: 'refused', reason }
  }
  if (error instanceof HttpFailure) return { kind: 'failed', reason: error.message, wasSent: error.wasSent }
  throw error
}
