import { createHash } from 'node:crypto'
import { IdempotencyKey, type Toolbox, type ToolboxCallOptions } from '../../contracts/index.ts'
import { callForModel, isModelImage, type ModelPiece } from '../../core/kernel/index.ts'
import { readArguments, toOutput, toWords } from './model-output.ts'

/** A call in `response.output` of the Responses API. */
export interface FunctionCall {
  readonly type: 'function_call'
  readonly call_id: string
  readonly name: string
  /** JSON. */
  readonly arguments: string
}

/** The output of a call, for the next `input`. */
export interface FunctionCallOutput {
  readonly type: 'function_call_output'
  readonly call_id: string
  readonly output: string | OutputPart[]
}

type OutputPart =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_image'; readonly image_url: string; readonly detail: 'auto' }
  | { readonly type: 'input_file'; readonly filename: string; readonly file_data: string }

/** A call in `message.tool_calls` of Chat Completions. */
export interface ToolCall {
  readonly type: 'function'
  readonly id: string
  readonly function: {
    readonly name: string
    /** JSON. */
    readonly arguments: string
  }
}

/** The answer to a call. Chat Completions accepts only text. */
export interface ToolCallMessage {
  readonly role: 'tool'
  readonly tool_call_id: string
  readonly content: string
}

/** Executes a model's calls concurrently, and returns their outputs in order. */
export function answerFunctionCalls(
  toolbox: Toolbox,
  output: readonly { readonly type: string }[],
  options: ToolboxCallOptions = {},
): Promise<FunctionCallOutput[]> {
  const calls = output.filter((item): item is FunctionCall => item.type === 'function_call')
  return Promise.all(
    calls.map(async ({ call_id, ...call }, index) => {
      const result = await execute(toolbox, { ...call, id: call_id, index }, options)
      return { type: 'function_call_output', call_id, output: toOutput(result, toPart) } as const
    }),
  )
}

/** The same for Chat Completions: returns the messages that follow the one with these calls. */
export function answerToolCalls(
  toolbox: Toolbox,
  toolCalls: readonly { readonly type: string }[] | null | undefined,
  options: ToolboxCallOptions = {},
): Promise<ToolCallMessage[]> {
  const calls = (toolCalls ?? []).filter((call): call is ToolCall => call.type === 'function')
  return Promise.all(
    calls.map(async ({ id, function: call }, index) => {
      const result = await execute(toolbox, { ...call, id, index }, options)
      return { role: 'tool', tool_call_id: id, content: toWords(result) } as const
    }),
  )
}

interface ModelCall extends Pick<FunctionCall, 'name' | 'arguments'> {
  readonly id: string
  readonly index: number
}

function execute(toolbox: Toolbox, { id, index, name, arguments: given }: ModelCall, options: ToolboxCallOptions) {
  const { idempotencyKey: key } = options
  // Some servers of these APIs send no call ids.
  const idempotencyKey = key === undefined ? undefined : keyOfCall(key, id || String(index))
  return callForModel(toolbox, { ...options, idempotencyKey, name, input: readArguments(given) })
}

/** The given key covers a whole model answer, so each call gets its own. An id that does not fit into a key is hashed. */
function keyOfCall(key: string, id: string): string {
  const whole = `${key}/${id}`
  if (IdempotencyKey.safeParse(whole).success || !IdempotencyKey.safeParse(key).success) return whole
  return `${key.slice(0, 200)}/${createHash('sha256').update(whole).digest('base64url')}`
}

function toPart(piece: ModelPiece): OutputPart {
  if (piece.kind === 'text') return { type: 'input_text', text: piece.text }
  const { mimeType, data, name = 'file' } = piece
  const url = `data:${mimeType};base64,${data}`
  return isModelImage(mimeType)
    ? { type: 'input_image', image_url: url, detail: 'auto' }
    : { type: 'input_file', filename: name, file_data: url }
}
