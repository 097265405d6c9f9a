import { AppError, isAppError, TASK_BYTES } from '../../contracts/index.ts'
import { parseBoundedJson, textOfBody } from '../../core/kernel/index.ts'
import { Refusal } from './errors.ts'

/** JSON takes more than the words of a task do. */
const MOST_BYTES = 2.5 * TASK_BYTES
/** Real requests stay far below. */
const LIMITS = { maxJsonDepth: 64, maxJsonValues: 100_000 }

/** The JSON of a request. Throws for what says that it is something else. */
export async function readJson(request: Request): Promise<unknown> {
  if (!/^application\/(a2a\+)?json\s*(;|$)/i.test(request.headers.get('content-type') ?? ''))
    throw new Refusal(
      'CONTENT_TYPE_NOT_SUPPORTED',
      'The content type must be application/json or application/a2a+json.',
    )
  const bytes = await readBytes(request)
  try {
    return parseBoundedJson(textOfBody(bytes), LIMITS)
  } catch (error) {
    // What is too deep or too much keeps its own words.
    throw isAppError(error) && error.code === 'INPUT_INVALID' ? new Refusal('PARSE_ERROR', error.message) : error
  }
}

async function readBytes(request: Request): Promise<Uint8Array> {
  // Left alone, and not broken off: that would end a connection on which the client goes on.
  if (Number(request.headers.get('content-length') ?? 0) > MOST_BYTES) throw tooLarge()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of received(request)) {
    size += chunk.byteLength
    if (size > MOST_BYTES) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(): AppError {
  return new AppError('LIMIT_EXCEEDED', `The request body is larger than ${MOST_BYTES} bytes.`)
}

async function* received({ body }: Request): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? []
  } catch (cause) {
    throw new AppError('CANCELLED', 'The connection ended before the request was complete.', { cause })
  }
}
