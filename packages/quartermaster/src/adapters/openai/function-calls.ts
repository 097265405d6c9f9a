import { createHash } from 'node:crypto'
import { IdempotencyKey, type Toolbox, type ToolboxCallOptions } from '../../contracts/index.ts'
import { callForModel, isSeenPicture, type ModelPiece } from '../../core/kernel/index.ts'
import { readArguments, toOutput, toWords } from './model-output.ts'

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

/** A call as it stands in `message.tool_calls` of Chat Completions. */
export interface ToolCall {
  readonly type: 'function'
  readonly id: string
  readonly function: {
    readonly name: string
    /** JSON. */
    readonly arguments: string
  }
}

/** The message that is handed back for it. Texts are all that one takes. */
export interface ToolCallMessage {
  readonly role: 'tool'
  readonly tool_call_id: string
  readonly content: string
}

/** Calls what a model has asked for, all at once, and answers what it is to be handed for each, in their order. */
export function answerFunctionCalls(
  toolbox: Toolbox,
  output: readonly { readonly type: string }[],
  options: ToolboxCallOptions = {},
): Promise<FunctionCallOutput[]> {
  const calls = output.filter((item): item is FunctionCall => item.type === 'function_call')
  return Promise.all(
    calls.map(async ({ call_id, ...call }, at) => {
      const result = await answered(toolbox, { ...call, id: call_id, at }, options)
      return { type: 'function_call_output', call_id, output: toOutput(result, toPart) } as const
    }),
  )
}

/** The same for Chat Completions: the messages that follow the one with these calls. */
export function answerToolCalls(
  toolbox: Toolbox,
  toolCalls: readonly { readonly type: string }[] | null | undefined,
  options: ToolboxCallOptions = {},
): Promise<ToolCallMessage[]> {
  const calls = (toolCalls ?? []).filter((call): call is ToolCall => call.type === 'function')
  return Promise.all(
    calls.map(async ({ id, function: call }, at) => {
      const result = await answered(toolbox, { ...call, id, at }, options)
      return { role: 'tool', tool_call_id: id, content: toWords(result) } as const
    }),
  )
}

/** What both APIs say of a call. */
interface AskedCall extends Pick<FunctionCall, 'name' | 'arguments'> {
  readonly id: string
  /** Where it stands among the calls of its answer. */
  readonly at: number
}

function answered(toolbox: Toolbox, { id, at, name, arguments: given }: AskedCall, options: ToolboxCallOptions) {
  const { idempotencyKey: key } = options
  // Some that speak these APIs give no ids.
  const idempotencyKey = key === undefined ? undefined : keyOfCall(key, id || String(at))
  return callForModel(toolbox, { ...options, idempotencyKey, name, input: readArguments(given) })
}

/** The key is that of the whole answer of the model, and each call in it is another. An id that fits in no key is there as its hash. */
function keyOfCall(key: string, id: string): string {
  const whole = `${key}/${id}`
  if (IdempotencyKey.safeParse(whole).success || !IdempotencyKey.safeParse(key).success) return whole
  return `${key.slice(0, 200)}/${createHash('sha256').update(whole).digest('base64url')}`
}

function toPart(piece: ModelPiece): OutputPart {
  if (piece.kind === 'text') return { type: 'input_text', text: piece.text }
  const { mimeType, data, name = 'file' } = piece
  const url = `data:${mimeType};base64,${data}`
  return isSeenPicture(mimeType)
    ? { type: 'input_image', image_url: url, detail: 'auto' }
    : { type: 'input_file', filename: name, file_data: url }
}
