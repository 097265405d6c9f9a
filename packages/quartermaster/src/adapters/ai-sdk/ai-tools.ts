import { dynamicTool, type JSONSchema7, jsonSchema, type ToolSet } from 'ai'
import type { Toolbox, ToolboxTool, ToolResult } from '../../contracts/index.ts'
import { callForModel } from '../../core/kernel/index.ts'
import { toModelOutput } from './model-output.ts'
import { toldOnTheWay } from './told-on-the-way.ts'

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
      toldOnTheWay(onProgress => callForModel(toolbox, { name, input, signal, onProgress })),
    toModelOutput: ({ output }) => toModelOutput(output as ToolResult),
  })
}
