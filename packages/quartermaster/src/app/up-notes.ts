import { claudeHttpLine, clientSetup } from '../adapters/cli/index.ts'
import { connectCommand } from './connect-command.ts'
import type { ProjectPlace } from './locate-project.ts'
import type { Serving } from './serve.ts'

/** What `up` says about connecting: facts for programs, lines for people. */
export interface UpNotes {
  readonly facts: { readonly mcpUrl: string; readonly token?: string }
  readonly notes: readonly string[]
}

/** The line that connects a client: with the token while it is known, otherwise by the bridge, which needs none. */
export async function upNotes(serving: Serving, place: ProjectPlace): Promise<UpNotes> {
  const mcpUrl = `${serving.url}/mcp`
  const address = `MCP        ${mcpUrl}`
  if (serving.first) {
    const { agent, token } = serving.first
    const made = `Made the agent "${agent}", which may read this folder. Connect Claude Code; the token is shown this once:`
    const lines = [address, made, `  ${claudeHttpLine({ mcpUrl, token, agent })}`, ...(await ungranted(serving, agent))]
    return { facts: { mcpUrl, token }, notes: lines }
  }
  const names = (await serving.control.agents({})).map(({ name }) => name)
  const agent = names.includes('default') ? 'default' : names[0]
  if (agent === undefined) return { facts: { mcpUrl }, notes: [address] }
  const { text } = clientSetup('claude', { agent }, await connectCommand({ agent }, place))
  return {
    facts: { mcpUrl },
    notes: [address, 'Connect Claude Code (others: quartermaster connect --help):', `  ${text}`],
  }
}

/** What stands in the configuration is given to nobody by being there: `add` and `import` give it, and a person does. */
async function ungranted({ control }: Serving, agent: string): Promise<string[]> {
  const names = (await control.upstreams({})).map(({ name }) => name)
  if (names.length === 0) return []
  return [
    `It has no upstream yet (there are: ${names.join(', ')}). Give it one: quartermaster grant ${agent} ${names[0]}`,
  ]
}
