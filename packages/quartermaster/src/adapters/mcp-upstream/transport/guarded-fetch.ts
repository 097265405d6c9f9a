import type { Clock } from '../../../core/kernel/index.ts'
import {
  AddressRefused,
  createHttpClient,
  guardedLookup,
  type HttpAnswer,
  type HttpClient,
  HttpFailure,
  namedHosts,
  type Resolve,
  readText,
  refuseInside,
  refuseUnsafe,
} from '../../http-client/index.ts'
import { beforeAbort, withTimeLimit } from '../peer/abort.ts'

/** A fetch for addresses that others name. */
export type GuardedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

interface GuardedFetchOptions {
  readonly home: URL
  /** Further hosts that the configuration names: `sso.example.com`. */
  readonly hosts?: readonly string[] | undefined
  readonly clock: Clock
  readonly resolve?: Resolve | undefined
}

/** Metadata and tokens are a few kilobytes. */
const BODY_BYTES = 1024 * 1024
/** For a whole exchange; a person waits for a few of these. */
const EXCHANGE_MS = 15_000

/**
 * A fetch for public addresses and those of the configuration, without redirects, limited in size and time. The
 * author of a server's metadata must not reach other hosts of this network through us.
 */
export function createGuardedFetch({ home, hosts = [], clock, resolve }: GuardedFetchOptions): GuardedFetch {
  const isNamed = namedHosts(home, hosts)
  const free = createHttpClient({ clock })
  const guarded = createHttpClient({ clock, lookup: guardedLookup(resolve) })

  return async (given, init = {}) => {
    const url = new URL(given)
    refuseAddress(url, { home, isNamed })
    const client = isNamed(url) ? free : guarded
    return inTime(url, { clock, signal: init.signal }, async signal =>
      toResponse(await sendOnce(client, url, { ...init, signal }).catch(refusedOrFailed)),
    )
  }
}

/** Throws for an address that must not be requested. The addresses of a host name are checked during the request. */
export function refuseAddress(url: URL, { home, isNamed }: { home: URL; isNamed(url: URL): boolean }): void {
  refuseUnsafe(url, { home, isNamed })
  if (!isNamed(url)) refuseInside(url.hostname)
}

interface Time {
  readonly clock: Clock
  readonly signal: AbortSignal | null | undefined
}

/** One limit for the whole exchange, or an answer of a byte at a time would never end. */
function inTime<T>({ host }: URL, { clock, signal }: Time, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const reason = new HttpFailure(`${host} cannot be reached: no answer within ${EXCHANGE_MS} ms.`, {
    wasSent: 'maybe',
    cause: undefined,
  })
  const options = { clock, reason, signal: signal ?? undefined }
  return withTimeLimit(EXCHANGE_MS, options, limited => beforeAbort(work(limited), limited))
}

async function sendOnce(
  client: HttpClient,
  url: URL,
  init: RequestInit & { signal: AbortSignal },
): Promise<HttpAnswer> {
  const method = (init.method ?? 'GET').toUpperCase() === 'POST' ? 'POST' : 'GET'
  const headers = Object.fromEntries(new Headers(init.headers).entries())
  return client.send({
    method,
    url,
    headers: { accept: 'application/json', 'user-agent': 'quartermaster', ...headers, connection: 'close' },
    body: init.body === undefined || init.body === null ? undefined : String(init.body),
    signal: init.signal,
  })
}

/** The guard's message says more. */
function refusedOrFailed(error: unknown): never {
  throw error instanceof HttpFailure && error.cause instanceof AddressRefused ? error.cause : error
}

async function toResponse({ status, headers, body }: HttpAnswer): Promise<Response> {
  const text = await readText(body, BODY_BYTES)
  const plain = Object.entries(headers).flatMap(([name, value]) =>
    value !== undefined && name !== 'content-encoding' && name !== 'content-length'
      ? [[name, String(value)] as [string, string]]
      : [],
  )
  return new Response(HAS_NO_BODY.has(status) ? null : text, { status, headers: plain })
}

const HAS_NO_BODY = new Set([101, 204, 205, 304])
