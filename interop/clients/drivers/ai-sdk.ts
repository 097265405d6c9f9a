import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp'
import { generateText, isStepCount, type ToolSet } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { type Connection, type ConnectOptions, type InteropClient, type Outcome, textOf } from '../client.ts'

/** The AI SDK with its own MCP client: a scripted model calls the tools in the SDK's own loop. */
export const aiSdk: InteropClient = { name: 'the AI SDK', skills: ['structured', 'failures', 'answers'], connect }

async function connect({ mcpUrl, token, onQuestion }: ConnectOptions): Promise<Connection> {
  const headers = { authorization: `Bearer ${token}` }
  const transport = { type: 'http' as const, url: mcpUrl, headers }
  const client = await createMCPClient({ transport, capabilities: { elicitation: {} } })
  client.onElicitationRequest(ElicitationRequestSchema, ({ params }) => ({
    action: 'accept',
    content: onQuestion(params.message),
  }))
  return {
    toolNames: async () => Object.keys(await client.tools()),
    // The two packages type the same tools, but not with optional properties meant exactly.
    call: async (tool, input) => callByModel((await client.tools()) as ToolSet, tool, input),
    close: () => client.close(),
  }
}

/** The SDK's own loop, with a model that does nothing but make this call. */
export async function callByModel(
  tools: ToolSet,
  toolName: string,
  input: Record<string, unknown>,
  abortSignal?: AbortSignal,
): Promise<Outcome> {
  const { steps } = await generateText({
    model: modelThatCalls(toolName, input),
    tools,
    stopWhen: isStepCount(2),
    prompt: 'Go on.',
    ...(abortSignal ? { abortSignal } : {}),
  })
  const answer = steps.flatMap(step => step.content).find(part => part.type === 'tool-result')
  const output = answer?.output as { isError?: boolean; content?: unknown; structuredContent?: unknown } | undefined
  if (!output) throw new Error(`The call of ${toolName} came to nothing: ${JSON.stringify(steps[0]?.content)}`)
  return { isError: output.isError === true, text: textOf(output.content), structured: output.structuredContent }
}

export const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

function modelThatCalls(toolName: string, input: Record<string, unknown>): MockLanguageModelV4 {
  const answer = { usage: USAGE, warnings: [] }
  return new MockLanguageModelV4({
    doGenerate: [
      {
        ...answer,
        content: [{ type: 'tool-call', toolCallId: 'call_1', toolName, input: JSON.stringify(input) }],
        finishReason: { unified: 'tool-calls', raw: 'tool_use' },
      },
      { ...answer, content: [{ type: 'text', text: 'Done.' }], finishReason: { unified: 'stop', raw: 'stop' } },
    ],
  })
}
