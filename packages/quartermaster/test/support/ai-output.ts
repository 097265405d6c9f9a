import type { ToolSet } from 'ai'
import type { ToolResult } from '../../src/contracts/index.ts'

/** What a tool of the AI SDK answers at the end, as the SDK takes it: the last of what it yields. */
export async function lastOutput(
  tool: ToolSet[string] | undefined,
  input: unknown,
  more: object = {},
  onOutput: (output: ToolResult) => void = () => {},
): Promise<unknown> {
  const about = { toolCallId: 'call_1', messages: [], context: {}, ...more } as never
  let last: unknown
  const outputs = tool?.execute?.(input as never, about) as AsyncIterable<ToolResult> | undefined
  for await (const output of outputs ?? []) {
    last = output
    onOutput(output)
  }
  return last
}
