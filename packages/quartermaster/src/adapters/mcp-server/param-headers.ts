import type { Tool } from '../../core/catalogue/index.ts'
import { type MirroredParameter, mirroredParameters, mirroredText } from '../../core/kernel/index.ts'
import type { HeaderReader } from './header-reader.ts'

/** What does not agree between headers and body. */
export interface HeaderMismatch {
  readonly header: string
  readonly body: string
}

const mirrored = new WeakMap<Tool, readonly MirroredParameter[]>()

/** The first header that does not say what the arguments say (MCP 2026-07-28, "Custom Headers from Tool Parameters"). */
export function findMismatch(tool: Tool, input: unknown, headers: HeaderReader): HeaderMismatch | undefined {
  for (const parameter of parametersOf(tool)) {
    const text = mirroredText(parameter, input)
    // What is not there, or is no plain value, is not repeated.
    if (text === undefined) continue
    const given = headers.get(headerOf(parameter))
    if (given === null) return mismatch(parameter, 'carries a value and the header is absent')
    const decoded = decode(given)
    if (decoded === undefined) return mismatch(parameter, 'carries a value and the header is no valid Base64')
    const isEqual = parameter.isNumber && NUMBER.test(decoded) ? Number(decoded) === Number(text) : decoded === text
    if (!isEqual) return mismatch(parameter, 'carries another value than the header')
  }
  return undefined
}

function parametersOf(tool: Tool): readonly MirroredParameter[] {
  const known = mirrored.get(tool)
  if (known) return known
  const found = mirroredParameters(tool.inputSchema)
  mirrored.set(tool, found)
  return found
}

function headerOf({ header }: MirroredParameter): string {
  return `Mcp-Param-${header}`
}

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

function mismatch(parameter: MirroredParameter, what: string): HeaderMismatch {
  return { header: headerOf(parameter), body: `params.arguments.${parameter.path.join('.')} ${what}` }
}
