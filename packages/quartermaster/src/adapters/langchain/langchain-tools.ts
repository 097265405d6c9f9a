import { type MessageContent, ToolMessage } from '@langchain/core/messages'
import type { RunnableConfig } from '@langchain/core/runnables'
import { StructuredTool } from '@langchain/core/tools'
import {
  AppError,
  ErrorBody,
  type Progress,
  type Toolbox,
  type ToolboxTool,
  type ToolResult,
} from '../../contracts/index.ts'
import { callForModel, isModelImage, type ModelPiece, modelPieces, textForModel } from '../../core/kernel/index.ts'

/** The tools of a toolbox for LangChain: `createAgent`, `bindTools`, a `ToolNode`. */
export async function langchainTools(toolbox: Toolbox): Promise<StructuredTool[]> {
  const tools = await toolbox.tools()
  return tools.map(tool => new BoxedTool(tool, toolbox))
}

/** The run configuration that LangChain and LangGraph pass to a tool. */
interface ToolRun extends RunnableConfig {
  readonly toolCall?: { readonly id?: string }
  /** Receives progress when the run is streamed. */
  writer?: ((chunk: unknown) => void) | null
}

/** Converts a failed result to an exception: our error with its code, or the tool's text. */
function toError(result: ToolResult): Error {
  const told = ErrorBody.safeParse(result._meta?.['quartermaster/error'])
  return told.success ? AppError.fromJSON(told.data) : new Error(textForModel(result), { cause: result })
}

/** A symbol instead of a private field, because objects that inherit from a tool need it too. */
const TOOLBOX = Symbol('toolbox')

class BoxedTool extends StructuredTool {
  readonly name: string
  readonly description: string
  readonly schema: Record<string, unknown>
  readonly [TOOLBOX]: Toolbox

  constructor({ name, description, inputSchema }: ToolboxTool, toolbox: Toolbox) {
    super({ responseFormat: 'content_and_artifact' })
    this.name = name
    this.description = description
    this.schema = { ...inputSchema }
    this[TOOLBOX] = toolbox
  }

  static override lc_name(): string {
    return 'QuartermasterTool'
  }

  /** Skips LangChain's validation, because the call path explains invalid input better. Everything else stays LangChain's. */
  override async call(input: unknown, given?: unknown, tags?: string[]): Promise<never> {
    const unchecked: this = Object.create(this, { schema: { value: true } })
    return (await super.call.call(unchecked, (input ?? {}) as never, given as never, tags)) as never
  }

  protected override async _call(input: unknown, _manager: unknown, run: ToolRun = {}): Promise<[unknown, ToolResult]> {
    const { signal, writer, toolCall } = run
    const { name } = this
    const toolCallId = toolCall?.id
    const onProgress = writer ? (progress: Progress) => writer({ tool: name, ...progress }) : undefined
    // A model gets an error as an answer; a program gets an exception.
    const result =
      toolCallId !== undefined
        ? await callForModel(this[TOOLBOX], { name, input, signal, onProgress })
        : await this[TOOLBOX].call(name, input, { signal, onProgress })
    if (!result.isError) return [toContent(result), result]
    if (toolCallId === undefined) throw toError(result)
    return [toMessage(result, { name, toolCallId }), result]
  }
}

/** A result as text if it has only text, otherwise as content blocks. */
function toContent(result: ToolResult): MessageContent {
  const pieces = modelPieces(result, isConverted)
  const [only] = pieces
  if (pieces.length === 0) return ''
  return pieces.length === 1 && only?.kind === 'text' ? only.text : pieces.map(toBlock)
}

/** The answer to a model's call. The whole result is its artifact. */
function toMessage(result: ToolResult, { name, toolCallId }: { name: string; toolCallId: string }) {
  return new ToolMessage({
    content: toContent(result),
    artifact: result,
    status: result.isError ? 'error' : 'success',
    name,
    tool_call_id: toolCallId,
  })
}

/** The file types that LangChain's models convert in tool answers. Others are dropped silently, or fail. */
function isConverted(mimeType: string): boolean {
  return isModelImage(mimeType) || mimeType === 'application/pdf'
}

/**
 * LangChain has two forms of file blocks: `source_type` with `mime_type`, which tool answers use, and its successor with `mimeType`.
 * A block with both is read by all models.
 */
function toBlock(piece: ModelPiece) {
  if (piece.kind === 'text') return { type: 'text' as const, text: piece.text }
  const { mimeType, data, name } = piece
  const file = { source_type: 'base64' as const, mime_type: mimeType, mimeType, data }
  if (isModelImage(mimeType)) return { type: 'image' as const, ...file }
  // OpenAI's model rejects a file without a name.
  return { type: 'file' as const, ...file, metadata: { filename: name ?? 'file.pdf' } }
}
