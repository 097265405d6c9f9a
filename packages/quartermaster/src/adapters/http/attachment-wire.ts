import { pipeline } from 'node:stream/promises'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context } from 'hono'
import {
  type ApiDownload,
  type ApiUpload,
  AppError,
  AttachmentName,
  MediaType,
  toStorable,
} from '../../contracts/index.ts'
import { fileNameIn, savedAs } from './answers.ts'
import type { HttpEnv } from './request.ts'
import { received } from './request.ts'

/**
 * The body of a request as a file that is read piece by piece. `stillAdmitted` is called at its end, because the token may have
 * been revoked meanwhile.
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

/** Sends a file as it is read. For a damaged file the connection is cut, so that no client takes it for complete. */
export async function sendDownload(c: Context<HttpEnv>, { facts, content }: ApiDownload): Promise<Response> {
  const tag = `"${facts.sha256}"`
  const headers = {
    'Content-Type': SAFE_TYPES.get(facts.mediaType) ?? 'application/octet-stream',
    'Content-Disposition': savedAs(facts.name),
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    // The content of an id never changes; whether a caller may read it does.
    'Cache-Control': 'private, no-cache',
    ETag: tag,
    // A range could not be checked against the hash.
    'Accept-Ranges': 'none',
  }
  if (c.req.header('if-none-match')?.includes(tag)) return new Response(null, { status: 304, headers })
  const sized = { ...headers, 'Content-Length': String(facts.size) }
  if (c.req.method === 'HEAD') return new Response(null, { headers: sized })
  const pieces = content[Symbol.asyncIterator]()
  // A problem with the first piece can still be answered as an error.
  const first = await pieces.next()
  const { outgoing } = c.env
  outgoing.writeHead(200, sized)
  await pipeline(joined(first, pieces), outgoing).catch(() => {
    // The client went away, or the rest is damaged, which is in the log: both end the connection.
  })
  return RESPONSE_ALREADY_SENT
}

const MULTIPART =
  'Send the content of the file itself as the body, not a form (curl: --data-binary @FILE), and its name as ?name=.'

/** Types that are harmless in a browser. All others are sent as bytes. */
const SAFE_TYPES: ReadonlyMap<string, string> = new Map([
  ['text/plain', 'text/plain; charset=utf-8'],
  ...['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf', 'application/json'].map(
    type => [type, type] as const,
  ),
])

function nameIn(c: Context<HttpEnv>): string {
  const said = fileNameIn(c.req.header('content-disposition')) ?? c.req.query('name')
  if (said === undefined)
    throw new AppError('INPUT_INVALID', 'Say what the file is called: ?name=, or Content-Disposition.')
  const parsed = AttachmentName.safeParse(toStorable(said))
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
