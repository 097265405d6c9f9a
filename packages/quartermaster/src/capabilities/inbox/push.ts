import type { ToolResult } from '../../contracts/index.ts'

const PUSHED =
  'This workspace is registered with delivery "push": messages are brought to it, so there is nothing to wait for here. ' +
  'Answer one with reply, or acknowledge it with inbox_pop. To read the inbox instead, register with delivery "poll".'

/** What a workspace is told whose messages are brought to it: not that there are none. */
export function pushed(nothing: Record<string, unknown>): ToolResult {
  return { content: [{ type: 'text', text: PUSHED }], structuredContent: { ...nothing, note: PUSHED } }
}
