import type { Redact } from '../../../core/kernel/index.ts'

/** The same value where there is nothing to hide, as there is nearly always. */
export function maskedValue<T>(value: T, redact: Redact): T {
  const text = JSON.stringify(value)
  if (redact(text) === text) return value
  return JSON.parse(text, (_key, part: unknown) => (typeof part === 'string' ? redact(part) : part)) as T
}
