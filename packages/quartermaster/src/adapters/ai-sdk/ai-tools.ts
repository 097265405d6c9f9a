import { dynamicTool, type JSONSchema7, jsonSchema, type Tool, type ToolSet } from 'ai'
import type { Progress, Toolbox, ToolboxTool, ToolResult } from '../../contracts/index.ts'
import { callForModel, type ModelPiece, modelPieces, modelWords } from '../../core/kernel/index.ts'

/** The tools of a toolbox as the AI SDK takes them: for `generateText`, `streamText`, an agent. */
export async function aiTools(toolbox: Toolbox): Promise<ToolSet> {
  const tools = await toolbox.tools()
  return Object.fromEntries(tools.map(tool => [tool.name, aiTool(tool, toolbox)]))
}

function aiTool({ name, title, description, inputSchema }: ToolboxTool, toolbox: Toolbox): ToolSet[string] {
  return dynamicTool({
    title,
    description,
    // Not checked here: the call path says better what is wrong with an input.
    inputSchema: jsonSchema(inputSchema as JSONSchema7),
    execute: (input, { abortSignal: signal }) =>
      streamWithProgress(onProgress => callForModel(toolbox, { name, input, signal, onProgress })),
    toModelOutput: ({ output }) => toModelOutput(output as ToolResult),
  })
}

type ModelOutput = Awaited<ReturnType<NonNullable<Tool['toModelOutput']>>>

/** What a model reads of a result. An error stays one, whatever it has beside its words. */
function toModelOutput(result: ToolResult): ModelOutput {
  if (result.isError) return { type: 'error-text', value: modelWords(result) }
  const pieces = modelPieces(result)
  if (pieces.every(piece => piece.kind === 'text')) return { type: 'text', value: modelWords(result) }
  return { type: 'content', value: pieces.map(toPart) }
}

function toPart(piece: ModelPiece): Extract<ModelOutput, { type: 'content' }>['value'][number] {
  if (piece.kind === 'text') return { type: 'text', text: piece.text }
  const { mimeType: mediaType, data, name } = piece
  const filename = name === undefined ? {} : { filename: name }
  return { type: 'file', mediaType, data: { type: 'data', data }, ...filename }
}

/**
 * Yields the progress of a call, then its result. The AI SDK takes progress for preliminary results, which no model sees. A
 * reader that is slower than the call gets only the newest.
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
  // A failure is thrown below, once the reader has come to it.
  result.then(over, over)
  while (!state.isOver) {
    // Events that came while the reader was busy with the last one have not woken it.
    if (state.newest === undefined)
      await new Promise<void>(resolve => {
        wake = resolve
      })
    const told = state.newest
    state.newest = undefined
    if (told) yield preliminary(told)
  }
  yield await result
}

function preliminary(progress: Progress): ToolResult {
  const { progress: done, total, message } = progress
  const text = message ?? (total === undefined ? `${done}` : `${done} of ${total}`)
  return { content: [{ type: 'text', text }], _meta: { 'quartermaster/progress': progress } }
}
