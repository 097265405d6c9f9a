import type { ContentBlock, ToolResult } from '../../contracts/index.ts'
import { toolResult } from '../../core/catalogue/index.ts'
import { type Redact, redactedJson } from '../../core/secrets/index.ts'

/** A value as a result: as text, and as data. What is no object stands under `value`, because data is one everywhere. */
export function jsonResult(value: unknown, text = jsonText(value)): ToolResult {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return toolResult({ content: [{ type: 'text', text }], structuredContent: isObject ? value : { value } })
}

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
function jsonText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** One that may be another number when it was read: the ids of some servers are. */
const LONG_NUMBER = /\d{16}|\d\.?\d*[eE][+-]?\d{3}/
const STRING_OR_SPACE = /("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g

/** Bytes that are no text, as what they are. The address is for those that are neither picture nor sound. */
export function binaryBlock(bytes: Uint8Array, mimeType: string, uri: string): ContentBlock {
  const data = bufferOf(bytes).toString('base64')
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType }
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType }
  return { type: 'resource', resource: { uri, mimeType, blob: data } }
}

/** Whether one of these secrets is in bytes that cannot be masked. */
export function hasSecret(bytes: Uint8Array, secrets: readonly string[]): boolean {
  const buffer = bufferOf(bytes)
  return secrets.some(secret => secret !== '' && buffer.includes(secret))
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** The beginning of a text that is too long. No character is cut in halves. */
export function beginningOf(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')}…` : text
}

/** The end of one. */
export function endOf(text: string, most: number): string {
  return text.length > most ? `…${text.slice(-most).replace(/^[\uDC00-\uDFFF]/, '')}` : text
}
