import type { Toolbox, ToolboxTool } from '../../contracts/index.ts'

/** A function tool of the Responses API. */
export interface FunctionTool {
  readonly type: 'function'
  readonly name: string
  readonly description: string
  readonly parameters: Record<string, unknown>
  /** Strict schemas allow less than tool schemas may contain. */
  readonly strict: false
}

/** A function tool of Chat Completions. */
export interface ChatTool {
  readonly type: 'function'
  readonly function: Omit<FunctionTool, 'type'>
}

/** The tools of a toolbox for `client.responses.create({ tools })`. */
export async function functionTools(toolbox: Toolbox): Promise<FunctionTool[]> {
  return (await toolbox.tools()).map(toFunctionTool)
}

/** The tools of a toolbox for `client.chat.completions.create({ tools })`. */
export async function chatTools(toolbox: Toolbox): Promise<ChatTool[]> {
  const tools = await functionTools(toolbox)
  return tools.map(({ type, ...rest }) => ({ type, function: rest }))
}

function toFunctionTool({ name, description, inputSchema }: ToolboxTool): FunctionTool {
  return { type: 'function', name, description, parameters: { ...inputSchema }, strict: false }
}
