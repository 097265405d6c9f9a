import { AppError } from '../../contracts/index.ts'
import type { HeaderReader } from './header-reader.ts'

const META_KEY = 'quartermaster/idempotencyKey'
const HEADER = 'idempotency-key'

/** As it came: in the message, or in the headers of the request that carried it. */
export function givenKey(meta: Readonly<Record<string, unknown>>, headers: HeaderReader | undefined): unknown {
  return meta[META_KEY] ?? headers?.get(HEADER) ?? undefined
}

/** The caller's own name for a call, if it has one. What is no text is refused: whoever sends a key relies on it. */
export function checkedKey(given: unknown): string | undefined {
  if (given === undefined || typeof given === 'string') return given
  throw new AppError('INPUT_INVALID', `"${META_KEY}" must be text.`)
}
