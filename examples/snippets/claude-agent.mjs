// @ts-check
import { query } from '@anthropic-ai/claude-agent-sdk'
import { createQuartermaster } from 'quartermaster'

const quartermaster = await createQuartermaster()
try {
  const context = quartermaster.contextFor('default')
  const resolved = quartermaster.resolve(context.agent.capabilities, context)
  // The SDK's types know the servers of the first MCP SDK only. It takes every one that has `connect`.
  const mcpServers = /** @type {Record<string, any>} */ (resolved.mcpServers)
  const allowedTools = Object.keys(mcpServers).map(name => `mcp__${name}__*`)
  const prompt = process.argv[2] ?? 'What is in this folder?'
  for await (const message of query({ prompt, options: { mcpServers, allowedTools, tools: [] } }))
    if (message.type === 'result' && message.subtype === 'success') console.log(message.result)
} finally {
  await quartermaster.stop()
}
