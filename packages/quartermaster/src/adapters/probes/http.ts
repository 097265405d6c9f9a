import type { Json } from '../../contracts/index.ts'
import type { Probe, ProbeVerdict } from '../../core/catalogue/index.ts'
import { basicCredentials, bodyChunks } from '../../core/kernel/index.ts'
import { codeOf, down, probeResultOf, UP } from './values.ts'

export interface HttpOptions {
  /** May hold a name and a password, which are sent as basic authentication and shown nowhere; nor is the query. */
  readonly url: string
  /** Default `GET`. */
  readonly method?: string
  /** Sent with the request. Only their names are ever shown. */
  readonly headers?: Readonly<Record<string, string>>
  /** Which answers count as up. Default: 200 to 399, so that a redirect counts too; none is followed. */
  readonly status?: readonly number[] | ((status: number) => boolean)
  /** A text that must be in the first 64 KiB of the answer. */
  readonly contains?: string
}

/** Looks whether a URL answers as it should. */
export function http(options: HttpOptions): Probe {
  const url = URL.canParse(options.url) ? new URL(options.url) : undefined
  return {
    describe: describe(options, url),
    async run({ signal }) {
      if (!url || !/^https?:$/.test(url.protocol))
        return down('The url of the probe is not one that starts with http:// or https://.')
      const headers = readHeaders(url, options.headers)
      if (!headers)
        return down('The headers of the probe, or the account in its url, have characters that cannot be sent.')
      return look(url, { ...options, headers }, signal)
    },
  }
}

function describe({ method = 'GET', headers, status, contains }: HttpOptions, url: URL | undefined): Probe['describe'] {
  const shown: Record<string, Json> = { method }
  if (headers) shown.headers = Object.keys(headers).sort()
  if (Array.isArray(status)) shown.status = [...status]
  if (contains !== undefined) shown.contains = contains
  return { ...shown, kind: 'http', url: url ? addressOf(url) : '' }
}

/** The part of a URL that holds no secret. */
function addressOf(url: URL): string {
  return `${url.origin}${url.pathname}`
}

function readHeaders(url: URL, given: Readonly<Record<string, string>> = {}): Headers | undefined {
  try {
    const headers = new Headers(given)
    // A connection kept open for reuse would outlive the probe.
    headers.set('connection', 'close')
    const account = basicCredentials(url)
    if (account !== undefined) headers.set('authorization', account)
    return headers
  } catch {
    // The message of this error would repeat the header's value.
    return undefined
  }
}

type Request = Omit<HttpOptions, 'headers'> & { readonly headers: Headers }

async function look(url: URL, request: Request, signal: AbortSignal): Promise<ProbeVerdict> {
  const { method = 'GET', headers, contains } = request
  const bare = new URL(url)
  bare.username = ''
  bare.password = ''
  try {
    const response = await fetch(bare, { method, headers, signal, redirect: 'manual' })
    const text = contains === undefined ? await discard(response) : await readStart(response, signal)
    if (!isUp(response.status, request.status))
      return down(`${addressOf(url)} answered with status ${response.status}.`)
    return contains === undefined || text.includes(contains)
      ? UP
      : down(`The answer of ${addressOf(url)} does not contain "${contains}".`)
  } catch (error) {
    if (signal.aborted) throw signal.reason
    const verdict = failureVerdict(error, url)
    if (verdict) return verdict
    throw new Error(`${addressOf(url)} did not answer (${codeOf(error) ?? 'the connection failed'}).`, { cause: error })
  }
}

function isUp(status: number, expected: HttpOptions['status'] = code => code >= 200 && code < 400): boolean {
  return typeof expected === 'function' ? expected(status) : expected.includes(status)
}

async function discard(response: Response): Promise<string> {
  await response.body?.cancel()
  return ''
}

const MAX_BYTES = 64 * 1024

async function readStart(response: Response, signal: AbortSignal): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop cancels the rest of the answer.
  for await (const chunk of bodyChunks(response, signal)) {
    chunks.push(chunk)
    size += chunk.byteLength
    if (size >= MAX_BYTES) break
  }
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, MAX_BYTES))
}

function failureVerdict(error: unknown, url: URL): ProbeVerdict | undefined {
  const code = codeOf(error)
  // A certificate that is not accepted today will not be in a second either.
  if (code && /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS/.test(code))
    return down(`The certificate of ${url.host} is not accepted (${code}).`)
  if (isRefusedPort(error)) return down(`HTTP clients refuse to use port ${url.port}; look at it with tcp() instead.`)
  const address = url.port ? url.host : `${url.host}:${url.protocol === 'https:' ? 443 : 80}`
  return probeResultOf(error, { host: url.hostname, address })
}

/** The Fetch standard keeps a list of ports of other protocols. */
function isRefusedPort(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error && error.cause.message === 'bad port'
}
