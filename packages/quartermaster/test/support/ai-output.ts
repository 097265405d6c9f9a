import type { ToolSet } from 'ai'

/** What a tool of the AI SDK answers at the end, as the SDK takes it: the last of what it yields. */
export async function lastOutput(
  tool: ToolSet[string] | undefined,
  input: unknown,
  more: object = {},
): Promise<unknown> {
  const about = { toolCallId: 'call_1', messages: [], context: {}, ...more } as never
  let last: unknown
  for await (const output of tool?.execute?.(input as never, about) as AsyncIterable<unknown>) last = output
  return last
}
