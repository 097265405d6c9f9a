import { AppError, IDEMPOTENCY_HEADER, IDEMPOTENCY_META } from '../../contracts/index.ts'
import { type CancelSignal, createCancellation } from '../../core/kernel/index.ts'
import type { HeaderReader } from './header-reader.ts'

/** As it came: in the message, or in the headers of the request that carried it. */
export function givenKey(meta: Readonly<Record<string, unknown>>, headers: HeaderReader | undefined): unknown {
  return meta[IDEMPOTENCY_META] ?? headers?.get(IDEMPOTENCY_HEADER) ?? undefined
}

/** What ends a call when its client goes away: nothing where it has a key, since its repeat comes for the result. */
export function endedBy(gone: CancelSignal, key: unknown): CancelSignal {
  return key === undefined ? gone : createCancellation().signal
}

/** The caller's own name for a call, if it has one. What is no text is refused: whoever sends a key relies on it. */
export function checkedKey(given: unknown): string | undefined {
  if (given === undefined || typeof given === 'string') return given
  throw new AppError('INPUT_INVALID', `"${IDEMPOTENCY_META}" must be text.`)
}
