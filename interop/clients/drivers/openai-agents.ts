import {
  Agent,
  type AgentOptions,
  MCPServerStreamableHttp,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
} from '@openai/agents'
import { stepByStep } from '../../support/script.ts'
import { startScriptedResponses } from '../../support/scripted-responses.ts'
import type { Connection, ConnectOptions, InteropClient, Outcome } from '../client.ts'

/** The OpenAI Agents SDK: a scripted model calls the tools in the SDK's own loop. What the model is told is the outcome. */
export const openaiAgents: InteropClient = { name: 'the OpenAI Agents SDK', skills: ['structured'], connect }

async function connect({ mcpUrl, token }: ConnectOptions): Promise<Connection> {
  setTracingDisabled(true)
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  const server = new MCPServerStreamableHttp({ url: mcpUrl, name: 'desk', requestInit, useStructuredContent: true })
  await server.connect()
  return {
    toolNames: async () => (await server.listTools()).map(({ name }) => name),
    call: (tool, input) => callByModel({ mcpServers: [server] }, tool, input),
    close: () => server.close(),
  }
}

/** The SDK's own loop, with a model that does nothing but make this call. */
export async function callByModel(
  tools: Pick<AgentOptions, 'tools' | 'mcpServers'>,
  tool: string,
  input: Record<string, unknown>,
): Promise<Outcome> {
  const model = await startScriptedResponses(stepByStep({ tool, input }))
  try {
    const runner = new Runner({ modelProvider: new OpenAIProvider({ apiKey: 'none', baseURL: model.url }) })
    const agent = new Agent({ name: 'clerk', model: 'scripted', instructions: 'Call the tool.', ...tools })
    await runner.run(agent, 'Go on.')
    return toOutcome(model.turns.at(-1)?.outputs[0] ?? '')
  } finally {
    await model.stop()
  }
}

/** Structured content comes as text, and nothing but the words tells a failure. */
function toOutcome(text: string): Outcome {
  return { isError: false, text, ...(text.startsWith('{') ? { structured: JSON.parse(text) } : {}) }
}
