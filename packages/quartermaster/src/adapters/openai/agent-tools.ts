import type { tool as makeTool } from '@openai/agents'
import { AppError, type Toolbox, type ToolboxTool } from '../../contracts/index.ts'
import { callForModel, isSeenPicture, type ModelPiece } from '../../core/kernel/index.ts'
import { readArguments, toOutput } from './model-output.ts'

type MakeTool = typeof makeTool

/**
 * A function tool as the OpenAI Agents SDK takes it. In words of our own: the types of this entry are there for those as well who
 * have not installed the SDK.
 */
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

/** The tools of a toolbox as the OpenAI Agents SDK takes them: for `new Agent({ tools })`. */
export async function agentTools(toolbox: Toolbox): Promise<AgentTool[]> {
  const { tool } = await agentsSdk()
  const tools = await toolbox.tools()
  return tools.map(one => agentTool(one, { toolbox, tool }))
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
): AgentTool {
  const made = tool({
    name,
    description,
    parameters: { ...inputSchema } as never,
    strict: false,
    isEnabled: () => isStillThere(name, toolbox),
    // Only a call without any answer gets here, and the program that runs the agent has to know.
    errorFunction: null,
    execute: async (input: unknown, _context: unknown, details?: { signal?: AbortSignal }) =>
      toOutput(await callForModel(toolbox, { name, input, signal: details?.signal }), toPart),
  }) as unknown as AgentTool
  const { invoke } = made
  // A run of the SDK answers for what is no JSON itself. Called by hand it goes to the call path as a text, which says what is wrong.
  made.invoke = (context, given, details) => invoke(context, JSON.stringify(readArguments(given)), details)
  return made
}

/** What has gone since is not shown to the model any more. Who cannot be asked now says so when it is called, and ends no run here. */
async function isStillThere(name: string, toolbox: Toolbox): Promise<boolean> {
  try {
    return (await toolbox.tools()).some(one => one.name === name)
  } catch {
    return true
  }
}

function toPart(piece: ModelPiece) {
  if (piece.kind === 'text') return { type: 'text', text: piece.text }
  const { mimeType: mediaType, data, name = 'file' } = piece
  return isSeenPicture(mediaType)
    ? { type: 'image', image: { data, mediaType } }
    : { type: 'file', file: { data, mediaType, filename: name } }
}
