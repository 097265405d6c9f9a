import { AppError, isAppError } from '../../contracts/index.ts'
import { parseBoundedJson, textOfBody } from '../../core/kernel/index.ts'
import type { FrontLimits } from './front-limits.ts'

/** The message in a request, read within the limits. */
export async function readMessage(request: Request, limits: FrontLimits): Promise<unknown> {
  const bytes = await readBytes(request, limits.maxBodyBytes)
  const message = parseBoundedJson(textOfBody(bytes), limits)
  if (Array.isArray(message) && message.length > limits.maxBatch) {
    throw tooLarge(`A request has at most ${limits.maxBatch} messages.`, limits.maxBatch)
  }
  return message
}

/** The message in a body that was read already; nothing where there is none that can be taken. */
export function messageIn(bytes: Uint8Array, limits: FrontLimits): unknown {
  try {
    return parseBoundedJson(textOfBody(bytes), limits)
  } catch {
    // Whoever reads it the long way says what is wrong with it.
    return undefined
  }
}

async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  // A body whose length is said cannot be longer than that, and is read at once; others are counted as they come.
  const length = Number(request.headers.get('content-length') ?? Number.NaN)
  if (length > limit) throw tooLarge(`A request has at most ${limit} bytes.`, limit)
  try {
    if (length <= limit) return new Uint8Array(await request.arrayBuffer())
    return await countedBytes(request.body ?? [], limit)
  } catch (error) {
    if (isAppError(error)) throw error
    throw new AppError('CANCELLED', 'The connection ended before the request was complete.', { cause: error })
  }
}

async function countedBytes(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  limit: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge(`A request has at most ${limit} bytes.`, limit)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(message: string, limit: number): AppError {
  return new AppError('LIMIT_EXCEEDED', message, { details: { limit } })
}
