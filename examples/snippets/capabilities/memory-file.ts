import { join } from 'node:path'
import { defineCapability } from 'quartermaster'

export default defineCapability({
  key: 'memory-file',
  short: 'What an agent remembers, in a file of its own.',
  tools: [],
  unseen: 'The server of the memory has not been reached yet.',
  resolve: ({ agent, workspaceDir }) => ({
    mcpServer: {
      type: 'stdio',
      command: 'npx',
      args: ['-y', '@modelcontextprotocol/server-memory@2026.8.31'],
      env: { MEMORY_FILE_PATH: join(workspaceDir, `memory-${agent.name}.jsonl`) },
    },
  }),
})
