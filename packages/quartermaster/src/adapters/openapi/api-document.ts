import { AppError } from '../../contracts/index.ts'
import type { Steps } from '../../core/kernel/index.ts'
import { isRecord, type Node } from './node.ts'
import { readYaml } from './read-yaml.ts'

/** A description of an API in OpenAPI 3.0 or 3.1. */
export interface ApiDocument {
  readonly title: string
  /** Whether schemas are in the older dialect. */
  readonly isOld: boolean
  readonly root: Node
}

/** The largest public ones have 12 MB. */
export const DOCUMENT_BYTES = 32 * 1024 * 1024
/** Deeper than anybody describes an API; far deeper, it could not even be written down again. */
const DEEPEST = 200

/** Refuses a document by its size, before anybody reads it where that can be. */
export function refuseTooLarge(bytes: number): void {
  if (bytes > DOCUMENT_BYTES) throw invalid(`The document is larger than ${DOCUMENT_BYTES / 1024 / 1024} MiB.`)
}

/** Reads a document, in steps. Throws `INPUT_INVALID` with what it is instead. */
export function* readApiDocument(text: string): Steps<ApiDocument> {
  refuseTooLarge(Buffer.byteLength(text))
  const root = yield* readValue(text.replace(/^\uFEFF/, ''))
  if (isDeeper(root, DEEPEST)) throw tooDeep()
  if (!isRecord(root)) throw invalid('It is no OpenAPI document.')
  if (root.swagger !== undefined)
    throw invalid('It is Swagger 2. Convert it to OpenAPI 3 first, as "npx swagger2openapi" does.')
  const version = String(root.openapi ?? '')
  // Without quotes, YAML reads 3.0 as the number 3.
  if (!/^3(?:\.[01])?(?:\.|$)/.test(version))
    throw invalid(
      version === ''
        ? 'It is no OpenAPI document: it does not say "openapi: 3.1.0" or the like.'
        : `It is OpenAPI ${version.slice(0, 20)}, and 3.0 and 3.1 are read here.`,
    )
  if (!isRecord(root.paths)) throw invalid('It describes no paths.')
  const title = isRecord(root.info) && typeof root.info.title === 'string' ? root.info.title : 'API'
  return { title, isOld: !version.startsWith('3.1'), root }
}

function* readValue(text: string): Steps<unknown> {
  try {
    return /^\s*\{/.test(text) ? JSON.parse(text) : yield* readYaml(text)
  } catch (error) {
    const said = error instanceof Error ? (error.message.split('\n')[0] ?? '') : ''
    if (/call stack/i.test(said)) throw tooDeep()
    throw invalid(`It is neither JSON nor YAML: ${said}`)
  }
}

function isDeeper(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return left === 0 || Object.values(value).some(one => isDeeper(one, left - 1))
}

function tooDeep(): AppError {
  return invalid('It is nested deeper than can be read.')
}

export function invalid(message: string): AppError {
  return new AppError('INPUT_INVALID', message)
}
