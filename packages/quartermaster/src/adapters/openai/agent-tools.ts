import type { FunctionTool, tool as makeTool } from '@openai/agents'
import { AppError, type Toolbox, type ToolboxTool, type ToolResult } from '../../contracts/index.ts'
import { callForModel, type ModelPiece, modelPieces, modelWords } from '../../core/kernel/index.ts'

type MakeTool = typeof makeTool

/** The tools of a toolbox as the OpenAI Agents SDK takes them: for `new Agent({ tools })`. */
export async function agentTools(toolbox: Toolbox): Promise<FunctionTool[]> {
  const { tool } = await agentsSdk()
  const tools = await toolbox.tools()
  return tools.map(one => agentTool(one, { toolbox, tool }) as FunctionTool)
}

/** Function tools for the API alone need no SDK, so this is only loaded for those who run agents with it. */
async function agentsSdk(): Promise<{ readonly tool: MakeTool }> {
  try {
    return await import('@openai/agents')
  } catch (error) {
    const message = 'agentTools needs the OpenAI Agents SDK. Install it: npm install @openai/agents.'
    throw new AppError('CONFIG_INVALID', message, { cause: error })
  }
}

function agentTool(
  { name, description, inputSchema }: ToolboxTool,
  { toolbox, tool }: { toolbox: Toolbox; tool: MakeTool },
) {
  return tool({
    name,
    description,
    parameters: { ...inputSchema } as never,
    strict: false,
    // What has gone since is not shown to the model any more.
    isEnabled: async () => (await toolbox.tools()).some(one => one.name === name),
    // Only what could not be answered at all gets here, and whoever runs the agent has to know it.
    errorFunction: null,
    execute: async (input: unknown, _context: unknown, details?: { signal?: AbortSignal }) =>
      toOutput(await callForModel(toolbox, { name, input, signal: details?.signal })),
  })
}

function toOutput(result: ToolResult): unknown {
  // There is no mark for errors on this wire, so the words have to say it.
  if (result.isError) return `Error: ${modelWords(result)}`
  const pieces = modelPieces(result)
  return pieces.every(piece => piece.kind === 'text') ? modelWords(result) : pieces.map(toPart)
}

function toPart(piece: ModelPiece) {
  if (piece.kind === 'text') return { type: 'text', text: piece.text }
  const { mimeType: mediaType, data, name = 'file' } = piece
  return mediaType.startsWith('image/')
    ? { type: 'image', image: { data, mediaType } }
    : { type: 'file', file: { data, mediaType, filename: name } }
}
