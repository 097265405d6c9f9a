// @ts-check
import { fromJsonSchema } from '@modelcontextprotocol/server'
import { z } from 'zod'

/** @typedef {import('@modelcontextprotocol/server').McpServer} McpServer */

const readOnly = { readOnlyHint: true }

const ADD = {
  description: 'Adds two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  outputSchema: z.object({ sum: z.number() }),
  annotations: readOnly,
}

const WALK = {
  description: 'Takes some steps and tells of each.',
  inputSchema: z.object({ steps: z.number() }),
  outputSchema: z.object({ walked: z.number() }),
  annotations: readOnly,
}

const SHELVES = Array.from({ length: 200 }, (_, n) => ({
  name: `look_at_shelf_${n}`,
  facts: {
    title: `Look at shelf ${n}`,
    description: `Lists the books on shelf ${n}.`,
    inputSchema: fromJsonSchema({
      type: 'object',
      properties: {
        query: { type: 'string', description: `What to look for on shelf ${n}.` },
        limit: { type: 'integer', minimum: 1, maximum: 100 },
      },
      required: ['query'],
    }),
    annotations: readOnly,
  },
}))

const REGISTER = {
  /** @param {McpServer} server */
  sums: server => server.registerTool('add', ADD, async ({ a, b }) => answer({ sum: a + b })),

  /** @param {McpServer} server */
  steps: server =>
    server.registerTool('walk', WALK, async ({ steps: total }, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken
      if (progressToken === undefined) return answer({ walked: total })
      for (let step = 1; step <= total; step++) {
        const params = { progressToken, progress: step, total, message: `Step ${step}.` }
        await mcpReq.notify({ method: 'notifications/progress', params })
      }
      return answer({ walked: total })
    }),

  /** @param {McpServer} server */
  shelves(server) {
    for (const [n, { name, facts }] of SHELVES.entries())
      server.registerTool(name, facts, async () => ({ content: [{ type: 'text', text: `Shelf ${n} is empty.` }] }))
  },
}

/**
 * What gives a server the tools of one of our projects.
 * @param {string | undefined} project
 * @returns {(server: McpServer) => unknown}
 */
export function registerTools(project) {
  const register = Object.entries(REGISTER).find(([name]) => name === project)?.[1]
  if (!register) throw new Error(`There are no tools for a project ${project}.`)
  return register
}

/** @param {Record<string, number>} output */
function answer(output) {
  return { content: [{ type: /** @type {const} */ ('text'), text: JSON.stringify(output) }], structuredContent: output }
}
