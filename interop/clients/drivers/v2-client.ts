import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client'
import { type Connection, type ConnectOptions, type InteropClient, textOf } from '../client.ts'

/** The official SDK's client, of its second major version, in one way of agreeing on an era. */
export function v2Client(name: string, mode: VersionNegotiationMode): InteropClient {
  return {
    name,
    skills: ['structured', 'failures', 'changes', 'progress', 'cancels', 'answers'],
    connect: options => connect(options, mode),
  }
}

async function connect(options: ConnectOptions, mode: VersionNegotiationMode): Promise<Connection> {
  const { mcpUrl, token, onProgress } = options
  const client = createClient(options, mode)
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit }))
  return {
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, input, signal) {
      const answer = await client.callTool(
        { name, arguments: input },
        { onprogress: onProgress, ...(signal ? { signal } : {}) },
      )
      return { isError: answer.isError === true, text: textOf(answer.content), structured: answer.structuredContent }
    },
    close: () => client.close(),
  }
}

function createClient({ onToolsChanged, onQuestion }: ConnectOptions, mode: VersionNegotiationMode): Client {
  const client = new Client(
    { name: 'interop', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => onToolsChanged() } },
    },
  )
  client.setRequestHandler('elicitation/create', ({ params }) => ({
    action: 'accept' as const,
    content: onQuestion(params.message),
  }))
  return client
}
