import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CallToolResultSchema,
  ElicitRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { type Connection, type ConnectOptions, type InteropClient, textOf } from '../client.ts'

/** The official SDK's client of the first major version, which most of what is out there is built on. */
export const v1Sdk: InteropClient = {
  name: 'the SDK’s client, version 1',
  skills: ['structured', 'failures', 'changes', 'progress', 'cancels', 'answers'],
  connect,
}

async function connect({ mcpUrl, token, ...listeners }: ConnectOptions): Promise<Connection> {
  const client = createClient(listeners)
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  const transport = new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit })
  // Its own types do not agree with themselves where optional properties are meant exactly.
  await client.connect(transport as Parameters<Client['connect']>[0])
  return {
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, input, signal) {
      const request = { name, arguments: input }
      const answer = await client.callTool(request, CallToolResultSchema, {
        onprogress: listeners.onProgress,
        ...(signal ? { signal } : {}),
      })
      return { isError: answer.isError === true, text: textOf(answer.content), structured: answer.structuredContent }
    },
    close: () => client.close(),
  }
}

function createClient({ onToolsChanged, onQuestion }: Omit<ConnectOptions, 'mcpUrl' | 'token'>): Client {
  const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities: { elicitation: {} } })
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => onToolsChanged())
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
    action: 'accept' as const,
    content: onQuestion(params.message),
  }))
  return client
}
