import { readRequestBody } from '@modelcontextprotocol/server'
import { AppError } from '../../contracts/index.ts'
import { parseBoundedJson } from '../../core/kernel/index.ts'
import type { FrontLimits } from './front-limits.ts'

/** The message in a request, read within the limits. */
export async function readMessage(request: Request, limits: FrontLimits): Promise<unknown> {
  const text = await readText(request, limits.maxBodyBytes)
  const message = parseBoundedJson(text, limits)
  if (Array.isArray(message) && message.length > limits.maxBatch) {
    throw tooLarge(`A request has at most ${limits.maxBatch} messages.`, limits.maxBatch)
  }
  return message
}

async function readText(request: Request, limit: number): Promise<string> {
  try {
    // A body whose length is said cannot be longer than that, and is read at once; others are counted as they come.
    const length = Number(request.headers.get('content-length') ?? Number.NaN)
    if (length <= limit) return await request.text()
    const read = await readRequestBody(request, limit)
    if (!read.tooLarge) return read.text
  } catch (cause) {
    throw new AppError('CANCELLED', 'The connection ended before the request was complete.', { cause })
  }
  throw tooLarge(`A request has at most ${limit} bytes.`, limit)
}

function tooLarge(message: string, limit: number): AppError {
  return new AppError('LIMIT_EXCEEDED', message, { details: { limit } })
}
