import type { ToolResult } from '../../contracts/index.ts'

const PUSHED =
  'This workspace is registered with delivery "push": messages are brought to it by the program that registered it, which ' +
  'follows GET /api/v1/events with a token of this workspace, so there is nothing to wait for here. Answer one with reply, ' +
  'or acknowledge it with inbox_pop. To read the inbox instead, register with delivery "poll".'

/** What a workspace is told whose messages are brought to it: not that there are none. */
export function pushed(nothing: Record<string, unknown>, said: readonly string[]): ToolResult {
  const note = [PUSHED, ...said].join(' ')
  return { content: [{ type: 'text', text: note }], structuredContent: { ...nothing, note } }
}
