import { type Redact, redactedJson } from '../../../core/secrets/index.ts'

/** The same value where there is nothing to hide, as there is nearly always. */
export function maskedValue<T>(value: T, redact: Redact): T {
  const text = JSON.stringify(value)
  // A number that is hidden becomes a text. What is masked here is mostly read by people.
  return redact(text) === text ? value : (redactedJson(text, redact) as T)
}
