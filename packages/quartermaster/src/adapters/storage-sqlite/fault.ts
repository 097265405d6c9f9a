import type { Fault } from './protocol.ts'

/** An error as another thread can receive it. In a file of its own, because the reader process loads nothing that it does not need. */
export function toFault(error: unknown): Fault {
  if (!(error instanceof Error)) return { message: String(error) }
  const { message } = error
  return 'errcode' in error && typeof error.errcode === 'number' ? { message, code: error.errcode & 0xff } : { message }
}
