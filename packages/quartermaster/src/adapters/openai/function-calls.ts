import { type Toolbox, type ToolboxCallOptions, type ToolResult, toAppError } from '../../contracts/index.ts'
import { errorResult, type ModelPiece, modelPieces, modelWords } from '../../core/kernel/index.ts'
import { readArguments } from './arguments.ts'

/** A call as it stands in `response.output` of the Responses API. */
export interface FunctionCall {
  readonly type: 'function_call'
  readonly call_id: string
  readonly name: string
  /** JSON. */
  readonly arguments: string
}

/** What is handed back for it in the next `input`. */
export interface FunctionCallOutput {
  readonly type: 'function_call_output'
  readonly call_id: string
  readonly output: string | OutputPart[]
}

type OutputPart =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_image'; readonly image_url: string; readonly detail: 'auto' }
  | { readonly type: 'input_file'; readonly filename: string; readonly file_data: string }

/** Calls what a model has asked for, all at once, and answers what it is to be handed for each, in their order. */
export function answerFunctionCalls(
  toolbox: Toolbox,
  output: readonly { readonly type: string }[],
  options: ToolboxCallOptions = {},
): Promise<FunctionCallOutput[]> {
  const calls = output.filter((item): item is FunctionCall => item.type === 'function_call')
  return Promise.all(calls.map(call => answerOne(toolbox, call, options)))
}

async function answerOne(
  toolbox: Toolbox,
  { call_id, name, arguments: given }: FunctionCall,
  options: ToolboxCallOptions,
): Promise<FunctionCallOutput> {
  const result = await toolbox.call(name, readArguments(given), options).catch(thrown => failure(thrown, options))
  return { type: 'function_call_output', call_id, output: toOutput(result) }
}

/** Models call tools that are not there. Beside others that were called and have their answers, that is one answer more. */
function failure(thrown: unknown, { signal }: ToolboxCallOptions): ToolResult {
  if (signal?.aborted) throw thrown
  return errorResult(toAppError(thrown))
}

function toOutput(result: ToolResult): FunctionCallOutput['output'] {
  const pieces = modelPieces(result)
  // There is no mark for errors on this wire, so the words have to say it.
  if (result.isError) return `Error: ${modelWords(result)}`
  return pieces.every(piece => piece.kind === 'text') ? modelWords(result) : pieces.map(toPart)
}

function toPart(piece: ModelPiece): OutputPart {
  if (piece.kind === 'text') return { type: 'input_text', text: piece.text }
  const { mimeType, data, name = 'file' } = piece
  const url = `data:${mimeType};base64,${data}`
  return mimeType.startsWith('image/')
    ? { type: 'input_image', image_url: url, detail: 'auto' }
    : { type: 'input_file', filename: name, file_data: url }
}
