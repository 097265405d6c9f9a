import type { ContentBlock, ToolResult } from '../../contracts/index.ts'
import { toolResult } from '../../core/catalogue/index.ts'
import { type Redact, redactedJson } from '../../core/secrets/index.ts'

/** A value as a result, as text and as data. Data has to be an object, so other values stand under `value`. */
export function jsonResult(value: unknown, text = jsonText(value)): ToolResult {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return toolResult({ content: [{ type: 'text', text }], structuredContent: isObject ? value : { value } })
}

/** A value from JSON and its text, with secrets masked. */
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

function jsonText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Numbers that JavaScript may round, such as long ids. */
const LONG_NUMBER = /\d{16}|\d\.?\d*[eE][+-]?\d{3}/
const STRING_OR_SPACE = /("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g

/** Bytes as an image, a sound, or a resource with an address. */
export function binaryBlock(bytes: Uint8Array, mimeType: string, uri: string): ContentBlock {
  const data = bufferOf(bytes).toString('base64')
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType }
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType }
  return { type: 'resource', resource: { uri, mimeType, blob: data } }
}

/** Whether bytes, which cannot be masked, hold a secret. */
export function hasSecret(bytes: Uint8Array, secrets: readonly string[]): boolean {
  const buffer = bufferOf(bytes)
  return secrets.some(secret => secret !== '' && buffer.includes(secret))
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** The beginning of a long text, without splitting a surrogate pair. */
export function beginningOf(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')}…` : text
}

/** The end of a long text, without splitting a surrogate pair. */
export function endOf(text: string, most: number): string {
  return text.length > most ? `…${text.slice(-most).replace(/^[\uDC00-\uDFFF]/, '')}` : text
}
