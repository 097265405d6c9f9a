import { loadMcpTools, MultiServerMCPClient } from '@langchain/mcp-adapters'
import { AIMessage, createAgent, fakeModel, ToolMessage } from 'langchain'
import { type Connection, type ConnectOptions, type InteropClient, type Outcome, textOf } from '../client.ts'

/** LangChain with its MCP adapters: a scripted model calls the tools in an agent of LangChain's own. */
export const langchain: InteropClient = {
  name: 'LangChain',
  skills: ['structured', 'failures', 'changes', 'progress'],
  connect,
}

async function connect({ mcpUrl, token, onProgress, onToolsChanged }: ConnectOptions): Promise<Connection> {
  const headers = { authorization: `Bearer ${token}` }
  const client = new MultiServerMCPClient({
    mcpServers: { gateway: { transport: 'http', url: mcpUrl, headers } },
    onProgress: progress => onProgress(progress),
    onToolsListChanged: () => onToolsChanged(),
  })
  return {
    toolNames: async () => (await toolsOf(client)).map(({ name }) => name),
    call: async (name, input) => callByModel(await client.getTools(), name, input),
    close: () => client.close(),
  }
}

/** The client keeps the tools it once got; this asks again. */
async function toolsOf(client: MultiServerMCPClient): Promise<{ name: string }[]> {
  const connection = await client.getClient('gateway')
  if (!connection) throw new Error('LangChain has no connection.')
  return loadMcpTools('gateway', connection)
}

type Tools = NonNullable<Parameters<typeof createAgent>[0]['tools']>

/** An agent of LangChain's own, whose model does nothing but make this call. */
export async function callByModel(tools: Tools, name: string, args: Record<string, unknown>): Promise<Outcome> {
  const model = fakeModel().respondWithTools([{ name, args }]).respond(new AIMessage('Done.'))
  const { messages } = await createAgent({ model, tools }).invoke({ messages: [{ role: 'user', content: 'Go on.' }] })
  const message = messages.find(candidate => ToolMessage.isInstance(candidate))
  if (!message) throw new Error(`The call of ${name} came to nothing.`)
  return {
    isError: message.status === 'error',
    text: textOf(message.content),
    structured: structuredIn(message.artifact),
  }
}

function structuredIn(artifact: unknown): unknown {
  if (!Array.isArray(artifact)) return (artifact as { structuredContent?: unknown } | undefined)?.structuredContent
  return artifact.find(({ type }) => type === 'mcp_structured_content')?.data
}
