import { type Redact, redactedJson } from '../../core/kernel/index.ts'

/** A value that was read from JSON, with secrets masked, and its text. */
export interface ReadJson {
  readonly json: unknown
  readonly text: string
}

/** Reads JSON. Throws what `JSON.parse` throws. */
export function readJson(written: string, redact: Redact): ReadJson {
  const json = redactedJson(written, redact)
  const text = jsonText(json)
  if (!LONG_NUMBER.test(written) || typeof json === 'string') return { json, text }
  const isMasked = jsonText(JSON.parse(written)) !== text
  return { json, text: isMasked ? text : written.trim().replace(STRING_OR_SPACE, (_, string: string = '') => string) }
}

/** A value as a text. */
export function jsonText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** One that may be another number when it was read: the ids of some servers are. */
const LONG_NUMBER = /\d{16}|\d\.?\d*[eE][+-]?\d{3}/
const STRING_OR_SPACE = /("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g
