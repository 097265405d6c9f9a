import type { tool as makeTool } from '@openai/agents'
import { AppError, type Toolbox, type ToolboxTool } from '../../contracts/index.ts'
import { callForModel, isModelImage, type ModelPiece } from '../../core/kernel/index.ts'
import { readArguments, toOutput } from './model-output.ts'

type MakeTool = typeof makeTool

/** A function tool of the OpenAI Agents SDK. Declared here, so that these types exist without the SDK installed. */
export interface AgentTool {
  readonly type: 'function'
  name: string
  description: string
  parameters: {
    type: 'object'
    properties: Record<string, never>
    required: string[]
    additionalProperties: true
  }
  strict: boolean
  invoke: (runContext: unknown, input: string, details?: { readonly signal?: AbortSignal }) => Promise<unknown>
  needsApproval: (runContext: unknown, input: unknown, callId?: string) => Promise<boolean>
  isEnabled: (runContext: unknown, agent: unknown) => Promise<boolean>
}

/** The tools of a toolbox for the OpenAI Agents SDK: `new Agent({ tools })`. */
export async function agentTools(toolbox: Toolbox): Promise<AgentTool[]> {
  const { tool } = await agentsSdk()
  const tools = await toolbox.tools()
  return tools.map(one => agentTool(one, { toolbox, tool }))
}

/** Loaded on demand: function tools for the API alone need no SDK. */
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
): AgentTool {
  const made = tool({
    name,
    description,
    parameters: { ...inputSchema } as never,
    strict: false,
    isEnabled: () => isOffered(name, toolbox),
    // Only a call without any answer rejects, and the program that runs the agent has to know.
    errorFunction: null,
    execute: async (input: unknown, _context: unknown, details?: { signal?: AbortSignal }) =>
      toOutput(await callForModel(toolbox, { name, input, signal: details?.signal }), toPart),
  }) as unknown as AgentTool
  const { invoke } = made
  // The SDK itself rejects arguments that are not JSON. Called directly, they go to the call path as text, which explains the problem.
  made.invoke = (context, given, details) => invoke(context, JSON.stringify(readArguments(given)), details)
  return made
}

/** Hides a tool that was removed. If the list cannot be read, the tool stays and its call reports the problem. */
async function isOffered(name: string, toolbox: Toolbox): Promise<boolean> {
  try {
    return (await toolbox.tools()).some(one => one.name === name)
  } catch {
    return true
  }
}

function toPart(piece: ModelPiece) {
  if (piece.kind === 'text') return { type: 'text', text: piece.text }
  const { mimeType: mediaType, data, name = 'file' } = piece
  return isModelImage(mediaType)
    ? { type: 'image', image: { data, mediaType } }
    : { type: 'file', file: { data, mediaType, filename: name } }
}
