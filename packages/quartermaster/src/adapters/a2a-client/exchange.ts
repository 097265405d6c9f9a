import { messageOf } from '../../contracts/index.ts'
import { type CardPlace, RemoteFailure } from '../../core/external-peers/index.ts'
import type { CancelSignal, Clock } from '../../core/kernel/index.ts'
import {
  AddressRefused,
  createHttpClient,
  guardedLookup,
  type HttpAnswer,
  HttpFailure,
  namedHosts,
  type Resolve,
  refuseInside,
  refuseUnsafe,
} from '../http-client/index.ts'

/** One request to an agent elsewhere. */
export interface Asked {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  readonly body?: unknown
  readonly accept: string
  readonly signal: CancelSignal
  /** How long the first line of the answer may take. */
  readonly answerMs: number
}

export interface Exchange {
  /** Rejects with a `RemoteFailure` when there is no answer. The body is not yet read. */
  ask(place: CardPlace, asked: Asked): Promise<HttpAnswer>
  close(): void
}

export interface ExchangeOptions {
  readonly clock: Clock
  /** How names become addresses. */
  readonly resolve?: Resolve | undefined
}

/**
 * Reaches what the owner has named, and public addresses; nothing else inside this network, and no redirect. The address of a card
 * is the owner's word, and what the card says of where to go on is a stranger's.
 */
export function createExchange({ clock, resolve }: ExchangeOptions): Exchange {
  const free = createHttpClient({ clock, useProxy: true })
  const guarded = createHttpClient({ clock, lookup: guardedLookup(resolve) })

  function clientFor(place: CardPlace, url: URL) {
    const isNamed = reachable(place, url)
    return isNamed ? free : guarded
  }

  return {
    async ask(place, { method, url, body, accept, signal, answerMs }) {
      try {
        return await clientFor(place, url).send({
          method,
          url,
          headers: {
            accept,
            'user-agent': 'quartermaster',
            'a2a-version': '1.0',
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...(place.credential && { [place.credential.header.toLowerCase()]: place.credential.value }),
          },
          body: body === undefined ? undefined : JSON.stringify(body),
          signal,
          answerMs,
        })
      } catch (error) {
        throw unreached(error)
      }
    },
    close() {
      free.close()
      guarded.close()
    },
  }
}

/** Whether the owner has named this address. Throws `RemoteFailure` for one that may not be gone to. */
export function reachable({ cardUrl, hosts }: CardPlace, url: URL): boolean {
  const home = new URL(cardUrl)
  const isNamed = namedHosts(home, hosts)
  try {
    refuseUnsafe(url, { home, isNamed })
    if (!isNamed(url)) refuseInside(url.hostname)
  } catch (error) {
    throw unreached(error)
  }
  return isNamed(url)
}

function unreached(error: unknown): RemoteFailure {
  if (error instanceof RemoteFailure) return error
  const cause = error instanceof HttpFailure && error.cause instanceof AddressRefused ? error.cause : error
  if (cause instanceof AddressRefused) {
    const message = `${cause.message} If it is the right one, name its host with "hosts" when the peer is added.`
    return new RemoteFailure('unfit', message, { cause })
  }
  return new RemoteFailure(cause instanceof HttpFailure ? 'unreachable' : 'unfit', messageOf(cause), { cause })
}
