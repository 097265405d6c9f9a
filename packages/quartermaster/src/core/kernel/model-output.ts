import {
  AppError,
  ContentBlock,
  type ErrorBody,
  type ErrorKind,
  isAppError,
  KEPT_META,
  KeptResult,
  parseAppError,
  TOOL_NAMES,
  type Toolbox,
  type ToolboxCallOptions,
  type ToolResult,
} from '../../contracts/index.ts'
import { isRecord } from './json.ts'
import { sentence } from './text.ts'

const NEXT_STEP = {
  invalid: 'Correct the arguments first; the same call fails again.',
  unauthenticated: 'A person has to renew the credential.',
  denied: 'Do not try again; tell your person.',
  notFound: 'Look again what there is, and choose one of those.',
  conflict: 'Look at the present state before you try again.',
  gone: 'Start over from the beginning.',
  tooLarge: 'Ask for less.',
  consentRequired: 'A person has to allow it first. Say what you want to do and wait.',
  rateLimited: 'Wait before you try again.',
  cancelled: 'Call again if it is still needed.',
  internal: 'Do not try again; tell your person.',
  unavailable: 'Try again later or use another tool.',
  timeout: 'Ask for less, or try again later.',
} as const satisfies Record<ErrorKind, string>

/** Where the retry advice of a code differs from that of its kind. */
const OTHERWISE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  never: {
    conflict: 'Look at the present state; the same call fails again.',
    unavailable: 'Trying again changes nothing; use another tool, or tell your person.',
  },
  later: {
    denied: 'Try again later, or tell your person.',
    internal: 'Try again later. If it fails again, tell your person.',
  },
}

/** A message that contains its own advice: a question, or a sentence that begins with an imperative. */
const ADVICE =
  /(?:^|[.!?:;] )(?:Did you mean|Ask|Begin|Call|Change|Check|Choose|Come back|Correct|Do not|Find|Give|Leave|List|Look|Make|Name|Nothing to do|Put|Read|Repeat|Run|Say|Search|See|Send|Shorten|Start|Take|Tell|Try|Use|Wait|Write)\b/

/** An error for a model: its code, what went wrong, and what to do next, said once. */
export function errorForModel({ code, message, kind, retry }: ErrorBody): string {
  // A message about an unknown outcome says what to check first; "try again" after it would repeat the change.
  const next =
    retry === 'verifyFirst' || ADVICE.test(message)
      ? undefined
      : (OTHERWISE[retry]?.[kind] ?? NEXT_STEP[kind as ErrorKind])
  return next === undefined ? `${code}: ${message}` : `${code}: ${sentence(message)} ${next}`
}

/** A piece of a result for a model. Every runtime has a shape for both kinds. */
export type ModelPiece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'file'; readonly mimeType: string; readonly data: string; readonly name: string | undefined }

/**
 * A result as pieces for a model. The structured content is used where there is no other. A file of a type that the receiver
 * does not take is replaced by its name, because sending it would fail the whole request.
 */
export function modelPieces(
  { content, structuredContent }: ToolResult,
  takes: (mimeType: string) => boolean = () => true,
): ModelPiece[] {
  if (content.length > 0)
    return content.map(pieceOf).map(piece => (piece.kind === 'text' || takes(piece.mimeType) ? piece : named(piece)))
  return structuredContent === undefined ? [] : [textPiece(JSON.stringify(structuredContent))]
}

/** The text of a result, for clients that take only text. */
export function textForModel(result: ToolResult): string {
  const words = modelPieces(result, () => false).map(piece => (piece.kind === 'text' ? piece.text : ''))
  return words.join('\n')
}

/** Picture types that models accept. */
export function isModelImage(mimeType: string): boolean {
  return /^image\/(png|jpeg|gif|webp)$/.test(mimeType)
}

function named({ mimeType, name }: Extract<ModelPiece, { kind: 'file' }>): ModelPiece {
  return textPiece(`[${mimeType}${name === undefined ? '' : ` ${name}`}]`)
}

function pieceOf(given: ContentBlock): ModelPiece {
  const { success, data: block } = ContentBlock.safeParse(given)
  if (!success) return unknownPiece(given)
  switch (block.type) {
    case 'text':
      return textPiece(block.text)
    case 'image':
    case 'audio':
      return { kind: 'file', mimeType: plainType(block.mimeType), data: block.data, name: undefined }
    case 'resource':
      return resourcePiece(block.resource)
    case 'resource_link':
      return textPiece(`[${block.name}: ${block.uri}]`)
  }
}

function unknownPiece(given: object): ModelPiece {
  const binary = binaryIn(given)
  if (!binary) return textPiece(JSON.stringify(given))
  return { kind: 'file', mimeType: plainType(binary.mimeType), data: binary.data, name: undefined }
}

function resourcePiece({ uri, text, blob = '', mimeType: given = UNKNOWN_TYPE }: EmbeddedResource): ModelPiece {
  const mimeType = plainType(given)
  return text === undefined ? { kind: 'file', mimeType, data: blob, name: fileName(uri, mimeType) } : textPiece(text)
}

/** A normalised media type: `Image/JPG; q=1` is `image/jpeg`. */
function plainType(mimeType: string): string {
  const type = mimeType
    .replace(/;[^]*$/, '')
    .trim()
    .toLowerCase()
  return type === 'image/jpg' ? 'image/jpeg' : type
}

