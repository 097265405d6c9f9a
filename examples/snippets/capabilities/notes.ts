import { join } from 'node:path'
import { defineCapability } from 'quartermaster'

export default defineCapability({
  key: 'notes',
  short: "Notes in a file of the agent's own.",
  tools: [],
  unseen: 'The server of the notes has not been reached yet.',
  resolve: ({ agent, workspaceDir }) => ({
    mcpServer: {
      type: 'stdio',
      command: 'npx',
      args: ['-y', '@modelcontextprotocol/server-memory@2026.8.31'],
      env: { MEMORY_FILE_PATH: join(workspaceDir, `notes-${agent.name}.jsonl`) },
    },
  }),
})
