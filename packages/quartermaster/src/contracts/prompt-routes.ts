import { z } from 'zod'
import { AgentPrompt } from './agent-view.ts'
import { type ApiRoute, within } from './api-route.ts'

const flag = z.enum(['true', 'false']).optional()

/** What agents are told of their tools. */
export const PROMPT_ROUTES = {
  agentPrompt: {
    method: 'GET',
    path: '/agents/{name}/prompt',
    summary:
      'What an agent has now, as a block for its system prompt; as `text/markdown` where that is accepted. A workspace reads its own.',
    who: ['owner', 'workspace'],
    // It tells what whoever lists the tools is told.
    scope: 'mcp',
    params: z.strictObject({
      name: z.string().min(1).max(128).describe('The name of an agent, or its workspace’s id.'),
    }),
    query: within.extend({
      shell: flag.describe('`true` for an agent that has only a shell: its tools are commands.'),
      withoutDisabled: flag.describe('`true` leaves out what does not work now; it is marked when absent.'),
    }),
    output: AgentPrompt,
    wire: 'markdown',
    errors: ['NAME_UNKNOWN'],
  },
} as const satisfies Record<string, ApiRoute>
