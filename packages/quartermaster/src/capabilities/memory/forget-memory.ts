import { z } from 'zod'
import { MemoryId, type Platform } from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'

/** The tool that forgets something. */
export function createForgetMemory(memory: Platform['memory']) {
  return defineTool({
    name: 'forget_memory',
    title: 'Forget',
    short: 'Forget a memory for good, by its memory_id.',
    whenToUse:
      'When a memory of yours has become wrong and nothing takes its place; to correct one, use commit_memory with its ' +
      'memory_id. You may forget what you wrote, what lies with the team you lead, and GLOBAL memory with the ability ' +
      '"memory.global". Forgetting what is not there says forgotten: false.',
    command: { name: 'forget' },
    input: z.object({ memory_id: MemoryId.describe('memory_id of the memory, from recall_memory or commit_memory.') }),
    output: z.object({ memory_id: z.string(), forgotten: z.boolean() }),
    examples: [{ query: 'that is not true any more', input: { memory_id: 'mem_1k2j3h4g5f6d7s8a' } }],
    mutates: true,
    idempotent: true,
    async handler({ memory_id }, context) {
      const { id, forgotten } = await (await memory()).forget(actorOf(context), memory_id)
      const text = forgotten ? `"${id}" is forgotten.` : `Nothing was forgotten: there is no memory "${id}" here.`
      return toolResult({ content: [{ type: 'text', text }], structuredContent: { memory_id: id, forgotten } })
    },
  })
}
