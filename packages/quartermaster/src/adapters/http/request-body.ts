import { AppError } from '../../contracts/index.ts'
import { parseBoundedJson, textOfBody } from '../../core/kernel/index.ts'
import type { HttpLimits } from './limits.ts'

/** The JSON body of a request, read within the limits. */
export async function readJsonBody(request: Request, limits: HttpLimits): Promise<unknown> {
  return parseBoundedJson(textOfBody(await readBytes(request, limits.maxBodyBytes)), limits)
}

/** Whether the body says that it is JSON. A form can be posted from any web page without asking; JSON cannot. */
export function isJson(contentType: string | undefined): boolean {
  return /^application\/json\s*(;|$)/i.test(contentType ?? '')
}

async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge(limit)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of received(request)) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge(limit)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The pieces of a body as they come. Throws `CANCELLED` when the connection ends before all of it has. */
export async function* received(request: Request): AsyncGenerator<Uint8Array> {
  try {
    yield* request.body ?? []
  } catch (cause) {
    throw new AppError('CANCELLED', 'The connection ended before the request was complete.', { cause })
  }
}

function tooLarge(limit: number): AppError {
  return new AppError('LIMIT_EXCEEDED', `The request body is larger than ${limit} bytes.`, { details: { limit } })
}