/** The last part of an address, with an extension, because some runtimes read the type from it. */
function fileName(uri: string, mimeType: string): string {
  const path = uri.replace(/[?#].*$/, '').replace(/[/:]+$/, '')
  const last = decoded(path.slice(path.search(/[^/:\\]*$/)))
  const extension = EXTENSIONS[mimeType]
  const name = last === '' ? 'file' : last
  return extension === undefined || /\.\w+$/.test(name) ? name : `${name}.${extension}`
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'application/json': 'json',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/plain': 'txt',
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A literal percent sign.
    return text
  }
}

type EmbeddedResource = Extract<ContentBlock, { type: 'resource' }>['resource']

const UNKNOWN_TYPE = 'application/octet-stream'

function textPiece(text: string): ModelPiece {
  return { kind: 'text', text }
}

/** Base64 content of a picture, a sound or a file. */
export interface BinaryContent {
  readonly data: string
  readonly mimeType: string
}

type Fields = Readonly<Record<string, unknown>>

/**
 * The binary part of a content block, if it has any. Decided by fields and not by `type`, so that later types are found as
 * well.
 */
export function binaryIn(piece: object): BinaryContent | undefined {
  const { type, data, blob, mimeType, resource } = piece as Fields
  if (type === 'text') return undefined
  if (typeof data === 'string' && typeof mimeType === 'string') return { data, mimeType }
  return isFields(resource) ? blobIn(resource.blob, resource.mimeType) : blobIn(blob, mimeType)
}

/** The block with empty binary data. */
export function withoutBinary<T extends object>(piece: T): T {
  const { data, resource } = piece as Fields
  if (typeof data === 'string') return { ...piece, data: '' }
  return isFields(resource) ? { ...piece, resource: { ...resource, blob: '' } } : { ...piece, blob: '' }
}

function blobIn(blob: unknown, mimeType: unknown): BinaryContent | undefined {
  if (typeof blob !== 'string') return undefined
  return { data: blob, mimeType: typeof mimeType === 'string' ? mimeType : UNKNOWN_TYPE }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

/**
 * A call of a model through tools that a framework was given earlier. Any error becomes a result for the model: thrown, it
 * would end the whole run of the agent, other calls included. Only a cancelled call throws.
 */
export async function callForModel(
  toolbox: Toolbox,
  { name, input, ...options }: ToolboxCallOptions & { readonly name: string; readonly input: unknown },
): Promise<ToolResult> {
  try {
    return await readableOn(await toolbox.call(name, input, options), toolbox)
  } catch (error) {
    if (!isAppError(error) || error.code === 'CANCELLED' || options.signal?.aborted) throw error
    return errorResult(error)
  }
}

/**
 * An error as a result for models and programs. `isBare` leaves out the structure: some clients check it against the tool's
 * output schema even for an error, and then show neither.
 */
export function errorResult(error: AppError, { isBare = false }: { isBare?: boolean } = {}): ToolResult {
  const facts = { ...error.toJSON() }
  return {
    content: [{ type: 'text', text: errorForModel(facts) }, ...contentOfTool(error)],
    ...(isBare ? {} : { structuredContent: { error: facts } }),
    isError: true,
    _meta: { 'quartermaster/error': facts },
  }
}

/** The content of a tool that ran, where the result is an error for another reason. */
function contentOfTool({ code, details }: AppError): ToolResult['content'] {
  const isOfResult = code === 'OUTPUT_INVALID' || (code === 'OUTCOME_UNKNOWN' && details?.because === 'OUTPUT_INVALID')
  return isOfResult && Array.isArray(details?.content) ? details.content : []
}

/** Reads our own error from an HTTP answer: a problem document (RFC 9457) or a JSON-RPC error with our `data`. */
export function parseErrorResponse(body: unknown): AppError | undefined {
  if (!isRecord(body)) return undefined
  const { detail, error } = body
  return parseAppError({ ...body, message: detail }) ?? (isRecord(error) ? parseAppError(error.data) : undefined)
}

/** Throws `INPUT_INVALID` for an impossible position in a kept result. */
export function validatePosition(resultId: unknown, offset: unknown): void {
  if (typeof resultId !== 'string' || !/^[\w-]+$/.test(resultId))
    throw new AppError('INPUT_INVALID', 'The id of a result is a text as it stands in _meta["quartermaster/kept"].')
  if (!Number.isInteger(offset) || (offset as number) < 0 || (offset as number) >= TOO_FAR)
    throw new AppError('INPUT_INVALID', 'The offset in a result is a number of bytes: 0 or more, and whole.')
}

/** No result is that long. */
const TOO_FAR = 1e15

/** The content of a cut result without its last two blocks, which tell MCP clients where to read on. */
export function withoutContinuation(content: ToolResult['content']): ToolResult['content'] {
  return content.slice(0, -2)
}

/** Ends a cut result with what a model without resources can do about the rest. */
async function readableOn(result: ToolResult, toolbox: Toolbox): Promise<ToolResult> {
  const kept = KeptResult.safeParse(result._meta?.[KEPT_META])
  if (!kept.success) return result
  const { resultId, nextOffset, totalBytes, isRecorded } = kept.data
  const text =
    isRecorded && (await hasStatus(toolbox))
      ? `[It goes on. Read on: ${TOOL_NAMES.status} with { "id": "${resultId}", "offset": ${nextOffset} }.]`
      : `[It goes on: this is the beginning of ${totalBytes} bytes, and you have no tool to read the rest. Ask for less at once. ` +
        `The program that runs you reads on with page("${resultId}", ${nextOffset}) of the toolbox.]`
  return { ...result, content: [...withoutContinuation(result.content), { type: 'text', text }] }
}

async function hasStatus(toolbox: Toolbox): Promise<boolean> {
  // A failure to list tools must not lose the result.
  const tools = await toolbox.tools().catch(() => [])
  return tools.some(tool => tool.name === TOOL_NAMES.status)
}
