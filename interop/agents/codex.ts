import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { BIN } from '../../packages/quartermaster/test/support/product.ts'
import { makeWorkplace, type Workplace } from './workplace.ts'

const CODEX = fileURLToPath(new URL('./node_modules/@openai/codex/bin/codex.js', import.meta.url))

/** A place where `codex` is a command that talks to this model, and `quartermaster` is one too. */
export async function codexWorkplace(modelUrl: string): Promise<Workplace> {
  const workplace = await makeWorkplace({
    commands: { codex: [process.execPath, CODEX], quartermaster: [process.execPath, BIN] },
    environment: home => ({ CODEX_HOME: home, MODEL_KEY: 'none' }),
  })
  await writeFile(`${workplace.home}/config.toml`, configFor(modelUrl))
  return workplace
}

function configFor(modelUrl: string): string {
  return `
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "read-only"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "${modelUrl}"
wire_api = "responses"
env_key = "MODEL_KEY"

[analytics]
enabled = false
`
}

/** Connects Codex with a server called `desk`. The token is no part of its configuration, only the name of its variable. */
export async function connectCodex(workplace: Workplace, mcpUrl: string): Promise<void> {
  const added = await workplace.type(`codex mcp add desk --url ${mcpUrl} --bearer-token-env-var DESK_TOKEN`)
  if (added.code !== 0) throw new Error(`Codex could not be connected: ${added.output}`)
}

/** One call of a tool as Codex reports it. */
export interface ToolCall {
  readonly server: string
  readonly tool: string
  readonly status: string
  readonly result: string
}

/** Lets the agent work at one task, with more flags where it needs them, and tells the tool calls it reports. */
export async function runCodex(workplace: Workplace, flags = ''): Promise<ToolCall[]> {
  const { output } = await workplace.type(`codex exec --skip-git-repo-check --json ${flags} "Go on."`)
  const lines = output.split('\n').filter(line => line.startsWith('{'))
  return lines
    .map(line => JSON.parse(line))
    .filter(({ type, item }) => type === 'item.completed' && item.type === 'mcp_tool_call')
    .map(({ item: { server, tool, status, result, error } }) => ({
      server,
      tool,
      status,
      result: JSON.stringify(result ?? error),
    }))
}
