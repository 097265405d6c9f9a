import { parseCallbackConfigArg } from '@langchain/core/callbacks/manager'
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
import { callForModel, modelWords } from '../../core/kernel/index.ts'
import { toContent, toMessage } from './tool-message.ts'

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

class BoxedTool extends StructuredTool {
  readonly name: string
  readonly description: string
  readonly schema: Record<string, unknown>
  readonly #toolbox: Toolbox
  /** Runs that have come to the call itself: whatever fails there is not done a second time. */
  readonly #begun = new WeakSet<object>()

  constructor({ name, description, inputSchema }: ToolboxTool, toolbox: Toolbox) {
    super({ responseFormat: 'content_and_artifact' })
    this.name = name
    this.description = description
    this.schema = { ...inputSchema }
    this.#toolbox = toolbox
  }

  static override lc_name(): string {
    return 'QuartermasterTool'
  }

  override async call(input: unknown, given?: unknown, tags?: string[]): Promise<never> {
    const run: ToolRun = { ...parseCallbackConfigArg(given as RunnableConfig | undefined) }
    try {
      return (await super.call((input ?? {}) as never, run as never, tags)) as never
    } catch (error) {
      if (this.#begun.has(run)) throw error
      // LangChain says that an input is wrong, or fails at the schema. The call path knows, and says what is wrong.
      const [content, result] = await this._call(input, undefined, run)
      const toolCallId = run.toolCall?.id
      return (toolCallId === undefined ? content : toMessage(result, { name: this.name, toolCallId })) as never
    }
  }

  protected override async _call(input: unknown, _manager: unknown, run: ToolRun = {}): Promise<[unknown, ToolResult]> {
    this.#begun.add(run)
    const { signal, writer, toolCall } = run
    const { name } = this
    const toolCallId = toolCall?.id
    const onProgress = writer ? (progress: Progress) => writer({ tool: name, ...progress }) : undefined
    // Called by a model it is an answer that the model reads; called by a program it is an error.
    const result =
      toolCallId !== undefined
        ? await callForModel(this.#toolbox, { name, input, signal, onProgress })
        : await this.#toolbox.call(name, input, { signal, onProgress })
    if (!result.isError) return [toContent(result), result]
    if (toolCallId === undefined) throw toError(result)
    return [toMessage(result, { name, toolCallId }), result]
  }
}
