import { openToolbox, type Toolbox } from 'quartermaster'
import type { Connection, ConnectOptions } from '../client.ts'

/** A toolbox behind the running product, and the calls that a framework makes with its tools. */
export async function connectToolbox(
  { mcpUrl, token, onToolsChanged, onQuestion }: ConnectOptions,
  callOf: (toolbox: Toolbox) => Connection['call'],
): Promise<Connection> {
  const toolbox = await openToolbox({
    url: mcpUrl,
    token,
    ask: async ({ message }) => ({ action: 'accept', content: onQuestion(message) }),
  })
  toolbox.onChange(onToolsChanged)
  return {
    toolNames: async () => (await toolbox.tools()).map(({ name }) => name),
    call: callOf(toolbox),
    close: () => toolbox.close(),
  }
}
