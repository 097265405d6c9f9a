import { dynamicTool, type JSONSchema7, jsonSchema, type Tool, type ToolSet } from 'ai'
import type { Progress, Toolbox, ToolboxTool, ToolResult } from '../../contracts/index.ts'
import { callForModel, type ModelPiece, modelPieces, textForModel } from '../../core/kernel/index.ts'

/** The tools of a toolbox for the AI SDK: `generateText`, `streamText`, an agent. */
export async function aiTools(toolbox: Toolbox): Promise<ToolSet> {
  const tools = await toolbox.tools()
  return Object.fromEntries(tools.map(tool => [tool.name, aiTool(tool, toolbox)]))
}

function aiTool({ name, title, description, inputSchema }: ToolboxTool, toolbox: Toolbox): ToolSet[string] {
  return dynamicTool({
    title,
    description,
    // Not validated here: the call path explains invalid input better.
    inputSchema: jsonSchema(inputSchema as JSONSchema7),
    execute: (input, { abortSignal: signal }) =>
      streamWithProgress(onProgress => callForModel(toolbox, { name, input, signal, onProgress })),
    toModelOutput: ({ output }) => toModelOutput(output as ToolResult),
  })
}

type ModelOutput = Awaited<ReturnType<NonNullable<Tool['toModelOutput']>>>

/** A result as model output. An error stays an error, whatever it contains besides text. */
function toModelOutput(result: ToolResult): ModelOutput {
  if (result.isError) return { type: 'error-text', value: textForModel(result) }
  const pieces = modelPieces(result)
  if (pieces.every(piece => piece.kind === 'text')) return { type: 'text', value: textForModel(result) }
  return { type: 'content', value: pieces.map(toPart) }
}

function toPart(piece: ModelPiece): Extract<ModelOutput, { type: 'content' }>['value'][number] {
  if (piece.kind === 'text') return { type: 'text', text: piece.text }
  const { mimeType: mediaType, data, name } = piece
  const filename = name === undefined ? {} : { filename: name }
  return { type: 'file', mediaType, data: { type: 'data', data }, ...filename }
}

/**
 * Yields the progress of a call, then its result. The AI SDK treats progress as preliminary results, which no model sees. A slow
 * reader gets only the latest progress.
 */
export async function* streamWithProgress(
  call: (onProgress: (progress: Progress) => void) => Promise<ToolResult>,
): AsyncGenerator<ToolResult> {
  const state: { isOver: boolean; newest?: Progress | undefined } = { isOver: false }
  let wake = () => {}
  const result = call(progress => {
    state.newest = progress
    wake()
  })
  const over = () => {
    state.isOver = true
    wake()
  }
  // A rejection is thrown below, when the reader gets to it.
  result.then(over, over)
  while (!state.isOver) {
    // Progress that came while the reader was busy did not wake it.
    if (state.newest === undefined)
      await new Promise<void>(resolve => {
        wake = resolve
      })
    const progress = state.newest
    state.newest = undefined
    if (progress) yield preliminary(progress)
  }
  yield await result
}

function preliminary(progress: Progress): ToolResult {
  const { progress: done, total, message } = progress
  const text = message ?? (total === undefined ? `${done}` : `${done} of ${total}`)
  return { content: [{ type: 'text', text }], _meta: { 'quartermaster/progress': progress } }
}
