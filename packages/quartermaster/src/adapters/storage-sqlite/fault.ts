import type { Fault } from './protocol.ts'

/** What went wrong, in a form that another thread can be told. */
export function toFault(error: unknown): Fault {
  if (!(error instanceof Error)) return { message: String(error) }
  const { message } = error
  return 'errcode' in error && typeof error.errcode === 'number' ? { message, code: error.errcode & 0xff } : { message }
}
