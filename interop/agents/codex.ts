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

/** One call of a tool as Codex reports it. */
export interface ToolCall {
  readonly server: string
  readonly tool: string
  readonly status: string
  readonly result: string
}

/** Lets the agent work at one task, and tells the tool calls it reports. */
export async function runCodex(workplace: Workplace): Promise<ToolCall[]> {
  const { output } = await workplace.type('codex exec --skip-git-repo-check --json "Go on."')
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
