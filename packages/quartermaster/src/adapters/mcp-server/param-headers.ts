import type { JsonSchema } from '../../contracts/index.ts'
import type { Tool } from '../../core/catalogue/index.ts'

/** A property whose value a client repeats in a header, so that whatever stands between can read it. */
interface MirroredProperty {
  /** Where it stands in the arguments. */
  readonly path: readonly string[]
  /** `Mcp-Param-Region` */
  readonly header: string
  readonly isNumber: boolean
}

/** What does not agree between headers and body. */
export interface HeaderMismatch {
  readonly header: string
  readonly body: string
}

const mirrored = new WeakMap<Tool, readonly MirroredProperty[]>()

/** The first header that does not say what the arguments say (MCP 2026-07-28, "Custom Headers from Tool Parameters"). */
export function findMismatch(tool: Tool, input: unknown, headers: Headers): HeaderMismatch | undefined {
  for (const property of mirroredProperties(tool)) {
    const value = valueAt(input, property.path)
    const text = toText(value)
    // What is not there, or is no plain value, is not repeated.
    if (text === undefined) continue
    const given = headers.get(property.header)
    if (given === null) return mismatch(property, 'carries a value and the header is absent')
    const decoded = decode(given)
    if (decoded === undefined) return mismatch(property, 'carries a value and the header is no valid Base64')
    const isEqual = property.isNumber && NUMBER.test(decoded) ? Number(decoded) === value : decoded === text
    if (!isEqual) return mismatch(property, 'carries another value than the header')
  }
  return undefined
}

function mirroredProperties(tool: Tool): readonly MirroredProperty[] {
  const known = mirrored.get(tool)
  if (known) return known
  const found = [...propertiesOf(tool.inputSchema, [])]
  mirrored.set(tool, found)
  return found
}

/** Only what is reached by properties alone can be mirrored; everything else has no one place in the arguments. */
function* propertiesOf(schema: JsonSchema, path: readonly string[]): Generator<MirroredProperty> {
  const name = schema['x-mcp-header']
  if (path.length > 0 && typeof name === 'string' && TOKEN.test(name))
    yield { path, header: `Mcp-Param-${name}`, isNumber: schema.type === 'integer' || schema.type === 'number' }
  const { properties } = schema
  if (typeof properties !== 'object' || properties === null) return
  for (const [key, child] of Object.entries(properties)) {
    if (typeof child === 'object' && child !== null) yield* propertiesOf(child as JsonSchema, [...path, key])
  }
}

/** A header's name, as RFC 9110 §5.1 has it. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const NUMBER = /^-?\d+(\.\d+)?$/
const BASE64 = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The value a header stands for. Text that a header cannot hold comes as Base64 in a frame of its own. */
function decode(value: string): string | undefined {
  if (!(value.startsWith('=?base64?') && value.endsWith('?='))) return value
  const encoded = BASE64.exec(value)?.[1]
  if (encoded === undefined) return undefined
  try {
    return utf8.decode(Uint8Array.from(atob(encoded), character => character.charCodeAt(0)))
  } catch {
    // Bytes that are no text cannot equal one.
    return undefined
  }
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  const isPlain = typeof value === 'number' && Number.isFinite(value)
  return isPlain && (!Number.isInteger(value) || Number.isSafeInteger(value)) ? String(value) : undefined
}

function valueAt(input: unknown, path: readonly string[]): unknown {
  let value = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

function mismatch({ header, path }: MirroredProperty, what: string): HeaderMismatch {
  return { header, body: `params.arguments.${path.join('.')} ${what}` }
}
