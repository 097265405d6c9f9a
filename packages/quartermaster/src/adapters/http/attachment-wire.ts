import { pipeline } from 'node:stream/promises'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context } from 'hono'
import {
  type ApiDownload,
  type ApiUpload,
  AppError,
  AttachmentName,
  MediaType,
  toKeepable,
} from '../../contracts/index.ts'
import { fileNameIn, savedAs } from './answers.ts'
import type { HttpEnv } from './context.ts'
import { received } from './request.ts'

/**
 * The body of a request as a file that comes piece by piece. `stillAdmitted` is asked when all of it has come: a token that was
 * taken back meanwhile does not count.
 */
export function readUpload(c: Context<HttpEnv>, stillAdmitted: () => Promise<void>): ApiUpload {
  const type = c.req.header('content-type') ?? ''
  if (/^multipart\//i.test(type)) throw new AppError('INPUT_INVALID', MULTIPART)
  const length = c.req.header('content-length')
  return {
    name: nameIn(c),
    mediaType: mediaTypeIn(type),
    announcedSize: length === undefined ? undefined : Number(length),
    content: admitted(received(c.req.raw), stillAdmitted),
  }
}

/** Writes a file out as it comes. A damaged file is broken off, so that no client takes it for whole. */
export async function sendDownload(c: Context<HttpEnv>, { facts, content }: ApiDownload): Promise<Response> {
  const tag = `"${facts.sha256}"`
  const headers = {
    'Content-Type': SHOWN_AS.get(facts.mediaType) ?? 'application/octet-stream',
    'Content-Disposition': savedAs(facts.name),
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    // What an id stands for never changes; whether a caller may have it does.
    'Cache-Control': 'private, no-cache',
    ETag: tag,
    // A part of it could not be compared with what was handed in.
    'Accept-Ranges': 'none',
  }
  if (c.req.header('if-none-match')?.includes(tag)) return new Response(null, { status: 304, headers })
  const sized = { ...headers, 'Content-Length': String(facts.size) }
  if (c.req.method === 'HEAD') return new Response(null, { headers: sized })
  const pieces = content[Symbol.asyncIterator]()
  // What is wrong with the first of it can still be said as an error.
  const first = await pieces.next()
  const { outgoing } = c.env
  outgoing.writeHead(200, sized)
  await pipeline(joined(first, pieces), outgoing).catch(() => {
    // The reader went away, or the rest is damaged, which the log tells: both end the connection.
  })
  return RESPONSE_ALREADY_SENT
}

const MULTIPART =
  'Send the content of the file itself as the body, not a form (curl: --data-binary @FILE), and its name as ?name=.'

/** What a browser can do no harm with, and only these: everything else is bytes. */
const SHOWN_AS: ReadonlyMap<string, string> = new Map([
  ['text/plain', 'text/plain; charset=utf-8'],
  ...['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf', 'application/json'].map(
    type => [type, type] as const,
  ),
])

function nameIn(c: Context<HttpEnv>): string {
  const said = fileNameIn(c.req.header('content-disposition')) ?? c.req.query('name')
  if (said === undefined)
    throw new AppError('INPUT_INVALID', 'Say what the file is called: ?name=, or Content-Disposition.')
  const parsed = AttachmentName.safeParse(toKeepable(said))
  if (parsed.success) return parsed.data
  throw new AppError('INPUT_INVALID', `The name of the file ${parsed.error.issues[0]?.message ?? 'is none'}.`)
}

function mediaTypeIn(header: string): string {
  const essence = header.split(';')[0]?.trim().toLowerCase() ?? ''
  if (essence === '') return 'application/octet-stream'
  const parsed = MediaType.safeParse(essence)
  if (parsed.success) return parsed.data
  throw new AppError('INPUT_INVALID', 'The Content-Type is none: it must look like "text/plain".')
}

async function* admitted(
  content: AsyncIterable<Uint8Array>,
  stillAdmitted: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  yield* content
  await stillAdmitted()
}

async function* joined(first: IteratorResult<Uint8Array>, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let next = first; !next.done; next = await rest.next()) yield next.value
}
