import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { SECURITY_HEADERS } from './guard.ts'

/** An answer that is one short text and is written out as it is. */
export interface PlainAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** Writes an answer of an endpoint. */
export function writeAnswer(answer: Response | PlainAnswer, outgoing: ServerResponse): void {
  if (answer instanceof Response) writeResponse(answer, outgoing)
  else writePlain(answer, outgoing)
}

function writePlain({ status, headers, text }: PlainAnswer, outgoing: ServerResponse): void {
  outgoing.writeHead(status, [...linesOf(headers), 'content-length', String(Buffer.byteLength(text))]).end(text)
}

function writeResponse({ status, headers, body }: Response, outgoing: ServerResponse): void {
  outgoing.writeHead(status, flat({ ...SECURITY_HEADERS, ...Object.fromEntries(headers) }))
  if (!body) return void outgoing.end()
  // A client that has gone already does not go again. What fails to end has ended, too.
  if (outgoing.destroyed) return void body.cancel().catch(() => {})
  // Whoever has to do with an answer listens for its end. With what a stream needs these are more than ten, and no leak.
  outgoing.setMaxListeners(MOST_LISTENERS)
  // A stream tells first of all that it is one.
  outgoing.flushHeaders()
  pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), outgoing).catch(() => {
    // The client went away; whoever makes the answer was told.
  })
}

const MOST_LISTENERS = 20

const known = new WeakMap<object, readonly string[]>()

/** Most answers have the very same headers. */
function linesOf(headers: PlainAnswer['headers']): readonly string[] {
  const lines = known.get(headers) ?? flat({ ...SECURITY_HEADERS, ...headers })
  known.set(headers, lines)
  return lines
}

/** As Node takes them without a look at each. */
function flat(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flat()
}
