import { parseDocument } from 'yaml'
import { AppError } from '../../contracts/index.ts'
import { isRecord, type Node } from './node.ts'

/** A description of an API in OpenAPI 3.0 or 3.1. */
export interface ApiDocument {
  readonly title: string
  /** Whether schemas are in the older dialect. */
  readonly isOld: boolean
  readonly root: Node
}

/** The largest public ones have 12 MB. */
export const DOCUMENT_BYTES = 32 * 1024 * 1024
/** Anchors are rare in these; many of them are a way to make a small text large. */
const MOST_ALIASES = 100

/** Reads a document. Throws `INPUT_INVALID` with what it is instead. */
export function parseApiDocument(text: string): ApiDocument {
  if (Buffer.byteLength(text) > DOCUMENT_BYTES) throw invalid(`It is larger than ${DOCUMENT_BYTES / 1024 / 1024} MiB.`)
  const root = readValue(text)
  if (!isRecord(root)) throw invalid('It is no OpenAPI document.')
  if (root.swagger !== undefined)
    throw invalid('It is Swagger 2. Convert it to OpenAPI 3 first, as "npx swagger2openapi" does.')
  const version = String(root.openapi ?? '')
  if (!/^3\.[01]\./.test(version))
    throw invalid(
      version === ''
        ? 'It is no OpenAPI document: it does not say "openapi: 3.1.0" or the like.'
        : `It is OpenAPI ${version.slice(0, 20)}, and 3.0 and 3.1 are read here.`,
    )
  if (!isRecord(root.paths)) throw invalid('It describes no paths.')
  const title = isRecord(root.info) && typeof root.info.title === 'string' ? root.info.title : 'API'
  return { title, isOld: version.startsWith('3.0'), root }
}

function readValue(text: string): unknown {
  try {
    if (/^\s*\{/.test(text)) return JSON.parse(text)
    const document = parseDocument(text, { prettyErrors: true })
    const [error] = document.errors
    if (error) throw error
    return document.toJS({ maxAliasCount: MOST_ALIASES })
  } catch (error) {
    const said = error instanceof Error ? (error.message.split('\n')[0] ?? '') : ''
    if (/call stack/i.test(said)) throw invalid('It is nested deeper than can be read.')
    throw invalid(`It is neither JSON nor YAML: ${said}`)
  }
}

export function invalid(message: string): AppError {
  return new AppError('INPUT_INVALID', message)
}
