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
import { callForModel, isSeenPicture, type ModelPiece, modelPieces, modelWords } from '../../core/kernel/index.ts'

/** The tools of a toolbox as LangChain takes them: for `createAgent`, `bindTools`, a `ToolNode`. */
export async function langchainTools(toolbox: Toolbox): Promise<StructuredTool[]> {
  const tools = await toolbox.tools()
  return tools.map(tool => new BoxedTool(tool, toolbox))
}

/** What LangChain and LangGraph hand to a tool beside its input. */
interface ToolRun extends RunnableConfig {
  readonly toolCall?: { readonly id?: string }
  /** Where what is told on the way goes, when the run is streamed. */
  writer?: ((chunk: unknown) => void) | null
}

/** What a program catches: the error with its code where it is one of ours, and otherwise what the tool said. */
function toError(result: ToolResult): Error {
  const told = ErrorBody.safeParse(result._meta?.['quartermaster/error'])
  return told.success ? AppError.fromJSON(told.data) : new Error(modelWords(result), { cause: result })
}

/** No private field: what inherits from a tool has it as well. */
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

  /** The call path checks inputs, and says what is wrong with one. All else is LangChain's, callbacks that refuse a call included. */
  override async call(input: unknown, given?: unknown, tags?: string[]): Promise<never> {
    const unchecked: this = Object.create(this, { schema: { value: true } })
    return (await super.call.call(unchecked, (input ?? {}) as never, given as never, tags)) as never
  }

  protected override async _call(input: unknown, _manager: unknown, run: ToolRun = {}): Promise<[unknown, ToolResult]> {
    const { signal, writer, toolCall } = run
    const { name } = this
    const toolCallId = toolCall?.id
    const onProgress = writer ? (progress: Progress) => writer({ tool: name, ...progress }) : undefined
    // Called by a model it is an answer that the model reads; called by a program it is an error.
    const result =
      toolCallId !== undefined
        ? await callForModel(this[TOOLBOX], { name, input, signal, onProgress })
        : await this[TOOLBOX].call(name, input, { signal, onProgress })
    if (!result.isError) return [toContent(result), result]
    if (toolCallId === undefined) throw toError(result)
    return [toMessage(result, { name, toolCallId }), result]
  }
}

/** What a model reads: a text where there is nothing else, blocks otherwise. */
function toContent(result: ToolResult): MessageContent {
  const pieces = modelPieces(result, isConverted)
  const [only] = pieces
  if (pieces.length === 0) return ''
  return pieces.length === 1 && only?.kind === 'text' ? only.text : pieces.map(toBlock)
}

/** The answer to a model's call, marked as an error where it is one. The whole result is its artifact. */
function toMessage(result: ToolResult, { name, toolCallId }: { name: string; toolCallId: string }) {
  return new ToolMessage({
    content: toContent(result),
    artifact: result,
    status: result.isError ? 'error' : 'success',
    name,
    tool_call_id: toolCallId,
  })
}

/** What LangChain's models make something of in the answer of a tool. Others drop the rest without a word, or fail. */
function isConverted(mimeType: string): boolean {
  return isSeenPicture(mimeType) || mimeType === 'application/pdf'
}

/**
 * Models read files in two ways: by `source_type` and `mime_type`, which is the one that is looked for in the answers of tools, or by
 * `mimeType`, which is to take its place. A block that says both is read by all of them.
 */
function toBlock(piece: ModelPiece) {
  if (piece.kind === 'text') return { type: 'text' as const, text: piece.text }
  const { mimeType, data, name } = piece
  const file = { source_type: 'base64' as const, mime_type: mimeType, mimeType, data }
  if (isSeenPicture(mimeType)) return { type: 'image' as const, ...file }
  // OpenAI's takes no file without a name.
  return { type: 'file' as const, ...file, metadata: { filename: name ?? 'file.pdf' } }
}
